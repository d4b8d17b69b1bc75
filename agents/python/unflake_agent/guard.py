"""Where do runs happen, and can the next one happen in the same place?

A *cell* is a place set apart once: its own mounts, processes and network, as far as the system
allows. A guard in it forks a process for each run, passes on its messages (``ring``) and tells the
server how it ended. Setting a cell apart costs more than a run of two tests, so a cell is reused if
the run left nothing behind in it: no file written under an overlay, and no process, since the guard
ends those, even if they have their own session. What a run does to its memory dies with it, and
each run has its own temporary folder.

With the level ``pid`` a cell has two processes of ours:

====== ============================= ===========================================================
waiter in the server's PID namespace leads the group that the engine signals; when it goes, all go
guard  process 1 of the new one      forks the runs and reaps all orphans
====== ============================= ===========================================================

Then a test cannot kill the guard: nobody can kill a process 1 from inside. Without ``pid`` waiter
and guard are one process, and a test that kills its parent ends its cell.
"""

import os
import select
import signal
import traceback

# The functions in ``signal`` look everything up in its enumerations, in every run.
from _signal import SIG_DFL
from _signal import signal as _set_handler
from typing import Any, Dict, List, NamedTuple, NoReturn, Set, Tuple

from . import isolate, linux
from .child import BROKEN, Run, Setting, get_ready, live, possible, settle
from .isolate import Isolated
from .passing import Wishes, pair
from .ring import Ring
from .spare import Spare
from .wire import Gone, Stream, content, frame, over

_TICK_MILLISECONDS = 20
"""How often what a run has said is passed on: how late a test that hangs is heard of."""


HAS_ROOM = "has_room"
"""In a wish: whether there is a processor that has no run."""


class Cell(NamedTuple):
    """What a guard knows about its cell."""

    setting: Setting
    wishes: Wishes
    ring: Ring
    isolated: Isolated
    welcome: bytes
    """What every run says first: how it is isolated."""
    has_own_processes: bool
    handlers: Dict[int, Any]
    """The host's signal handlers, which the runs get back."""
    spare: Spare
    brought: Set[str]
    """Those of our modules that were loaded for runs."""
    bell: int
    """Readable when a run says that it is over; negative if only its end counts."""
    leaving: Set[int]
    """Those that have said so and were not seen to end yet."""


def stand(wishes: Wishes, setting: Setting, ring: Ring, place: Tuple[List[str], str]) -> NoReturn:
    """The whole life of a waiter and a guard; ``place`` is the levels and a folder for them."""
    server = os.getppid()
    try:
        os.setpgid(0, 0)
        die_with(server)
        _guard(wishes, setting, ring, place)
    except Gone:
        os._exit(0)
    except BaseException:
        os.write(2, traceback.format_exc().encode("utf-8", "backslashreplace"))
    finally:
        os._exit(BROKEN)


def die_with(parent: int) -> None:
    """Makes the kernel end this process with its parent, which may be gone already."""
    try:
        linux.die_with_parent(signal.SIGKILL)
    except OSError:
        return
    if os.getppid() != parent:
        os._exit(0)


def _guard(wishes: Wishes, setting: Setting, ring: Ring, place: Tuple[List[str], str]) -> None:
    levels, scratch = place
    handlers = _deaf()
    os.mkdir(scratch, 0o700)
    wanted, refused = possible(levels, setting, True)
    isolated = isolate.isolate(wanted, setting.where, scratch)
    isolated.refused.extend(refused)
    if isolated.as_user:
        # The kernel drops this when a user namespace changes what the process may do.
        linux.die_with_parent(signal.SIGKILL)
    has_own_processes = "pid" in isolated.applied
    if has_own_processes:
        _descend(wishes)
    else:
        _adopt_orphans()
    cell = Cell(
        setting=setting,
        wishes=wishes,
        ring=ring,
        isolated=isolated,
        welcome=frame("isolated", {"applied": isolated.applied, "refused": isolated.refused}),
        has_own_processes=has_own_processes,
        handlers=handlers,
        spare=Spare(),
        brought=set(),
        # Without them, the end of its process group counts.
        bell=ring.listen() if has_own_processes else -1,
        leaving=set(),
    )
    is_used_again = False
    while True:
        wish, passed = wishes.next()
        _one(cell, wish, passed, is_used_again)
        is_used_again = True


def _adopt_orphans() -> None:
    try:
        linux.adopt_orphans()
    except OSError:
        # Orphans of a run are adopted by a process above us.
        pass


def _descend(wishes: Wishes) -> None:
    """Returns only in the guard; the waiter stays in here."""
    guard = os.fork()
    if guard:
        wishes.close()
        os.waitpid(guard, 0)
        os._exit(BROKEN)
    die_with(0)
    isolate.own_proc()


def _one(cell: Cell, wish: bytes, passed: List[int], is_used_again: bool) -> None:
    """One run, from its first message to the end of its last process."""
    body = content(wish)["run"]
    engine = Stream(passed[0])
    cell.ring.clear()
    _bring(cell, body)
    pid = cell.spare.give(wish, passed[1]) or _begin(cell, engine, body, passed[1])
    os.close(passed[1])
    # This comes first all the same, because we pass on what the run says.
    engine.forward(cell.welcome)
    if not cell.has_own_processes:
        cell.wishes.send("runner", pid=pid)
    if is_used_again and body[HAS_ROOM]:
        _put_up_spare(cell, engine)
    status = _attend(pid, cell, engine)
    if cell.has_own_processes:
        _end_the_rest(cell)
    else:
        linux.end_descendants([cell.spare.pid], pid)
    _pass_on(cell.ring, engine)
    engine.close()
    is_clean = not any(os.listdir(fd) for fd in cell.isolated.uppers)
    cell.wishes.forward(over(status, is_clean))


def _bring(cell: Cell, body: Dict[str, Any]) -> None:
    """Loads what the run needs once for all runs of this cell, before they are forked."""
    for name in ("perturb", "trace"):
        if body.get(name) and name not in cell.brought:
            module = cell.setting.bring(name)
            if name == "trace":
                module.prepare()
            cell.brought.add(name)
            # It was forked without these modules.
            cell.spare.dismiss()


def _begin(cell: Cell, engine: Stream, body: Dict[str, Any], errors: int) -> int:
    """Forks a process for a run; returns its id."""
    run = Run.read(body)
    get_ready(run, cell.setting)
    pid = _fork(cell, engine)
    if pid == 0:
        live(run, cell.setting, cell.isolated, cell.ring, errors)
    return pid


def _put_up_spare(cell: Cell, engine: Stream) -> None:
    """Forks a process that waits for the next run of this cell while the current one goes on."""
    ours, theirs = pair()
    pid = _fork(cell, engine)
    if pid == 0:
        ours.close()
        settle(cell.setting, cell.isolated, cell.ring)
        wish, (errors,) = Wishes(theirs).next()
        theirs.close()
        run = Run.read(content(wish)["run"])
        get_ready(run, cell.setting)
        # As deep as in `_begin`, so that a recursion always ends at the same depth.
        live(run, cell.setting, cell.isolated, cell.ring, errors)
    theirs.close()
    cell.spare.put_up(pid, ours)


def _fork(cell: Cell, engine: Stream) -> int:
    """Like ``os.fork``, but the new process keeps none of the guard's descriptors."""
    guard = os.getpid()
    pid = os.fork()
    if pid == 0:
        for fd in (engine.fileno(), cell.wishes.fileno(), cell.bell):
            if fd >= 0:
                os.close(fd)
        cell.spare.dismiss()
        if not cell.has_own_processes:
            # With a process 1, all others end with it.
            die_with(guard)
        for number, handler in cell.handlers.items():
            _set_handler(number, handler)
        os.setsid()
    return pid


def _attend(pid: int, cell: Cell, engine: Stream) -> int:
    """Passes on what the run says, and reaps its orphans, until it is over; returns how it
    ended."""
    poll = select.poll()
    if cell.bell >= 0:
        poll.register(cell.bell, select.POLLIN)
    try:
        watch = linux.high(linux.pidfd_open(pid))
        poll.register(watch, select.POLLIN)
    except OSError:
        watch = -1
    try:
        while True:
            ended = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            if ended is None:
                ready = [fd for fd, _ in poll.poll(_TICK_MILLISECONDS)]
                _pass_on(cell.ring, engine)
                if cell.bell in ready and pid in cell.ring.left(cell.bell):
                    cell.leaving.add(pid)
                    return 0
                continue
            if ended.si_pid == pid:
                return _reap(pid)
            os.waitpid(ended.si_pid, 0)
            cell.leaving.discard(ended.si_pid)
    finally:
        if watch >= 0:
            os.close(watch)


def _reap(pid: int) -> int:
    """Ends the group while its number cannot yet belong to another one."""
    try:
        os.killpg(pid, signal.SIGKILL)
    except OSError:
        pass
    return os.waitpid(pid, 0)[1]


def _pass_on(ring: Ring, engine: Stream) -> None:
    said = ring.take()
    if said:
        engine.forward(said)


def _end_the_rest(cell: Cell) -> None:
    """Our own PID namespace contains only our processes and those that the run left."""
    if cell.leaving.union([cell.spare.pid]).issuperset(linux.children()):
        return
    cell.spare.dismiss()
    try:
        os.kill(-1, signal.SIGKILL)
        while True:
            os.waitpid(-1, 0)
    except (ProcessLookupError, ChildProcessError):
        cell.leaving.clear()


def _deaf() -> Dict[int, Any]:
    """The host's signal handlers are not for these processes; the kernel's default ends them."""
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGALRM, signal.SIGCHLD)
    handlers = {int(number): _set_handler(number, SIG_DFL) for number in numbers}
    # None is a handler that was not set from Python, and cannot be restored from here.
    return {number: handler for number, handler in handlers.items() if handler is not None}
