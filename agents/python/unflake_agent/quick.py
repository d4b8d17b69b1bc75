"""How can pytest run a quick test in a third of its time?

Most of the cost of a quick test is calling the plugins: sixteen hooks for each test, most of them
in all three phases. But what plugins wrap around a phase is the same for each: output and log
records are captured, exceptions of threads are noticed. So here they wrap all three at once: the
set-up hook is called with every plugin in its place, and when the fixtures are there, the test and
its teardown run inside of it, by the same functions of pytest and in the same order. Whatever did
not simply pass is judged by ``pytest_runtest_makereport``. Reports of phases that passed, and two
of three calls, are left out.

Only pytest's own plugins are known to be unaffected, and a few others unless they are active
(``_MINDS``). If any other plugin wraps a phase or looks at reports (a conftest whose fixture sees
whether the test failed), all tests take the long way; so do, always, tests that are more than a
function or that look at what was captured phase by phase.
"""

import sys
import unittest
from types import SimpleNamespace
from typing import Any, Callable, Dict, List, Optional

import pytest
from _pytest.logging import caplog_handler_key, caplog_records_key
from _pytest.runner import CallInfo
from _pytest.skipping import evaluate_xfail_marks, xfailed_key

try:
    from _pytest.tmpdir import tmppath_result_key
except ImportError:
    # Before pytest 7.3 nothing is kept for `tmp_path` about how the phases ended.
    tmppath_result_key = None  # type: ignore[assignment]

_LEFT_OUT = (
    "pytest_runtest_logstart",
    "pytest_runtest_call",
    "pytest_runtest_teardown",
    "pytest_runtest_makereport",
    "pytest_runtest_logreport",
    "pytest_runtest_logfinish",
    "pytest_exception_interact",
)
_BY_PHASE = {"caplog", "capsys", "capsysbinary", "capfd", "capfdbinary", "capteesys"}
_BY_PHASE |= {"pytester", "testdir", "subtests"}
_OURS = __name__.split(".")[0]
_STOPS = (KeyboardInterrupt, pytest.exit.Exception)
_SAYS_MORE = (pytest.skip.Exception, pytest.xfail.Exception, unittest.SkipTest)


def _fakes_files() -> bool:
    # Reports are written to real files, and tests have none while they are faked.
    faking = sys.modules.get("pyfakefs.fake_filesystem_unittest")
    return faking is not None and getattr(faking.Patcher, "PATCHER", None) is not None


def _has_hypothesis() -> bool:
    # Once loaded, it looks at every test for its own decorators.
    return "hypothesis" in sys.modules


_MINDS: Dict[str, Callable[[], bool]] = {
    # The first part of the plugin's module, and whether it would be affected now.
    "pyfakefs": _fakes_files,
    "_hypothesis_pytestplugin": _has_hypothesis,
}


def is_possible(config: Any) -> bool:
    """Whether no unknown plugin would notice."""
    if config.getoption("setuponly", False) or config.getoption("setupshow", False):
        return False
    return all(name in ("_pytest", _OURS, *_MINDS) for name in _concerned(config))


def _concerned(config: Any) -> List[str]:
    """Plugins that wrap a phase or look at reports: the first parts of their modules."""
    left_out = [impl for name in _LEFT_OUT for impl in _impls(config, name)]
    around = [impl for impl in _impls(config, "pytest_runtest_setup") if _is_wrapper(impl)]
    return sorted({_top(impl.plugin) for impl in left_out + around})


class Quick:
    """A plugin, registered after all others so that its part of the set-up hook comes last."""

    def __init__(self, config: Any, reports: List[Any]) -> None:
        self.is_brief = False
        """Whether one line about a failure of the next test is enough."""
        self._reports = reports
        self._call = _work(_impls(config, "pytest_runtest_call"))
        self._teardown = _work(_impls(config, "pytest_runtest_teardown"))
        self._logging = config.pluginmanager.getplugin("logging-plugin")
        self._minding = [_MINDS[name] for name in _concerned(config) if name in _MINDS]
        self._nextitem: Any = None
        self._inside: Optional[List[Any]] = None
        """The phases that ended inside of the set-up hook, while one waits for them."""

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: Any, nextitem: Any) -> Optional[bool]:
        if not _is_simple(item) or any(minds() for minds in self._minding):
            return None
        if not item._request:
            item._initrequest()
        if tmppath_result_key is not None:
            item._store.setdefault(tmppath_result_key, {})
        self._nextitem = nextitem
        phases = self._phases(item)
        self._forget_records(item)
        if any(phase.excinfo for phase in phases) or item.get_closest_marker("xfail"):
            self._judge(item, phases)
        item._request = False
        item.funcargs = None
        return True

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_setup(self, item: Any) -> None:
        inside, self._inside = self._inside, None
        if inside is None:
            return
        inside.append(_PASSED["setup"])
        inside.append(_phase("call", lambda: _do(self._call, item=item)))
        inside.append(_phase("teardown", lambda: self._tear_down(item)))

    def _tear_down(self, item: Any) -> None:
        stops = item.session.shouldfail or item.session.shouldstop
        _do(self._teardown, item=item, nextitem=None if stops else self._nextitem)

    def _phases(self, item: Any) -> List[Any]:
        inside: List[Any] = []
        self._inside = inside
        hooks, known = item.ihook, {"item": item, "nextitem": self._nextitem}
        try:
            whole = _phase("setup", lambda: hooks.pytest_runtest_setup(item=item))
            self._inside = None
            if whole.excinfo is None:
                return inside
            last = _phase("teardown", lambda: hooks.pytest_runtest_teardown(**known))
        except _STOPS:
            self._inside = None
            self._judge(item, inside)
            raise
        if not inside:
            return [whole, last]
        # A wrapper has complained: in a plain run, it would have done so around the test.
        whole.when = "call"
        if last.excinfo is not None:
            # This may not be recoverable: a test has closed descriptors. If they include pytest's
            # own, it fails when it shows what happened.
            for phase in (_passed("setup"), whole, last):
                report = hooks.pytest_runtest_makereport(item=item, call=phase)
                hooks.pytest_runtest_logreport(report=report)
            return []
        return [inside[0], whole, inside[2]]

    def _forget_records(self, item: Any) -> None:
        """As the plugin that captures log records does around the teardown. Objects that they refer
        to may be waited for: a connection to a database closes when nothing refers to it."""
        for key in (caplog_handler_key, caplog_records_key):
            if key in item._store:
                del item._store[key]
        if self._logging is not None and self._logging.caplog_handler.records:
            self._logging.caplog_handler.reset()
            self._logging.report_handler.reset()

    def _judge(self, item: Any, phases: List[Any]) -> None:
        if self.is_brief and _is_plain(phases) and not item.get_closest_marker("xfail"):
            self._reports.append(_brief(phases[1].excinfo))
            return
        if item._store.get(xfailed_key, None) is None:
            # The test may have added marks to itself.
            item._store[xfailed_key] = evaluate_xfail_marks(item)
        judge = item.ihook.pytest_runtest_makereport
        judged = [phase if phase.excinfo else _passed(phase.when) for phase in phases]
        self._reports.extend(judge(item=item, call=phase) for phase in judged)


def _is_simple(item: Any) -> bool:
    return type(item) is pytest.Function and _BY_PHASE.isdisjoint(item.fixturenames)


def _is_plain(phases: List[Any]) -> bool:
    """Whether the test has failed, and there is nothing else to report."""
    if [phase.when for phase in phases if phase.excinfo] != ["call"] or len(phases) != 3:
        return False
    error = phases[1].excinfo.value
    return isinstance(error, Exception) and not isinstance(error, _SAYS_MORE)


def _brief(excinfo: Any) -> Any:
    """What to say about a failure that was shown before. For a report, pytest would look up its
    place in the sources, which takes as long as five quick tests."""
    message = excinfo.exconly(tryshort=True)
    crash = SimpleNamespace(reprcrash=SimpleNamespace(message=message))
    said = {"longrepr": crash, "longreprtext": message, "capstdout": "", "capstderr": ""}
    return SimpleNamespace(when="call", failed=True, skipped=False, **said)


def _impls(config: Any, hook: str) -> List[Any]:
    return list(getattr(config.hook, hook).get_hookimpls())


def _is_wrapper(impl: Any) -> bool:
    return bool(impl.hookwrapper or getattr(impl, "wrapper", False))


def _top(plugin: Any) -> str:
    module = getattr(plugin, "__name__", None) or type(plugin).__module__
    return str(module.split(".")[0])


def _work(impls: List[Any]) -> List[Any]:
    """What is done inside of all wrappers, in order."""
    return [(i.function, i.argnames) for i in reversed(impls) if not _is_wrapper(i)]


def _do(work: List[Any], **known: Any) -> None:
    for function, names in work:
        function(*[known[name] for name in names])


def _phase(when: Any, function: Callable[[], Any]) -> Any:
    """Like ``CallInfo.from_call``, without reading clocks that nobody looks at here."""
    try:
        function()
    except _STOPS:
        raise
    except BaseException as error:
        return CallInfo.from_call(_raising(error), when, reraise=_STOPS)
    return _PASSED[when]


def _raising(error: BaseException) -> Callable[[], Any]:
    def again() -> None:
        raise error

    return again


def _passed(when: Any) -> Any:
    return CallInfo.from_call(bool, when, reraise=_STOPS)


_PASSED = {when: _passed(when) for when in ("setup", "call", "teardown")}
"""What is known of a phase that passed, before anybody asks for more."""
