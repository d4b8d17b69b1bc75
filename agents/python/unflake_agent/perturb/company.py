"""What else runs at the same time?

Companions are forked twice, so that they are not children of the run that a test could wait for.
They stay in the process group of the run, which is ended as a whole, and check after each piece of
work whether the run still exists: whichever comes first.
"""

import os
import select
import signal
from typing import Any, Callable, Dict

from .. import linux, separate
from .draw import Draw, Refusal

_BURNERS = [2, 3, 4]
_TESTS_MAX = 20
"""Tests that a neighbour runs in turn."""

_PIECE = 100_000
"""Turns of an empty loop between two looks: some milliseconds."""


def companion(work: Callable[[Callable[[], bool]], None]) -> None:
    """Forks a process that does this work; it is given a function that says whether the run goes
    on."""
    run = os.getpid()
    child = os.fork()
    if child:
        os.waitpid(child, 0)
        return
    try:
        if os.fork() == 0:
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGALRM):
                signal.signal(number, signal.SIG_DFL)
            poll = select.poll()
            poll.register(linux.pidfd_open(run), select.POLLIN)
            work(lambda: not poll.poll(0))
    finally:
        os._exit(0)


def neighbour(run: Any, setting: Any) -> Callable[[Draw, Callable[[], bool]], None]:
    """The work of a process beside the run: it repeats tests of the suite, near ones first."""

    def work(draw: Draw, goes_on: Callable[[], bool]) -> None:
        separate.own_files(setting.found)
        suite = setting.suite
        target = run.order[-1]
        others = [test for test in range(len(suite.tests)) if test not in run.order]
        near = sorted(others, key=lambda test: abs(test - target))[: _TESTS_MAX - 1]
        tests = draw.shuffled([target, *near])
        scratch = os.path.join(run.scratch, "neighbour")
        os.mkdir(scratch, 0o700)
        while goes_on():
            suite.begin(tests, tests, scratch)
            for test, following in zip(tests, [*tests[1:], None]):
                if not goes_on():
                    return
                suite.attempt(test, following)

    return work


def cpu(draw: Draw, around: Any) -> Dict[str, Any]:
    """One core, shared with processes that only compute."""
    if around.neighbour is None:
        raise Refusal("a process with threads cannot be forked safely")
    core = draw.one(sorted(os.sched_getaffinity(0)))
    os.sched_setaffinity(0, {core})
    n_burners = draw.one(_BURNERS)
    for _ in range(n_burners):
        companion(_burn)
    return {"how": f"core {core} shared with {n_burners} busy processes"}


def _burn(goes_on: Callable[[], bool]) -> None:
    while goes_on():
        for _ in range(_PIECE):
            pass


def neighbours(draw: Draw, around: Any) -> Dict[str, Any]:
    """Tests of the suite, including this one, in another process with the same files and
    network."""
    neighbour = around.neighbour
    if neighbour is None:
        raise Refusal("a process with threads cannot be forked safely")
    companion(lambda goes_on: neighbour(draw, goes_on))
    return {"how": "tests of the suite run in another process at the same time"}
