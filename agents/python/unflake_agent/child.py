"""What happens in the life of one run?

A process is forked, makes its own what it would share with others (``separate``), runs the tests of
one order and leaves by ``os._exit``, so that exit handlers of the parent's libraries do not run
twice. In between the tests have the process to themselves; whatever they do to it dies with it.
Where it is forked, and who hears what it says, ``guard`` decides.
"""

import gc
import os
import sys
import traceback
from os import _exit
from time import perf_counter
from typing import Any, Callable, Dict, List, NamedTuple, NoReturn, Optional, Sequence

from . import isolate, linux, separate
from .ring import Ring
from .wire import Connect, Gone

BROKEN = 98
"""Exit status of a run that our own code could not bring to an end."""

Sink = Callable[..., None]
"""Says one message: its name, and its body as keywords."""


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
    pid_refused: Callable[[], Optional[str]]
    writes_bytecode: bool


def live(
    run: Run, setting: Setting, isolated: isolate.Isolated, ring: Ring, errors: int
) -> NoReturn:
    """The whole life of a forked run."""
    try:
        os.setsid()
        ring.adopt()
        separate.own_errors(setting.found, errors)
        separate.own_temporary_folder(run.scratch)
        separate.own_files(setting.found)
        _settle(isolated, setting)
        separate.own_random(setting.found)
        gc.unfreeze()
        _attempts(run, setting.suite, ring.send)
        _exit(0)
    except BaseException:
        _complain()
    finally:
        _exit(BROKEN)


def live_in_place(run: Run, setting: Setting) -> NoReturn:
    """The same without forking, where that is unsafe; the server ends with the run."""
    try:
        connection = setting.connect({"role": "run", "run": run.run, "pid": os.getpid()})
        wanted, refused = possible(run.isolation, setting, False)
        separate.own_temporary_folder(run.scratch)
        isolated = isolate.isolate(wanted, setting.where, run.scratch)
        for upper in isolated.uppers:
            os.close(upper)
        _settle(isolated, setting)
        refused += isolated.refused
        connection.send("isolated", applied=isolated.applied, refused=refused)
        _attempts(run, setting.suite, connection.send)
        _exit(0)
    except Gone:
        _exit(0)
    except BaseException:
        _complain()
    finally:
        _exit(BROKEN)


def _complain() -> None:
    os.write(2, traceback.format_exc().encode("utf-8", "backslashreplace"))


def _settle(isolated: isolate.Isolated, setting: Setting) -> None:
    """What isolation gave too much is given up, what it makes harmless is as the user has it."""
    if isolated.as_user and os.getuid() != 0:
        linux.drop_capabilities()
    if "tree" in isolated.applied:
        sys.dont_write_bytecode = not setting.writes_bytecode


def possible(levels: Sequence[str], setting: Setting, forked: bool) -> Any:
    """The levels worth trying, and the refusals known beforehand."""
    why = None
    if "pid" in levels:
        why = setting.pid_refused() if forked else "the run is not forked"
    if why is None:
        return list(levels), []
    return [level for level in levels if level != "pid"], [{"level": "pid", "why": why}]


def _attempts(run: Run, suite: Suite, send: Sink) -> None:
    suite.begin(run.order, run.scratch)
    for position, test in enumerate(run.order):
        after = run.order[position + 1] if position + 1 < len(run.order) else None
        followers = [test, after] if run.twice else [after]
        for attempt, following in enumerate(followers):
            send("start", position=position, attempt=attempt)
            begun = perf_counter()
            ended = suite.attempt(test, following)
            send(
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
                send("done")
                return
    send("done")
