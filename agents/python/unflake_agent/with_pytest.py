"""What are pytest's tests, and how is one of them run?

One plugin object, given to pytest when it starts. pytest reads its configuration, loads conftests
and plugins and collects, all by itself; then our loop takes the place of its loop over the tests:
``pytest_runtestloop`` reports the tests, serves, and does not return. Each child runs a test
through pytest's own ``pytest_runtest_protocol``, with the true next item, so every hook, fixture
and plugin does what it does in a plain run; reports are taken from the hook that passes them to the
terminal.

What a child does not run is ``pytest_sessionfinish``: no test's outcome depends on it, and its
implementations write reports (JUnit, coverage, caches) into the tree or talk to servers, once for
each of thousands of runs. Fixtures of the session are torn down all the same: by the teardown of
the last test, or by ``finish`` if a test stopped the session.
"""

import copy
import inspect
import os
import sys
import traceback
import unittest
from os import SEEK_END, lseek
from pathlib import Path
from types import FunctionType
from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence, Set

import pytest
from _pytest.capture import FDCapture
from _pytest.doctest import DoctestItem

from . import neighbours
from .child import PASSED, Ended, Suite
from .wire import text

try:
    from . import quick
except ImportError:
    # This pytest has moved what the quick way needs, so only the long one is left.
    quick = None  # type: ignore[assignment]

_MESSAGE_LIMIT = 2000


class PytestSuite(Suite):
    """pytest's tests; also the plugin that pytest calls."""

    def __init__(self, serve: Callable[["PytestSuite"], None]) -> None:
        self.tests = []
        self.errors = []
        self.plugins = []
        self.rootdir = ""
        self.runner = "pytest " + pytest.__version__
        self._serve = serve
        self._session: Any = None
        self._items: List[Any] = []
        self._collected: List[Any] = []
        self._reports: List[Any] = []
        self._shown: Set[int] = set()
        self._style = ""
        self._quick: Any = None
        self._names: Dict[int, Dict[str, Any]] = {}
        """What the examples of doctests saw the first time, by item."""

    # Called by pytest.

    @pytest.hookimpl(hookwrapper=True)
    def pytest_load_initial_conftests(self, early_config: Any) -> Iterator[None]:
        neighbours.before_conftests(early_config)
        yield

    @pytest.hookimpl(tryfirst=True)
    def pytest_cmdline_main(self, config: Any) -> None:
        self.plugins = neighbours.stand_back(config)

    @pytest.hookimpl(tryfirst=True)
    def pytest_collectreport(self, report: Any) -> None:
        if report.failed:
            self.errors.append({"where": text(report.nodeid), "text": text(_long(report))})

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: Any) -> bool:
        self._session = session
        self._items = list(session.items)
        # Kept so that a run does not free them: that would count down, and so copy, every one.
        self._collected = session.items
        self.tests = [_describe(item) for item in self._items]
        self.rootdir = str(session.config.rootdir)
        if quick is not None and quick.is_possible(session.config):
            self._quick = quick.Quick(session.config, self._reports)
            session.config.pluginmanager.register(self._quick)
        _look_before_reading(session.config)
        _remember_hooks(session)
        self._serve(self)
        return True

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_makereport(self, call: Any) -> None:
        if call.excinfo is not None:
            _tell_modules(call.excinfo.tb)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: Any) -> None:
        self._reports.append(report)

    # Called by the child.

    def begin(self, order: Sequence[int], brief: Sequence[int], scratch: str) -> None:
        self._session.items = [self._items[test] for test in order]
        self._session.testscollected = len(order)
        self._style = self._session.config.option.tbstyle
        self._shown = set(brief)
        _own_folders(self._session.config, Path(scratch))

    def tell_fixtures(self, note: Callable[[Optional[str]], None]) -> None:
        self._session.config.pluginmanager.register(_Fixtures(note))

    def tell_calls(self, trace: Any) -> None:
        plugins = self._session.config.pluginmanager
        impls = self._session.config.hook.pytest_pyfunc_call.get_hookimpls()
        is_quick = len(impls) == 1 and trace.ends_by_itself
        if is_quick and trace.announce and type(impls[0].function) is FunctionType:
            # Being in the hook costs each test as much as everything else that is done before it.
            otherwise = _Calls(trace).pytest_pyfunc_call
            trace.announce(impls[0].function, pytest.Function, "_obj", otherwise)
        else:
            plugins.register(_Calls(trace) if is_quick else _CallsInside(trace))
        if any(_is_called_otherwise(item) for item in self._session.items):
            plugins.register(_OtherCalls(trace))
        if trace.looks_at_draws:
            plugins.register(_Draws(trace))

    def attempt(self, test: int, following: Optional[int]) -> Ended:
        item = self._items[test]
        if following is None:
            nextitem = None
        elif following == test:
            # An item of another file: what was set up for the class and the module is set up again.
            # What tests leave in their fixtures does not matter to tests that run once.
            nextitem = _elsewhere(item)
        else:
            nextitem = self._items[following]
        del self._reports[:]
        _make_anew(item, self._names)
        # Showing a failure takes pytest longer than most tests; once is enough.
        is_brief = test in self._shown
        item.config.option.tbstyle = "line" if is_brief else self._style
        if self._quick is not None:
            self._quick.is_brief = is_brief
        try:
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=nextitem)
        except (KeyboardInterrupt, pytest.exit.Exception) as error:
            return _interrupted(self._reports, error, "the test stopped the session")
        except Exception as error:
            # Plain pytest would now show an internal error and exit.
            return _interrupted(self._reports, error, "pytest broke down under the test")
        session = self._session
        ended = _aggregate(self._reports, bool(session.shouldstop or session.shouldfail))
        if ended.outcome == "failed":
            self._shown.add(test)
        return ended

    def can_repeat(self, test: int) -> bool:
        return _can_repeat(self._items[test])

    def finish(self) -> None:
        state = self._session._setupstate
        try:
            if hasattr(state, "teardown_all"):
                state.teardown_all()
            else:
                state.teardown_exact(None)
        except BaseException:
            # The session was stopped; pytest itself would now report an error that belongs to no
            # test.
            pass

    def leave(self) -> None:
        self._session.config._ensure_unconfigure()


class _Fixtures:
    """Another plugin, for runs that report fixtures with changes."""

    def __init__(self, note: Callable[[Optional[str]], None]) -> None:
        self._note = note

    @pytest.hookimpl(hookwrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any) -> Iterator[None]:
        scope = str(fixturedef.scope)
        if scope == "function":
            yield
            return
        self._note(None)
        yield
        self._note(f"{scope} fixture {_fixture_name(fixturedef.argname)}")


class _Calls:
    """Another plugin, for runs that report calls, just before pytest calls a test.

    The end of the test is detected by its return; if that fails, before any teardown.
    """

    def __init__(self, trace: Any) -> None:
        self._trace = trace

    @pytest.hookimpl
    def pytest_pyfunc_call(self, pyfuncitem: Any) -> None:
        if not self._trace.arm(pyfuncitem.obj):
            pyfuncitem.addfinalizer(self._trace.disarm)


class _Draws:
    """Another plugin, around all of these, for numbers that may be drawn without an event."""

    def __init__(self, trace: Any) -> None:
        self._trace = trace

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_pyfunc_call(self) -> Iterator[None]:
        self._trace.before_call()
        yield
        self._trace.after_call()

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_call(self, item: Any) -> Iterator[None]:
        if not _is_called_otherwise(item):
            yield
            return
        self._trace.before_call()
        yield
        self._trace.after_call()


class _CallsInside:
    """The same if other plugins call tests, too.

    It is as close to the test function as a hook can be, inside of plugins that replace it: there,
    a coroutine has become a plain function.
    """

    def __init__(self, trace: Any) -> None:
        self._trace = trace

    @pytest.hookimpl(hookwrapper=True, trylast=True)
    def pytest_pyfunc_call(self, pyfuncitem: Any) -> Iterator[None]:
        self._trace.arm(pyfuncitem.obj)
        yield
        self._trace.disarm()


class _OtherCalls:
    """The same for tests that this hook does not call. Being in another hook costs all tests."""

    def __init__(self, trace: Any) -> None:
        self._trace = trace

    @pytest.hookimpl(hookwrapper=True, trylast=True)
    def pytest_runtest_call(self, item: Any) -> Iterator[None]:
        if not _is_called_otherwise(item):
            yield
            return
        case = getattr(item, "_testcase", None)
        if isinstance(case, unittest.TestCase):
            self._trace.arm(item.obj, case._callTestMethod)  # type: ignore[attr-defined]
        else:
            self._trace.arm(item.runtest)
        yield
        self._trace.disarm()


def _is_called_otherwise(item: Any) -> bool:
    """Whether it is not a function, or is the method of a ``unittest.TestCase``."""
    return not isinstance(item, pytest.Function) or hasattr(type(item), "_testcase")


def _fixture_name(name: str) -> str:
    """For fixtures that pytest makes up for methods like ``setup_module``, the method's name."""
    if not name.lstrip("_").startswith(("xunit_setup_", "unittest_setUp")):
        return name
    methods = ("setup_module", "setup_class", "setUpModule")
    return next((method for method in methods if method in name), "setUpClass")


def _describe(item: Any) -> Dict[str, Any]:
    file = item.nodeid.split("::")[0]
    parent = item.getparent(pytest.Class)
    suite = file if parent is None else parent.nodeid
    told = {"id": text(item.nodeid), "class": text(suite), "file": text(file)}
    return told if _can_repeat(item) else dict(told, once=True)


def _can_repeat(item: Any) -> bool:
    """Functions are called again, and what doctests use up is known. What an item of a plugin keeps
    for itself is unknown."""
    return isinstance(item, pytest.Function) or _names(item) is not None


def _names(item: Any) -> Optional[Dict[str, Any]]:
    """The names that the examples of a doctest see, and that are gone after it has run."""
    doctest = getattr(item, "dtest", None) if isinstance(item, DoctestItem) else None
    names = getattr(doctest, "globs", None)
    return names if isinstance(names, dict) else None


def _elsewhere(node: Any) -> Any:
    """A copy of an item, in a copy of its class and its file."""
    if node is None or isinstance(node, (pytest.Session, pytest.Package)):
        return node
    other = copy.copy(node)
    if not isinstance(node, pytest.File):
        other.parent = _elsewhere(node.parent)
    return other


def _own_folders(config: Any, scratch: Path) -> None:
    """The run's own cache and temporary folders, where pytest has those of the server."""
    cache = getattr(config, "cache", None)
    if cache is not None:
        cache._cachedir = scratch / "pytest-cache"
    factory = getattr(config, "_tmp_path_factory", None)
    if factory is not None:
        factory._basetemp = None
        if factory._given_basetemp is not None:
            factory._given_basetemp = scratch / "basetemp"


def _look_before_reading(config: Any) -> None:
    """pytest reads and empties the files of captured output in all three phases of a test, which
    takes a third of its time. Usually nothing was written, and that can be seen at a glance."""
    manager = config.pluginmanager.getplugin("capturemanager")
    capturing = getattr(manager, "_global_capturing", None)
    for stream in (getattr(capturing, "out", None), getattr(capturing, "err", None)):
        if isinstance(stream, FDCapture):
            stream.snap = _snap_if_any(stream)


def _snap_if_any(stream: Any) -> Callable[[], Any]:
    snap, file, empty = stream.snap, stream.tmpfile.fileno(), type(stream).EMPTY_BUFFER

    def snap_if_any() -> Any:
        try:
            # New output is written at the end; in an empty file that is the beginning.
            if lseek(file, 0, SEEK_END) == 0:
                return empty
        except OSError:
            pass
        return snap()

    return snap_if_any


def _remember_hooks(session: Any) -> None:
    """Which conftests apply to a file is asked four times for each test, and determined anew each
    time; with several conftests, that takes longer than a quick test. It changes with the plugins.
    """
    plugins = getattr(session.config.pluginmanager, "_name2plugin", None)
    if not isinstance(plugins, dict):
        return
    find_out, n_plugins = session.gethookproxy, -1
    known: Dict[Any, Any] = {}

    def gethookproxy(fspath: Any) -> Any:
        nonlocal n_plugins
        if n_plugins != len(plugins):
            n_plugins = len(plugins)
            known.clear()
        hooks = known.get(fspath)
        if hooks is None:
            hooks = known[fspath] = find_out(fspath)
        return hooks

    session.gethookproxy = gethookproxy


def _tell_modules(traceback: Any) -> None:
    """To show source, ``inspect`` looks for the module that a file belongs to, and looks up the
    true path of every module: twice the time of the rest of the report."""
    known = getattr(inspect, "modulesbyfile", None)
    while isinstance(known, dict) and traceback is not None:
        frame = traceback.tb_frame
        name, file = frame.f_globals.get("__name__"), frame.f_code.co_filename
        if getattr(sys.modules.get(name), "__file__", None) == file:
            known.setdefault(file, name)
        traceback = traceback.tb_next


def _make_anew(item: Any, known_names: Dict[int, Dict[str, Any]]) -> None:
    """Makes sure a second attempt does not find what the first left on ``self`` or in its
    output."""
    del item._report_sections[:]
    names = _names(item)
    if names is not None:
        kept = known_names.setdefault(id(item), dict(names))
        names.clear()
        names.update(kept)
        return
    method = item.__dict__.get("_obj")
    instance = getattr(method, "__self__", None)
    if instance is None or getattr(method, "is_hypothesis_test", False):
        # Hypothesis refuses to run one test function from two instances.
        return
    owner = item.getparent(pytest.Class)
    if owner is not None and isinstance(instance, owner.obj):
        # pytest makes a new instance of the test class if there is none.
        item._obj = None
        item.__dict__.pop("_instance", None)


def _aggregate(reports: List[Any], stops: bool) -> Ended:
    """One outcome from the reports of the phases: the first that says more than "passed".

    >>> setup passed, call failed, teardown failed   -> failed in call
    >>> setup passed, call passed, teardown failed   -> error in teardown
    >>> setup passed, subtest failed, call passed    -> failed in call
    """
    failed = [r for r in reports if r.failed]
    skipped = [r for r in reports if r.skipped and _is_whole(r)]
    if failed:
        first = next((r for r in failed if r.when == "call"), failed[0])
        outcome = "failed" if first.when == "call" else "error"
        details = _details(first, failed, reports[-1])
        return Ended(outcome, first.when, details, stops)
    if skipped:
        return Ended("skipped", skipped[0].when, _reason(skipped[0]), stops)
    return PASSED._replace(stops=True) if stops else PASSED


def _is_whole(report: Any) -> bool:
    """Whether a report is about the test, not about one of its subtests."""
    return not hasattr(report, "context")


def _details(first: Any, failed: List[Any], last: Any) -> Dict[str, str]:
    whole = "\n".join(_long(report) for report in failed)
    details = {"message": _message(first), "text": text(whole)}
    for key, value in (("stdout", last.capstdout), ("stderr", last.capstderr)):
        if value:
            details[key] = text(value)
    return details


def _long(report: Any) -> str:
    try:
        return str(report.longreprtext)
    except Exception as error:
        return f"(the report cannot be shown: {error!r})"


def _message(report: Any) -> str:
    crash = getattr(report.longrepr, "reprcrash", None)
    said = getattr(crash, "message", None) or _long(report).strip()
    return text((str(said).splitlines() or [""])[0], _MESSAGE_LIMIT)


def _reason(report: Any) -> Dict[str, str]:
    expected = getattr(report, "wasxfail", None)
    if expected is not None:
        return {"message": text(f"expected failure: {expected}", _MESSAGE_LIMIT)}
    if isinstance(report.longrepr, tuple):
        return {"message": text(report.longrepr[2], _MESSAGE_LIMIT)}
    return {"message": _message(report)}


def _interrupted(reports: List[Any], error: BaseException, what: str) -> Ended:
    """pytest stops the session without a report for the test that stopped it; we blame that
    test."""
    if any(r.failed for r in reports):
        return _aggregate(reports, True)
    phases = ["setup", "call", "teardown"]
    phase = phases[min(len(reports), 2)]
    outcome = "failed" if phase == "call" else "error"
    message = f"{what}: {type(error).__name__}: {error}"
    whole = "".join(traceback.format_exception(type(error), error, error.__traceback__))
    return Ended(outcome, phase, {"message": text(message), "text": text(whole)}, True)


class CannotCollect(Exception):
    """pytest did not even get to its tests."""


def run(arguments: Sequence[str], cache: str, serve: Callable[[PytestSuite], None]) -> None:
    """Starts pytest as ``python -m pytest`` would; ``serve`` is called after collection."""
    # Collection is in the real tree: the cache that `addopts` may need must not be written there.
    args = ["-o", "cache_dir=" + cache, *arguments]
    from _pytest.config import ConftestImportFailure, UsageError, _prepareconfig

    if tuple(map(int, pytest.__version__.split(".")[:2])) >= (8, 2):
        os.environ["PYTEST_VERSION"] = pytest.__version__
    try:
        config = _prepareconfig(args, [PytestSuite(serve)])
        status = config.hook.pytest_cmdline_main(config=config)
    except ConftestImportFailure as error:
        raise CannotCollect("a conftest cannot be imported", _cause(error)) from None
    except UsageError as error:
        said = "\n".join(map(str, error.args))
        raise CannotCollect("pytest refuses its arguments", said) from None
    except SystemExit as error:
        raise CannotCollect("pytest left", f"exit status {error.code}") from None
    raise CannotCollect("pytest ended before its tests", f"exit status {status!r}")


def _cause(error: Any) -> str:
    cause = getattr(error, "cause", None)
    if cause is None:
        cause = error.excinfo[1]
    path = str(error.path)
    place = cause.__traceback__
    # How pytest came to import it is not the error.
    while place is not None and place.tb_frame.f_code.co_filename != path:
        place = place.tb_next
    shown = traceback.format_exception(type(cause), cause, place)
    return "{}\n{}".format(path, "".join(shown))
