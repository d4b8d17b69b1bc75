"""Which children live, and who has gone?

One thread, one ``poll``: on the server connection, for wishes of the engine, and on a descriptor
for each child, for its end. No signal handler and no thread, because the children inherit the first
and could not be forked safely beside the second.

A child that has ended may have left processes of its group behind; they are killed before it is
reaped, while its number, the group's too, cannot yet belong to somebody else.
"""

import gc
import os
import select
import signal
from typing import Any, Dict, List, Optional

from . import linux
from .child import ERRORS, Run, Setting, live, live_in_place
from .wire import TEXT_LIMIT, Connection, Gone, high, text

_POLL_MILLISECONDS = 5
"""How often children are looked at where the kernel has no descriptor for a process."""


class _Child:
    """A run that was forked and has not been reaped."""

    def __init__(self, run: Run, pid: int) -> None:
        self.run = run
        self.pid = pid
        try:
            self.watch = high(linux.pidfd_open(pid))
        except OSError:
            self.watch = -1

    def has_ended(self) -> bool:
        flags = os.WEXITED | os.WNOHANG | os.WNOWAIT
        return os.waitid(os.P_PID, self.pid, flags) is not None

    def kill(self) -> None:
        try:
            os.killpg(self.pid, signal.SIGKILL)
        except OSError:
            pass

    def reap(self) -> int:
        self.kill()
        if self.watch >= 0:
            os.close(self.watch)
        return os.waitpid(self.pid, 0)[1]


class Server:
    """Serves runs until the engine stops it or is gone."""

    def __init__(self, connection: Connection, setting: Setting, in_place: bool) -> None:
        self._connection = connection
        self._setting = setting
        self._in_place = in_place
        self._children: Dict[int, _Child] = {}

    def serve(self) -> bool:
        """Returns when no child is alive any more; whether the engine asked for it."""
        # Everything is old from here on: a child's collector then looks at the child's own objects
        # only, and does not touch (and so copy) every page of the suite.
        gc.freeze()
        try:
            while self._step():
                pass
            return True
        except Gone:
            return False
        finally:
            self._kill_all()

    def _step(self) -> bool:
        try:
            ready = self._wait()
            if self._connection.fileno() in ready:
                for name, body in self._connection.receive():
                    if name == "stop":
                        return False
                    if name == "run":
                        self._start(body)
            self._collect_ended()
        except KeyboardInterrupt:
            # Ctrl-C reaches the whole terminal; what is to happen now the engine will say.
            pass
        return True

    def _wait(self) -> List[int]:
        poll = select.poll()
        poll.register(self._connection.fileno(), select.POLLIN)
        patience: Optional[int] = None
        for child in self._children.values():
            if child.watch >= 0:
                poll.register(child.watch, select.POLLIN)
            else:
                patience = _POLL_MILLISECONDS
        return [fd for fd, _ in poll.poll(patience)]

    def _start(self, body: Dict[str, Any]) -> None:
        run = Run(*(body[key] for key in Run._fields))
        if self._in_place:
            self._connection.send("forked", run=run.run, pid=os.getpid())
            live_in_place(run, self._setting)
        if "pid" in run.isolation:
            # Found out once, here: children inherit the answer.
            self._setting.pid_refused()
        server = os.getpid()
        pid = os.fork()
        if pid == 0:
            live(run, self._setting, server)
        try:
            os.setpgid(pid, pid)
        except OSError:
            pass
        self._children[pid] = _Child(run, pid)
        self._connection.send("forked", run=run.run, pid=pid)

    def _collect_ended(self) -> None:
        for child in [c for c in self._children.values() if c.has_ended()]:
            del self._children[child.pid]
            status = child.reap()
            self._connection.send("exited", run=child.run.run, **_how(status, child.run.scratch))

    def _kill_all(self) -> None:
        for child in self._children.values():
            child.kill()
        for child in self._children.values():
            child.reap()
        self._children.clear()


def _how(status: int, scratch: str) -> Dict[str, Any]:
    """How a child ended, with what it said last if that was not by itself."""
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
