"""Where do runs happen, and can the next one happen in the same place?

A *cell* is a place set apart once: its own mounts, processes and network, as far as the system
allows. A guard stands in it, forks a process for each run, passes on what it says (``ring``) and
tells the server how it ended. Setting a cell apart costs more than a run of two tests, so a cell is
used again, if the run left nothing behind in it: no file written under an overlay, and no process,
for the guard ends those. What a run does to its memory dies with it, and temporary folders are
every run's own.

With the level ``pid`` a cell has two processes of ours:

====== ============================= ===========================================================
waiter in the server's PID namespace leads the group that the engine signals; when it goes, all go
guard  process 1 of the new one      forks the runs and reaps whoever is left over
====== ============================= ===========================================================

A test cannot kill the guard then: nobody can kill a process 1 from inside. Without ``pid`` waiter
and guard are one process, and a test that kills its parent ends its cell.
"""

import array
import os
import select
import signal
import traceback

# Those of ``signal`` look everything up in its enumerations, in every run.
from _signal import SIG_DFL
from _signal import signal as _set_handler
from _socket import AF_UNIX, SCM_RIGHTS, SOCK_STREAM, SOL_SOCKET
from _socket import socket as _Socket
from _socket import socketpair as _socketpair
from typing import Any, Dict, List, NamedTuple, NoReturn, Sequence, Tuple

from . import isolate, linux
from .child import BROKEN, Run, Setting, get_ready, live, possible
from .isolate import Isolated
from .ring import Ring
from .wire import Gone, Stream, high

_TICK_MILLISECONDS = 20
"""How often what a run has said is passed on: how late a test that hangs is heard of."""

_N_PASSED = 2
"""Descriptors that come with each run: its connection to the engine, and the file for errors."""


class Wishes(Stream):
    """The guard's end of its talk with the server: wishes come with descriptors."""

    def __init__(self, sock: Any) -> None:
        super().__init__(sock.fileno())
        self._sock = sock
        self._passed: List[int] = []

    def next(self) -> Tuple[Dict[str, Any], List[int]]:
        """The next run, with the descriptors that belong to it."""
        while True:
            size = _N_PASSED * array.array("i").itemsize
            data, extra, _, _ = self._sock.recvmsg(1 << 16, 64 + size)
            for level, kind, packed in extra:
                if (level, kind) == (SOL_SOCKET, SCM_RIGHTS):
                    self._passed += array.array("i", packed).tolist()
            for _, body in self._take(data):
                passed, self._passed = self._passed, []
                return body, [high(fd) for fd in passed]


def pair() -> Tuple[Any, Any]:
    """A channel between server and guard."""
    ours, theirs = _socketpair(AF_UNIX, SOCK_STREAM)
    return _raised(ours), _raised(theirs)


def _raised(sock: Any) -> Any:
    return _Socket(AF_UNIX, SOCK_STREAM, 0, high(sock.detach()))


def send_with(sock: Any, data: bytes, descriptors: Sequence[int]) -> None:
    """Sends a wish and the descriptors that belong to it."""
    packed = array.array("i", descriptors)
    sent = sock.sendmsg([data], [(SOL_SOCKET, SCM_RIGHTS, packed)])
    sock.sendall(data[sent:])


class Cell(NamedTuple):
    """What a guard knows about its cell."""

    setting: Setting
    wishes: Wishes
    ring: Ring
    isolated: Isolated
    has_own_processes: bool
    handlers: Dict[int, Any]
    """The host's signal handlers, which the runs get back."""


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
    """Has the kernel end this process with its parent, which may be gone already."""
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
        # The kernel forgets it when a user namespace changes what the process may do.
        linux.die_with_parent(signal.SIGKILL)
    has_own_processes = "pid" in isolated.applied
    if has_own_processes:
        _descend(wishes)
    cell = Cell(setting, wishes, ring, isolated, has_own_processes, handlers)
    while True:
        body, passed = wishes.next()
        _one(cell, Run.read(body), passed)


def _descend(wishes: Wishes) -> None:
    """Returns in the guard only; the waiter stays behind in here."""
    guard = os.fork()
    if guard:
        wishes.close()
        os.waitpid(guard, 0)
        os._exit(BROKEN)
    die_with(0)
    isolate.own_proc()


def _one(cell: Cell, run: Run, passed: List[int]) -> None:
    """One run, from its first word to the last of its processes."""
    engine = Stream(passed[0])
    applied, refused = cell.isolated.applied, cell.isolated.refused
    engine.send("isolated", applied=applied, refused=refused)
    cell.ring.clear()
    if run.is_watched:
        # Once for all runs of this cell.
        cell.setting.bring("watch")
    if run.perturb is not None:
        cell.setting.bring("perturb")
    if run.trace:
        cell.setting.bring("trace").prepare()
    get_ready(run, cell.setting)
    guard = os.getpid()
    pid = os.fork()
    if pid == 0:
        uppers = [] if run.is_watched else cell.isolated.uppers
        for fd in (engine.fileno(), cell.wishes.fileno(), *uppers):
            os.close(fd)
        if not cell.has_own_processes:
            # With a process 1 all others end.
            die_with(guard)
        for number, handler in cell.handlers.items():
            _set_handler(number, handler)
        live(run, cell.setting, cell.isolated, cell.ring, passed[1])
    os.close(passed[1])
    if not cell.has_own_processes:
        cell.wishes.send("runner", pid=pid)
    status = _attend(pid, cell.ring, engine)
    if cell.has_own_processes:
        _end_the_rest()
    _pass_on(cell.ring, engine)
    engine.close()
    is_clean = not any(os.listdir(fd) for fd in cell.isolated.uppers)
    cell.wishes.send("ended", run=run.run, status=status, clean=is_clean)


def _attend(pid: int, ring: Ring, engine: Stream) -> int:
    """Passes on what the run says, and reaps whom it leaves, until it ends; how it ended."""
    poll = select.poll()
    try:
        watch = high(linux.pidfd_open(pid))
        poll.register(watch, select.POLLIN)
    except OSError:
        watch = -1
    try:
        while True:
            ended = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            if ended is None:
                poll.poll(_TICK_MILLISECONDS)
                _pass_on(ring, engine)
                continue
            if ended.si_pid == pid:
                return _reap(pid)
            os.waitpid(ended.si_pid, 0)
    finally:
        if watch >= 0:
            os.close(watch)


def _reap(pid: int) -> int:
    """Ends its group while its number, the group's too, cannot yet belong to somebody else."""
    try:
        os.killpg(pid, signal.SIGKILL)
    except OSError:
        pass
    return os.waitpid(pid, 0)[1]


def _pass_on(ring: Ring, engine: Stream) -> None:
    said = ring.take()
    if said:
        engine.forward(said)


def _end_the_rest() -> None:
    """Nobody else is in a PID namespace of our own than those whom the run left."""
    try:
        os.kill(-1, signal.SIGKILL)
        while True:
            os.waitpid(-1, 0)
    except (ProcessLookupError, ChildProcessError):
        pass


def _deaf() -> Dict[int, Any]:
    """The host's signal handlers are not for these processes; ending is left to the kernel."""
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGALRM, signal.SIGCHLD)
    handlers = {int(number): _set_handler(number, SIG_DFL) for number in numbers}
    # None is a handler that was not set from Python, and cannot be set again from here.
    return {number: handler for number, handler in handlers.items() if handler is not None}
