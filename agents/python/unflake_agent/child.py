"""What happens in the life of one run?

A process is forked, gets its own copies of what it would share with others (``separate``), runs the
tests of one order and exits with ``os._exit``, so that exit handlers of the parent's libraries do
not run twice. In between the tests have the process to themselves; whatever they do to it dies with
it. Where it is forked, and who receives its messages, is decided by ``guard``.
"""

import gc
import os
import sys
import threading
import traceback
from os import _exit
from time import perf_counter
from typing import (
    Any,
    Callable,
    Dict,
    Iterator,
    List,
    NamedTuple,
    NoReturn,
    Optional,
    Sequence,
    Union,
)

from . import isolate, linux, separate
from .ring import Ring
from .wire import Connect, Connection, Gone, frame, passed, started

BROKEN = 98
"""Exit status of a run that our own code could not bring to an end."""

Speaker = Union[Ring, Connection]
"""To whom a run says what happens in it."""


class Run(NamedTuple):
    """A request of the engine for a run."""

    run: int
    order: List[int]
    twice: bool
    isolation: List[str]
    scratch: str
    is_ahead: bool = False
    """Whether it is to wait until another one has ended."""
    brief: Sequence[int] = ()
    """Tests whose failures were shown before, and need no traceback."""
    watch: Optional[List[str]] = None
    """The kinds of state whose changes are told; None for none."""
    restore: Optional[Dict[str, Any]] = None
    """What is put back between two tests."""
    perturb: Optional[Dict[str, Any]] = None
    """Which circumstances are perturbed, and the seed for it; None for none."""
    trace: Any = False
    count: Any = False
    """Whether a traced run tells how often functions are called, too."""
    """Whether the functions that each test calls are told (or by which means, for our tests)."""

    @classmethod
    def read(cls, body: Dict[str, Any]) -> "Run":
        """Reads a message; keys with a default may be absent."""
        return cls(**{key: body[key] for key in cls._fields if key in body or cls._needs(key)})

    @classmethod
    def _needs(cls, key: str) -> bool:
        return key not in cls._field_defaults

    @property
    def is_watched(self) -> bool:
        """Whether anything must be looked at between tests."""
        return self.watch is not None or self.restore is not None

    @property
    def stretch(self) -> int:
        """After how many attempts state is put back, as far as possible; 0 for never."""
        is_again = self.restore is not None and self.restore.get("again", False)
        return self.restore["before"] if is_again else 0  # type: ignore[index]


class Ended(NamedTuple):
    """How one attempt ended, in the words of the protocol."""

    outcome: str
    phase: str
    details: Dict[str, str]
    stops: bool
    """Whether the session ends here, as pytest's does after ``pytest.exit``."""


PASSED = Ended("passed", "call", {}, False)


class Suite:
    """What each runner must provide; ``with_pytest`` and ``with_unittest`` do."""

    tests: List[Dict[str, str]]
    errors: List[Dict[str, str]]
    rootdir: str
    runner: str
    plugins: List[str]

    def begin(self, order: Sequence[int], brief: Sequence[int], scratch: str) -> None:
        """Called in the child, before the first test."""
        raise NotImplementedError

    def tell_fixtures(self, note: Callable[[Optional[str]], None]) -> None:
        """Makes ``note(None)`` be called before, and ``note(name)`` after, each set-up of a fixture
        that outlives a test."""
        raise NotImplementedError

    def tell_calls(self, trace: Any) -> None:
        """Makes ``trace.arm(function)`` be called before each test function, and ``trace.disarm()``
        when it has returned."""
        raise NotImplementedError

    def attempt(self, test: int, following: Optional[int]) -> Ended:
        """Runs a test, and tears down what the following one (perhaps the same) does not need."""
        raise NotImplementedError

    def can_repeat(self, test: int) -> bool:
        """Whether a test can be run a second time in one process as if it were the first."""
        return True

    def finish(self) -> None:
        """Tears down what is left if the order was cut short."""
        raise NotImplementedError

    def leave(self) -> None:
        """Called in the server, when the engine has no more requests."""
        raise NotImplementedError


class Setting(NamedTuple):
    """Everything that a child takes from its server."""

    suite: Suite
    connect: Connect
    where: isolate.Ground
    found: separate.Survey
    pid_refused: Callable[[], Optional[str]]
    writes_bytecode: bool
    bring: Callable[[str], Any]
    """Loads one more of our modules."""


def get_ready(run: Run, setting: Setting) -> None:
    """Does what can be done before a run is forked. Memory that a fresh process touches is copied
    for it, and again for the next one; the process that forks them has copied it already."""
    setting.suite.begin(run.order, run.brief, run.scratch)


def settle(setting: Setting, isolated: isolate.Isolated, ring: Ring) -> None:
    """Gives a forked process its own copies, as far as that is the same for all runs."""
    ring.adopt()
    separate.own_nameless_files(setting.found)
    _be_as_the_user_is(isolated, setting)
    separate.own_random(setting.found)
    gc.unfreeze()


def live(
    run: Run, setting: Setting, isolated: isolate.Isolated, ring: Ring, errors: int
) -> NoReturn:
    """The whole life of a forked run that was prepared; ``errors`` is its file for output that
    nobody captures."""
    try:
        separate.own_errors(setting.found, errors)
        if not ring.is_ours():
            settle(setting, isolated, ring)
        separate.own_named_files(setting.found)
        separate.own_temporary_folder(run.scratch)
        _keep_uppers(run, isolated)
        _attempts(run, setting, isolated, ring)
        if not linux.has_company():
            # Otherwise other processes may go on until this one has ended.
            ring.leave()
        _exit(0)
    except BaseException:
        _complain()
    finally:
        _exit(BROKEN)


def _keep_uppers(run: Run, isolated: isolate.Isolated) -> None:
    """Keeps the upper layers only if the run looks for written files."""
    for upper in isolated.uppers if not run.is_watched else ():
        os.close(upper)


def live_in_place(run: Run, setting: Setting) -> NoReturn:
    """The same without forking, where that is unsafe; the server ends with the run."""
    try:
        connection = setting.connect({"role": "run", "run": run.run, "pid": os.getpid()})
        wanted, refused = possible(run.isolation, setting, False)
        separate.own_temporary_folder(run.scratch)
        get_ready(run, setting)
        isolated = isolate.isolate(wanted, setting.where, run.scratch)
        _keep_uppers(run, isolated)
        _be_as_the_user_is(isolated, setting)
        refused += isolated.refused
        connection.send("isolated", applied=isolated.applied, refused=refused)
        _attempts(run, setting, isolated, connection)
        _exit(0)
    except Gone:
        _exit(0)
    except BaseException:
        _complain()
    finally:
        _exit(BROKEN)


def _complain() -> None:
    os.write(2, traceback.format_exc().encode("utf-8", "backslashreplace"))


def _be_as_the_user_is(isolated: isolate.Isolated, setting: Setting) -> None:
    """Drops the rights that isolation granted, and restores settings of the user that it makes
    harmless."""
    if isolated.as_user and os.getuid() != 0:
        linux.drop_capabilities()
    if "tree" in isolated.applied:
        sys.dont_write_bytecode = not setting.writes_bytecode


def possible(levels: Sequence[str], setting: Setting, forked: bool) -> Any:
    """The levels worth trying, and the refusals that are known beforehand."""
    why = None
    if "pid" in levels:
        why = setting.pid_refused() if forked else "the run is not forked"
    if why is None:
        return list(levels), []
    return [level for level in levels if level != "pid"], [{"level": "pid", "why": why}]


def _watch(run: Run, setting: Setting, isolated: isolate.Isolated) -> Any:
    """The watch that looks at state between tests; None if the run wants none."""
    if not run.is_watched:
        return None
    watching = setting.bring("watch")
    wanted = watching.wish(run.restore)
    where = setting.where
    folders = [folder for _, folder in isolate.covered_folders(isolated.applied, where)]
    place = watching.Place(
        tree=where.tree,
        home=where.home,
        scratch=run.scratch,
        uppers=list(zip(isolated.uppers, folders)),
        items=None if wanted is None or wanted.all_but else wanted.items,
    )
    return watching.Watch(run.watch, wanted, place)


def _perturb(run: Run, setting: Setting, speaker: Speaker) -> None:
    """Perturbs circumstances, and reports which."""
    if run.perturb is None:
        return
    perturbing = setting.bring("perturb")
    company = setting.bring("perturb.company")
    found = setting.found
    can_fork = threading.active_count() == 1
    around = perturbing.Around(
        tree=setting.where.tree,
        seeds_random=found.seeded is not None,
        seeds_numpy=not found.unseeded_numpy,
        neighbour=company.neighbour(run, setting) if can_fork else None,
    )
    speaker.send("perturbed", **perturbing.apply(run.perturb, around))


def _trace(run: Run, setting: Setting) -> Any:
    """The trace that notes the functions called by tests; None if the run wants none."""
    if not run.trace:
        return None
    trace = setting.bring("trace").Trace("counted" if run.count else run.trace)
    setting.suite.tell_calls(trace)
    return trace


NOT_REPEATED = Ended("skipped", "call", {"message": "it cannot be repeated faithfully"}, False)


def _plan(run: Run, can_repeat: Callable[[int], bool]) -> Iterator[Any]:
    """Position, attempt, test and the one that follows, for all attempts of a run."""
    stretch = run.stretch or len(run.order)
    for position, test in enumerate(run.order):
        is_last = (position + 1) % stretch == 0 or position + 1 == len(run.order)
        after = None if is_last else run.order[position + 1]
        followers = [test if can_repeat(test) else after, after] if run.twice else [after]
        for attempt, following in enumerate(followers):
            yield position, attempt, test, following


def _attempts(run: Run, setting: Setting, isolated: isolate.Isolated, speaker: Speaker) -> None:
    suite = setting.suite
    _perturb(run, setting, speaker)
    watch = _watch(run, setting, isolated)
    if watch is not None and watch.tells_fixtures:
        suite.tell_fixtures(watch.note)
    trace = _trace(run, setting)
    total = 0.0
    for position, attempt, test, following in _plan(run, suite.can_repeat):
        if watch is not None and attempt == 0 and watch.is_due(position):
            restored = watch.restore()
            if not run.stretch:
                speaker.send("restored", **restored)
        speaker.forward(started(position, attempt))
        begun = perf_counter()
        if attempt == 0 or suite.can_repeat(test):
            ended = suite.attempt(test, following)
        else:
            ended = NOT_REPEATED
        seconds = perf_counter() - begun
        total += seconds
        traced = b""
        if trace is not None:
            traced = trace.take(position, attempt) + trace.unseen(position, attempt)
        changes = {} if watch is None else watch.look(total)
        speaker.forward(traced + _ended(position, attempt, seconds, ended, changes))
        if ended.stops:
            suite.finish()
            break
    speaker.send("done", **(watch.last_words() if watch is not None else {}))


def _ended(
    position: int, attempt: int, seconds: float, ended: Ended, changes: Dict[str, Any]
) -> bytes:
    if ended is PASSED and not changes:
        return passed(position, attempt, seconds)
    body = dict(position=position, attempt=attempt, outcome=ended.outcome, phase=ended.phase)
    return frame("end", dict(body, seconds=seconds, **ended.details, **changes))
