"""Which runner is used, and what if it cannot even collect?

Makes the process look as if the runner had been started plainly (``sys.argv``, and the module
``__main__``, which ``multiprocessing`` looks at), connects, lets the runner collect, and reports
what it found. Nothing a runner does ends in silence: a usage error, a broken conftest, a missing
runner are all reported as ``failed``.
"""

import gc
import importlib.util
import os
import platform
import random
import signal
import sys
import traceback
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, Callable, Dict, List, NoReturn, Optional, Sequence

from . import child, forkable, isolate, linux, separate, with_unittest
from .serve import Server
from .wire import Connect, Connection, Gone, connector, text

NO_ENGINE = 97

Bring = Callable[[str], Any]
"""Loads one more of our modules (``__main__``)."""


_RARELY = 1_000_000
"""So many new objects are let be before rubbish is looked for, while tests are collected."""


def main(call: Sequence[str], arguments: List[str], bring: Bring) -> int:
    """Collects, serves, exits; only returns the status with which Python should exit."""
    socket, token, wanted = call
    parent = os.getppid()
    try:
        linux.die_with_parent(signal.SIGKILL)
    except OSError:
        pass
    if os.getppid() != parent:
        return 0
    connect = connector(socket, token)
    keys = {"role": "server", "pid": os.getpid(), "runtime": platform.python_version()}
    try:
        connection = connect(keys)
    except OSError as error:
        sys.stderr.write(f"unflake agent: no engine listens on `{socket}`: {error}\n")
        return NO_ENGINE
    _quiet()
    agent = _Agent(connection, connect, os.path.dirname(socket), bring)
    # Next to the socket, where the engine cleans up, and not in the project.
    cache = os.path.join(os.path.dirname(socket), f"pytest-cache-{os.getpid()}")

    def collect() -> None:
        runner = _choose(wanted)
        look_plain(runner, arguments)
        if runner == "pytest":
            bring("with_pytest").run(arguments, cache, agent.serve)
        elif wanted == "auto":
            with_unittest.run(arguments, agent.serve_unless_empty)
        else:
            with_unittest.run(arguments, agent.serve)

    try:
        agent.work(collect)
    except Gone:
        pass
    return 0


def _choose(wanted: str) -> str:
    if wanted != "auto":
        return wanted
    return "pytest" if importlib.util.find_spec("pytest") else "unittest"


def look_plain(runner: str, arguments: Sequence[str]) -> None:
    """``sys.argv`` and ``__main__`` as ``python -m <runner> <arguments>`` leaves them."""
    spec: Optional[ModuleSpec] = None
    if importlib.util.find_spec(runner):
        spec = importlib.util.find_spec(runner + ".__main__")
    origin = spec.origin if spec and spec.origin else runner
    sys.argv[:] = [origin, *arguments]
    if hasattr(sys, "orig_argv"):
        sys.orig_argv[:] = [sys.executable, "-m", runner, *arguments]
    plain = ModuleType("__main__")
    plain.__spec__ = spec
    plain.__file__ = origin
    sys.modules["__main__"] = plain


def _quiet() -> None:
    """Drops the runner's standard output, because we have the reports."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.close(null)


class _Agent:
    """The agent, from its first message to its last."""

    def __init__(self, connection: Connection, connect: Connect, folder: str, bring: Bring) -> None:
        self._connection = connection
        self._connect = connect
        self._folder = folder
        self._bring = bring
        self._random = random.getstate()
        # Collection happens in the real tree, which must stay as it is. We use neither an option of
        # the interpreter nor an environment variable, so programs started by tests do not inherit
        # this; runs whose tree is an overlay get the user's setting back.
        self._writes_bytecode = not sys.dont_write_bytecode
        sys.dont_write_bytecode = True

        # Modules and tests are being made, and none of them is garbage.
        self._thresholds = gc.get_threshold()
        gc.set_threshold(_RARELY, *self._thresholds[1:])

    def work(self, collect: Callable[[], None]) -> None:
        """Collects and serves; reports what went wrong if it does not get that far."""
        try:
            collect()
        except Gone:
            raise
        except BaseException as error:
            what, shown = _explain(error)
            self._connection.send("failed", what=text(what), text=text(shown))

    def serve_unless_empty(self, suite: child.Suite) -> None:
        """Without pytest, and if unittest finds no tests, they may well be pytest's."""
        if not suite.tests:
            raise PytestMissing(suite)
        self.serve(suite)

    def serve(self, suite: child.Suite) -> NoReturn:
        """After collection: reports the tests, then serves until the end of this process."""
        try:
            self._serve(suite)
        except Gone:
            pass
        except BaseException:
            # If we returned, the host's runner would go on and run the tests itself.
            os.write(2, traceback.format_exc().encode("utf-8", "backslashreplace"))
            os._exit(child.BROKEN)
        os._exit(0)

    def _serve(self, suite: child.Suite) -> None:
        # Otherwise the next thing to happen is a search through all of it for garbage.
        gc.freeze()
        if gc.get_threshold()[0] == _RARELY:
            gc.set_threshold(*self._thresholds)
        unsafe = forkable.why_not()
        setting = child.Setting(
            suite=suite,
            connect=self._connect,
            where=isolate.ground(suite.rootdir),
            found=separate.survey([self._connection.fileno()], self._random),
            pid_refused=_once(isolate.pid_refused),
            writes_bytecode=self._writes_bytecode,
            bring=self._bring,
        )
        self._connection.send(
            "collected",
            tests=suite.tests,
            errors=suite.errors,
            fork=unsafe,
            rootdir=text(suite.rootdir),
            runner=suite.runner,
            plugins=suite.plugins,
        )
        in_place = unsafe is not None
        if Server(self._connection, setting, in_place, self._folder).serve():
            suite.leave()


class PytestMissing(Exception):
    """pytest is missing, and without it there are no tests."""


def _once(question: Callable[[], Optional[str]]) -> Callable[[], Optional[str]]:
    answers: Dict[str, Optional[str]] = {}

    def ask() -> Optional[str]:
        if "" not in answers:
            answers[""] = question()
        return answers[""]

    return ask


def _explain(error: BaseException) -> Any:
    if type(error).__name__ == "CannotCollect":
        return error.args
    if isinstance(error, PytestMissing):
        lines = [f"{sys.executable} cannot import pytest, and unittest finds no tests"]
        lines += ["{where}: {text}".format(**said) for said in error.args[0].errors]
        return "pytest is not installed", "\n".join(lines)
    if isinstance(error, ModuleNotFoundError) and error.name == "pytest":
        return "pytest is not installed", f"{sys.executable} cannot import pytest"
    shown = traceback.format_exception(type(error), error, error.__traceback__)
    return "the runner broke down", "".join(shown)
