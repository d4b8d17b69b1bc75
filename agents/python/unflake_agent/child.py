"""What happens in the life of one run?

A child is forked from the server, connects, isolates itself, runs the tests of one order and leaves
by ``os._exit``, so that exit handlers of the parent's libraries do not run twice. In between the
tests have the process to themselves; whatever they do to it dies with it.

With the level ``pid`` one child is three processes:

====== ============================= ===========================================================
waiter in the server's PID namespace what the server and the engine see; passes on how it ended
init   process 1 of the new one      reaps whoever is left over; when it goes, all go
runner process 2                     runs the tests
====== ============================= ===========================================================

A test cannot kill its parent then (nobody can kill an init from inside), which without ``pid`` ends
the server. When the runner ends, init tells the waiter through a pipe how, because an init cannot
end by a signal as the runner may have done.
"""

import gc
import os
import resource
import signal
import struct
import sys
import traceback
from os import _exit
from time import perf_counter
from typing import Any, Callable, Dict, List, NamedTuple, NoReturn, Optional, Sequence

from . import isolate, linux, separate
from .wire import Connect, Connection, Gone

BROKEN = 98
"""Exit status of a run that our own code could not bring to an end."""

ERRORS = "errors.txt"
"""In the scratch folder: what the run wrote to its error descriptor past all capture."""

_status = struct.Struct("i")


class Run(NamedTuple):
    """What the engine asks for."""

    run: int
    order: List[int]
    twice: bool
    isolation: List[str]
    scratch: str


class Ended(NamedTuple):
    """How one attempt ended, in the words of the protocol."""

    outcome: str
    phase: str
    details: Dict[str, str]
    stops: bool
    """Whether the session ends here, as pytest's does after ``pytest.exit``."""


class Suite:
    """What a runner must offer; ``with_pytest`` and ``with_unittest`` do."""

    tests: List[Dict[str, str]]
    errors: List[Dict[str, str]]
    rootdir: str
    runner: str
    plugins: List[str]

    def begin(self, order: Sequence[int], scratch: str) -> None:
        """In the child, before the first test."""
        raise NotImplementedError

    def attempt(self, test: int, following: Optional[int]) -> Ended:
        """Runs a test, and tears down what the following one (perhaps the same) does not need."""
        raise NotImplementedError

    def finish(self) -> None:
        """Tears down what is left when the order was cut short."""
        raise NotImplementedError

    def leave(self) -> None:
        """In the server, when the engine has no more wishes."""
        raise NotImplementedError


class Setting(NamedTuple):
    """All that a child takes from its server."""

    suite: Suite
    connect: Connect
    where: isolate.Ground
    found: separate.Survey
    server: Connection
    pid_refused: Callable[[], Optional[str]]
    writes_bytecode: bool


def live(run: Run, setting: Setting, server_pid: int) -> NoReturn:
    """The whole life of a forked child."""
    try:
        os.setpgid(0, 0)
        _die_with(server_pid)
        setting.server.close()
        separate.own_errors(setting.found, os.path.join(run.scratch, ERRORS))
        _run(run, setting, True)
        _exit(0)
    except Gone:
        _exit(0)
    except BaseException:
        _complain()
    finally:
        _exit(BROKEN)


def live_in_place(run: Run, setting: Setting) -> NoReturn:
    """The same without forking, where that is unsafe; the server ends with the run."""
    try:
        _run(run, setting, False)
        _exit(0)
    except Gone:
        _exit(0)
    except BaseException:
        _complain()
    finally:
        _exit(BROKEN)


def _complain() -> None:
    os.write(2, traceback.format_exc().encode("utf-8", "backslashreplace"))


def _die_with(parent: int) -> None:
    try:
        linux.die_with_parent(signal.SIGKILL)
    except OSError:
        return
    if os.getppid() != parent:
        _exit(0)


def _run(run: Run, setting: Setting, forked: bool) -> None:
    connection = setting.connect({"role": "run", "run": run.run, "pid": os.getpid()})
    levels, refused = _possible(run.isolation, setting, forked)
    separate.own_temporary_folder(run.scratch)
    outcome = isolate.isolate(levels, setting.where, run.scratch)
    if forked:
        separate.own_files(setting.found)
        if outcome.as_user:
            # The kernel forgets it when a user namespace changes what the process may do.
            linux.die_with_parent(signal.SIGKILL)
    if "pid" in outcome.applied:
        _descend(connection)
    if outcome.as_user and os.getuid() != 0:
        linux.drop_capabilities()
    if "tree" in outcome.applied:
        sys.dont_write_bytecode = not setting.writes_bytecode
    if forked:
        separate.own_random(setting.found)
        gc.unfreeze()
    connection.send("isolated", applied=outcome.applied, refused=refused + outcome.refused)
    _attempts(run, setting.suite, connection)


def _possible(levels: Sequence[str], setting: Setting, forked: bool) -> Any:
    """The levels worth trying, and the refusals known beforehand."""
    why = None
    if "pid" in levels:
        why = setting.pid_refused() if forked else "the run is not forked"
    if why is None:
        return list(levels), []
    return [level for level in levels if level != "pid"], [{"level": "pid", "why": why}]


def _attempts(run: Run, suite: Suite, connection: Connection) -> None:
    suite.begin(run.order, run.scratch)
    for position, test in enumerate(run.order):
        after = run.order[position + 1] if position + 1 < len(run.order) else None
        followers = [test, after] if run.twice else [after]
        for attempt, following in enumerate(followers):
            connection.send("start", position=position, attempt=attempt)
            begun = perf_counter()
            ended = suite.attempt(test, following)
            connection.send(
                "end",
                position=position,
                attempt=attempt,
                outcome=ended.outcome,
                phase=ended.phase,
                seconds=perf_counter() - begun,
                **ended.details,
            )
            if ended.stops:
                suite.finish()
                connection.send("done")
                return
    connection.send("done")


def _descend(connection: Connection) -> None:
    """Returns in the runner only; waiter and init stay behind in here."""
    reader, writer = os.pipe()
    init = os.fork()
    if init:
        connection.close()
        os.close(writer)
        _wait(init, reader)
    os.close(reader)
    _die_with(0)
    isolate.own_proc()
    runner = os.fork()
    if runner:
        connection.close()
        _reap(runner, writer)
    os.close(writer)
    os.setsid()
    connection.adopt()


def _wait(init: int, reader: int) -> NoReturn:
    """The waiter: ends as the runner ended, once all its processes are gone."""
    _deaf()
    answer = os.read(reader, _status.size)
    os.waitpid(init, 0)
    if len(answer) < _status.size:
        _exit(BROKEN)
    (status,) = _status.unpack(answer)
    if os.WIFEXITED(status):
        _exit(os.WEXITSTATUS(status))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    number = os.WTERMSIG(status)
    if number not in (signal.SIGKILL, signal.SIGSTOP):
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [number])
    os.kill(os.getpid(), number)
    _exit(BROKEN)


def _reap(runner: int, writer: int) -> NoReturn:
    """The init: lives as long as the runner; the kernel ends the rest with it."""
    _deaf()
    while True:
        pid, status = os.waitpid(-1, 0)
        if pid == runner:
            os.write(writer, _status.pack(status))
            _exit(0)


def _deaf() -> None:
    """The host's signal handlers are not for these processes; ending is left to the kernel."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGALRM):
        signal.signal(number, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, 0)
