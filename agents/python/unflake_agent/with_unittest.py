"""The same as ``with_pytest``, with the standard library alone.

Tests are found as ``python -m unittest discover ARGUMENTS`` finds them, or, if the first argument
is neither an option nor a folder (but a file, a module, a test), as ``python -m unittest
ARGUMENTS`` does. They are run as ``unittest.TestSuite`` runs a flat list of tests: fixtures of a
class or a module are set up when the first test of it comes and torn down when a test of another
follows.

One difference is our own. ``TestSuite`` tears a class down when the next test begins; for us an
attempt ends with its teardown, so we call the methods that ``TestSuite`` has for this before we
send ``end``. The tests cannot tell.
"""

import os
import sys
import unittest
import warnings
from typing import Any, Callable, Dict, List, Optional, Sequence

from .child import PASSED, Ended, Suite
from .wire import text

_MESSAGE_LIMIT = 2000
_SEVERITY = ["passed", "skipped", "error", "failed"]


class _Result(unittest.TestResult):
    """Keeps the worst result of one attempt."""

    def __init__(self) -> None:
        super().__init__()
        self.phase = "call"
        self.clear()

    def clear(self) -> None:
        self.worst = PASSED

    def _note(self, outcome: str, details: Dict[str, str]) -> None:
        if _SEVERITY.index(outcome) > _SEVERITY.index(self.worst.outcome):
            self.worst = Ended(outcome, self.phase, details, False)

    def _bad(self, err: Any, test: Any) -> None:
        message = f"{err[0].__name__}: {_safe_str(err[1])}".splitlines()[0]
        details = {"message": text(message, _MESSAGE_LIMIT)}
        as_unittest_shows_it: Any = getattr(self, "_exc_info_to_string")
        details["text"] = text(as_unittest_shows_it(err, test))
        self._note("failed" if self.phase == "call" else "error", details)

    def addError(self, test: Any, err: Any) -> None:
        self._bad(err, test)

    def addFailure(self, test: Any, err: Any) -> None:
        self._bad(err, test)

    def addSubTest(self, test: Any, subtest: Any, err: Any) -> None:
        if err is not None:
            self._bad(err, test)

    def addSkip(self, test: Any, reason: str) -> None:
        self._note("skipped", {"message": text(reason, _MESSAGE_LIMIT)})

    def addExpectedFailure(self, test: Any, err: Any) -> None:
        self._note("skipped", {"message": "expected failure"})

    def addUnexpectedSuccess(self, test: Any) -> None:
        self._note("failed", {"message": "unexpected success"})


def _safe_str(value: Any) -> str:
    try:
        return str(value)
    except Exception:
        return "(cannot be shown)"


class UnittestSuite(Suite):
    """unittest's tests."""

    def __init__(self, found: List[Any], errors: List[Dict[str, str]]) -> None:
        self._tests = found
        self.errors = errors
        self.rootdir = os.getcwd()
        self.tests = [_describe(test, self.rootdir) for test in found]
        self.runner = "unittest {}.{}".format(*sys.version_info)
        self.plugins = []
        self._suite: Any = unittest.TestSuite()
        self._result: Any = _Result()
        self._note: Callable[[Optional[str]], None] = lambda fixture: None
        self._trace: Any = None

    def tell_calls(self, trace: Any) -> None:
        self._trace = trace

    def tell_fixtures(self, note: Callable[[Optional[str]], None]) -> None:
        self._note = note

    def begin(self, order: Sequence[int], brief: Sequence[int], scratch: str) -> None:
        if not sys.warnoptions:
            # As unittest's own runner does.
            warnings.simplefilter("default")

    def attempt(self, test: int, following: Optional[int]) -> Ended:
        case = self._tests[test]
        result: _Result = self._result
        # Before a second attempt, what was set up for the class and the module is set up again.
        is_last = following is None or following == test
        after = None if is_last else self._tests[following]
        result.clear()
        try:
            self._run(case)
            self._tear_down(case, after)
        except KeyboardInterrupt as error:
            message = f"the test stopped the session: {error!r}"
            return Ended("failed", result.phase, {"message": text(message)}, True)
        return result.worst

    def _run(self, case: Any) -> None:
        suite, result = self._suite, self._result
        result.phase = "setup"
        if getattr(result, "_previousTestClass", None) is not case.__class__:
            self._note(None)
            suite._handleModuleFixture(case, result)
            self._note("module fixture setUpModule")
            suite._handleClassSetUp(case, result)
            self._note("class fixture setUpClass")
        result._previousTestClass = case.__class__
        failed = getattr(result, "_moduleSetUpFailed", False)
        if failed or getattr(case.__class__, "_classSetupFailed", False):
            if result.worst.outcome == "passed":
                result._note("error", {"message": "the set-up of its class or module had failed"})
            return
        result.phase = "call"
        if self._trace is not None:
            method = getattr(case, case._testMethodName)
            if self._trace.looks_at_draws:
                self._trace.before_call()
            self._trace.arm(method, getattr(case, "_callTestMethod", None))
        case(result)
        if self._trace is not None:
            self._trace.disarm()
            if self._trace.looks_at_draws:
                self._trace.after_call()

    def _tear_down(self, case: Any, after: Optional[Any]) -> None:
        suite, result = self._suite, self._result
        result.phase = "teardown"
        module = case.__class__.__module__
        if after is None or after.__class__ is not case.__class__:
            suite._tearDownPreviousClass(after, result)
            # The class is done, but its module is not.
            result._previousTestClass = type("Done", (), {"__module__": module})
        if after is None or after.__class__.__module__ != module:
            suite._handleModuleTearDown(result)
            result._previousTestClass = None

    def finish(self) -> None:
        try:
            self._suite._tearDownPreviousClass(None, self._result)
            self._suite._handleModuleTearDown(self._result)
        except BaseException:
            pass

    def leave(self) -> None:
        pass


def _describe(test: Any, rootdir: str) -> Dict[str, str]:
    kind = test.__class__
    origin = getattr(sys.modules.get(kind.__module__), "__file__", None)
    file = os.path.relpath(origin, rootdir) if origin else kind.__module__
    return {
        "id": text(test.id()),
        "class": text(f"{file}::{kind.__qualname__}"),
        "file": text(file),
    }


class _Catcher:
    """Takes the place of a runner, and keeps the suite instead of running it."""

    def __init__(self) -> None:
        self.found: List[Any] = []
        self.errors: List[Dict[str, str]] = []

    def run(self, suite: Any) -> unittest.TestResult:
        self._flatten(suite)
        return unittest.TestResult()

    def _flatten(self, test: Any) -> None:
        if isinstance(test, unittest.BaseTestSuite):
            for inner in test:
                self._flatten(inner)
        elif type(test).__name__ == "_FailedTest":
            self._failed(test)
        else:
            self.found.append(test)

    def _failed(self, test: Any) -> None:
        shown = text(getattr(test, "_exception", ""))
        self.errors.append({"where": text(test.id().split("_FailedTest.")[-1]), "text": shown})


def run(arguments: Sequence[str], serve: Callable[[UnittestSuite], None]) -> None:
    """Collects as unittest does; ``serve`` is called afterwards."""
    first = arguments[0] if arguments else "-"
    is_named = not first.startswith("-") and not os.path.isdir(first)
    discovers = [] if is_named else ["discover"]
    catcher = _Catcher()
    argv = ["python -m unittest", *discovers, *arguments]
    unittest.TestProgram(module=None, argv=argv, testRunner=catcher, exit=False)
    serve(UnittestSuite(catcher.found, catcher.errors))
