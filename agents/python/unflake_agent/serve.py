"""Which cells exist, and which processes have ended?

One thread, one ``poll``: on the server connection, for requests of the engine, and on two
descriptors for each cell, for messages of its guard and for its end. There is no signal handler and
no thread, because runs inherit the former and could not be forked safely with the latter.

A run goes to a free cell that was set apart in the same way; else a new cell is made. A cell in
which a run left something behind is not reused. A run that is requested ahead waits for the end of
another one.
"""

import gc
import os
import select
import signal
from collections import deque
from typing import Any, Deque, Dict, List, NamedTuple, Optional

from . import linux
from .child import Run, Setting, live_in_place
from .guard import HAS_ROOM, stand
from .passing import Wishes, pair, send_with
from .ring import Ring
from .wire import TEXT_LIMIT, Connection, Gone, Stream, frame, text

_POLL_MILLISECONDS = 5
"""How often cells are looked at where the kernel has no descriptor for a process."""

ERRORS = "errors.txt"
"""In the scratch folder: what a run wrote to its error descriptor past all capture."""


class _Cell(Stream):
    """A cell as the server sees it."""

    def __init__(self, pid: int, channel: Any, ring: Ring, levels: List[str]) -> None:
        super().__init__(channel.fileno())
        self.pid = pid
        self.levels = levels
        self.run: Optional[Run] = None
        self._channel = channel
        self._ring = ring
        self._connection: Optional[Connection] = None
        self._runner: Optional[int] = None
        try:
            self.watch = linux.high(linux.pidfd_open(pid))
        except OSError:
            self.watch = -1

    def start(self, prepared: "_Prepared", has_room: bool) -> None:
        run, connection, errors = prepared
        self.run, self._connection, self._runner = run, connection, None
        try:
            wish = frame("run", dict(run._asdict(), **{HAS_ROOM: has_room}))
            send_with(self._channel, wish, [connection.fileno(), errors])
        except OSError:
            # The guard is gone, which will be noticed.
            pass

    def said(self) -> Optional[Dict[str, Any]]:
        """How its run ended, if the guard has just reported that."""
        for name, body in self.receive():
            if name == "ended":
                return body
            self._runner = body["pid"]
        return None

    def is_over(self) -> Optional[Run]:
        """The run that was under way. Messages that its guard did not live to pass on are passed on
        here."""
        run, connection = self.run, self._connection
        self.run = self._connection = None
        if connection is not None:
            try:
                connection.forward(self._ring.take())
            except Gone:
                # The engine has given the run up.
                pass
            connection.close()
        return run

    def has_ended(self) -> bool:
        flags = os.WEXITED | os.WNOHANG | os.WNOWAIT
        return os.waitid(os.P_PID, self.pid, flags) is not None

    def kill(self) -> None:
        for group in (self.pid, self._runner):
            try:
                if group is not None:
                    os.killpg(group, signal.SIGKILL)
            except OSError:
                pass

    def let_go(self) -> None:
        """Closes our descriptors."""
        self._channel.close()
        if self.watch >= 0:
            os.close(self.watch)
        if self._connection is not None:
            self._connection.close()

    def reap(self) -> int:
        """Ends it for good; returns how its leader ended."""
        self.kill()
        self.let_go()
        return os.waitpid(self.pid, 0)[1]


class _Prepared(NamedTuple):
    """A run that is ready to begin."""

    run: Run
    connection: Connection
    errors: int


class Server:
    """Serves runs until the engine stops it or is gone."""

    def __init__(
        self, connection: Connection, setting: Setting, in_place: bool, folder: str
    ) -> None:
        self._connection = connection
        self._setting = setting
        self._in_place = in_place
        self._folder = folder
        self._cells: List[_Cell] = []
        self._ahead: Deque[_Prepared] = deque()
        self._n_made = 0
        self._n_processors = _n_processors()
        self._adopts_orphans = False

    def serve(self) -> bool:
        """Returns when no cell is left; says whether the engine asked for it."""
        if not self._in_place:
            # Most campaigns come to watched runs. The engine is still reading what was collected,
            # and cells that are made later inherit the module.
            self._setting.bring("watch")
        # Everything is old from here on: a run's collector then only looks at the run's own
        # objects, and does not touch (and so copy) every page of the suite.
        gc.freeze()
        if not self._in_place:
            self._adopt_orphans()
        try:
            while self._step():
                pass
            return True
        except Gone:
            return False
        finally:
            for cell in self._cells:
                cell.kill()
            for cell in self._cells:
                cell.reap()
            del self._cells[:]
            self._end_orphans()

    def _adopt_orphans(self) -> None:
        """Processes of a cell that was ended while a run was under way come to us."""
        try:
            if not linux.children():
                linux.adopt_orphans()
                self._adopts_orphans = True
        except OSError:
            pass

    def _end_orphans_of(self, cell: _Cell) -> None:
        # With a PID namespace, everything in it ends.
        if "pid" not in cell.levels or self._setting.pid_refused() is not None:
            self._end_orphans()

    def _end_orphans(self) -> None:
        # If the project has started its own processes, for all tests, we may have inherited orphans
        # of theirs. Then processes left by tests continue until the engine ends everything.
        if self._adopts_orphans:
            linux.end_descendants([cell.pid for cell in self._cells])

    def _step(self) -> bool:
        try:
            ready = self._wait()
            for cell in [c for c in self._cells if c.fileno() in ready]:
                self._listen(cell)
            for cell in [c for c in self._cells if c.has_ended()]:
                self._bury(cell)
            if self._connection.fileno() in ready:
                for name, body in self._connection.receive():
                    if name == "stop":
                        return False
                    if name == "run":
                        self._start(Run.read(body))
        except KeyboardInterrupt:
            # Ctrl-C reaches the whole terminal; the engine will say what happens next.
            pass
        return True

    def _wait(self) -> List[int]:
        poll = select.poll()
        poll.register(self._connection.fileno(), select.POLLIN)
        patience: Optional[int] = None
        for cell in self._cells:
            poll.register(cell.fileno(), select.POLLIN)
            if cell.watch >= 0:
                poll.register(cell.watch, select.POLLIN)
            else:
                patience = _POLL_MILLISECONDS
        return [fd for fd, _ in poll.poll(patience)]

    def _start(self, run: Run) -> None:
        if run.perturb is not None:
            # Loaded once, here: cells inherit it.
            self._setting.bring("perturb")
        if run.trace:
            self._setting.bring("trace").prepare()
        if self._in_place:
            self._connection.send("forked", run=run.run, pid=os.getpid())
            live_in_place(run, self._setting)
        if run.is_ahead and self._cells and all(cell.run for cell in self._cells):
            # The cell is not known yet, and is reported when it is.
            self._ahead.append(self._prepare(run, 0))
        else:
            cell = self._free_cell(run.isolation)
            self._begin(cell, self._prepare(run, cell.pid))

    def _prepare(self, run: Run, pid: int) -> _Prepared:
        # Opened here and passed on: in a cell, paths may have another meaning.
        connection = self._setting.connect({"role": "run", "run": run.run, "pid": pid})
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
        errors = linux.high(os.open(os.path.join(run.scratch, ERRORS), flags, 0o600))
        return _Prepared(run, connection, errors)

    def _begin(self, cell: _Cell, prepared: _Prepared) -> None:
        n_others = sum(1 for each in self._cells if each.run is not None)
        cell.start(prepared, n_others + 1 < self._n_processors)
        os.close(prepared.errors)
        self._connection.send("forked", run=prepared.run.run, pid=cell.pid)

    def _begin_next(self) -> None:
        """A cell is free, or gone."""
        if self._ahead:
            # If a new cell is needed, it is made while the run is still registered as waiting.
            cell = self._free_cell(self._ahead[0].run.isolation)
            self._begin(cell, self._ahead.popleft())

    def _free_cell(self, levels: List[str]) -> _Cell:
        for cell in [c for c in self._cells if c.run is None]:
            if cell.levels == levels and not cell.has_ended():
                return cell
            self._cells.remove(cell)
            cell.reap()
        cell = self._make(levels)
        self._cells.append(cell)
        return cell

    def _make(self, levels: List[str]) -> _Cell:
        if "pid" in levels:
            # Determined once, here: cells inherit the answer.
            self._setting.pid_refused()
        self._n_made += 1
        scratch = os.path.join(self._folder, f"cell-{os.getpid()}-{self._n_made}")
        ours, theirs = pair()
        ring = Ring()
        pid = os.fork()
        if pid == 0:
            ours.close()
            self._let_go()
            stand(Wishes(theirs), self._setting, ring, (levels, scratch))
        theirs.close()
        try:
            os.setpgid(pid, pid)
        except OSError:
            pass
        return _Cell(pid, ours, ring, levels)

    def _let_go(self) -> None:
        """In a new process: closes everything of the server's."""
        for cell in self._cells:
            cell.let_go()
        for prepared in self._ahead:
            prepared.connection.close()
            os.close(prepared.errors)
        self._connection.close()

    def _listen(self, cell: _Cell) -> None:
        try:
            ended = cell.said()
        except (Gone, OSError):
            # It has ended, or is about to; its leader will report how.
            cell.kill()
            os.waitid(os.P_PID, cell.pid, os.WEXITED | os.WNOWAIT)
            return
        if ended is None:
            return
        run = cell.is_over()
        if not ended["clean"]:
            self._cells.remove(cell)
            cell.reap()
            self._end_orphans_of(cell)
        self._begin_next()
        self._tell(run, ended["status"])

    def _bury(self, cell: _Cell) -> None:
        self._cells.remove(cell)
        run = cell.is_over()
        status = cell.reap()
        self._end_orphans_of(cell)
        self._tell(run, status)
        self._begin_next()

    def _tell(self, run: Optional[Run], status: int) -> None:
        if run is None:
            return
        self._connection.send("exited", run=run.run, **_how(status, run.scratch))


def _n_processors() -> int:
    """The number of processors that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except (AttributeError, OSError):
        return os.cpu_count() or 1


def _how(status: int, scratch: str) -> Dict[str, Any]:
    """How a child ended, with its last output if it did not end by itself."""
    if os.WIFSIGNALED(status):
        said: Dict[str, Any] = {"signal": os.WTERMSIG(status)}
    else:
        said = {"code": os.WEXITSTATUS(status)}
        if said["code"] == 0:
            return said
    last_words = _tail(os.path.join(scratch, ERRORS))
    return dict(said, stderr=text(last_words)) if last_words else said


def _tail(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - TEXT_LIMIT))
            return file.read()
    except OSError:
        return b""
