"""How can the project's own runner run without us, and still leave the work tree as it was?

It is started in a mount namespace in which the tree and HOME are overlays, and nothing of ours is
in its process. If the system refuses that, it runs without, unless it must see changed files:
writing these into the tree itself is out of the question. We stay as its parent: otherwise a test
that kills its parent would end the engine.

Loading pytest takes longer than its work for a few tests. So it can be started ahead, while tests
are collected and a processor is idle: pytest reads arguments from a file, and if the file is a
named pipe, it waits for them, with all its modules loaded and nothing of the project's.

And once it has reported everything and every module's exit functions have run, Python takes its
memory apart, piece by piece, which is a tenth of the total time. Nobody waits for that.
"""

from __future__ import annotations

import os
import select
from _signal import SIGINT, SIGKILL

from . import isolate, linux

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Sequence

CANNOT_START = 126
NOT_COVERED = 125
REPORTED = 124
"""For a runner whose last words we did not wait for, because its report says all."""

_AS_IT_IS = "-"
"""In place of a list of files to be seen otherwise."""
_READ = "@"
"""Before the file from which pytest takes arguments; alone, that it may take them from one."""
_NOWHERE = "-"
"""In place of the file for its report."""
_NAP_MS = 3
_LONG_NAP_MS = 15
"""Until there is a report: then there still is more to come than this."""
_HEAD = 1 << 10
"""So many bytes of a report tell how many tests are in it."""


def main(ahead: Sequence[str]) -> int:
    """Waits for the path of a file whose words, separated by zero bytes, say what to run: the root
    folder, a folder for us, a list of files to be seen changed or "-", whether arguments may come
    from a file ("@" or "-"), the file for pytest's report or "-", the changes to the environment
    (their number, and for each its name, "=" or nothing, and its value) and a command.

    ``ahead`` is a folder for us, and the beginning of a command that is started now, if any.
    """
    held = _Held(ahead[0], ahead[1:]) if ahead else None
    path = b"".join(iter(lambda: os.read(0, 4096), b""))
    if not path:
        # Nobody needs us.
        if held is not None:
            held.give_up()
        return 0
    with open(path, "rb") as file:
        words = [os.fsdecode(word) for word in file.read().split(b"\0")]
    rootdir, scratch, changed, source, report, n, *words = words
    n_env = 3 * int(n)
    for name, is_set, value in zip(words[:n_env:3], words[1:n_env:3], words[2:n_env:3]):
        if is_set:
            os.environ[name] = value
        else:
            os.environ.pop(name, None)
    command = words[n_env:]
    where = isolate.ground(rootdir)
    if held is not None:
        if source == _READ and changed == _AS_IT_IS and held.is_begun(where, command):
            return _end_like(held.go_on(command), report)
        held.give_up()
    return _end_like(_begin(where, scratch, changed, command), report)


class _Held:
    """A running command that waits for its arguments."""

    def __init__(self, scratch: str, start: Sequence[str]) -> None:
        self._start = list(start)
        self._environment = dict(os.environ)
        # Collection will show the root folder. Usually it is in the same tree.
        self._where = isolate.ground(os.getcwd())
        self._arguments = os.path.join(scratch, "arguments")
        os.mkfifo(self._arguments, 0o600)
        command = [*start, _READ + self._arguments]
        self._pid = _begin(self._where, scratch, _AS_IT_IS, command)

    def is_begun(self, where: isolate.Ground, command: Sequence[str]) -> bool:
        """Whether the wanted command is the one that was begun, as far as it goes, and that is
        still running."""
        return (
            (where.cwd, where.tree, where.home)
            == (self._where.cwd, self._where.tree, self._where.home)
            and self._environment == dict(os.environ)
            and list(command[: len(self._start)]) == self._start
            and os.waitid(os.P_PID, self._pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None
        )

    def go_on(self, command: Sequence[str]) -> int:
        """Gives it the rest of its command; returns its process. A pipe must have room for that."""
        words = os.fsencode("\n".join(command[len(self._start) :]))
        with open(self._arguments + "-again", "wb") as file:
            file.write(words)
        # Opened for both, so that it does not matter who comes first. pytest reads the file more
        # than once, but a pipe gives everything only once: a regular file replaces it for everyone
        # who opens it from then on.
        pipe = os.open(self._arguments, os.O_RDWR)
        os.rename(self._arguments + "-again", self._arguments)
        os.write(pipe, words)
        os.close(pipe)
        return self._pid

    def give_up(self) -> None:
        """Ends the command."""
        os.kill(self._pid, SIGKILL)
        os.waitpid(self._pid, 0)


def _begin(where: isolate.Ground, scratch: str, changed: str, command: Sequence[str]) -> int:
    """Starts a command in its own view of the tree; returns its process."""
    parent, pid = os.getpid(), os.fork()
    if pid == 0:
        try:
            _prepare(where, scratch, changed)
            _die_with_parent()
            # The parent may have ended before that.
            if os.getppid() == parent:
                os.execvp(command[0], command)
        except BaseException as error:
            os.write(2, f"{error}\n".encode("utf-8", "backslashreplace"))
        finally:
            os._exit(CANNOT_START)
    return pid


def _prepare(where: isolate.Ground, scratch: str, changed: str) -> None:
    """Gives this process its own view of the tree."""
    # Only our parent is told what to run.
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    # The runner's report is next to the scratch folder, and must be visible from outside.
    results = os.path.dirname(os.path.realpath(scratch))
    levels = [
        level
        for level, folder in (("tree", where.tree), ("home", where.home))
        if folder and not isolate.is_inside(results, folder)
    ]
    done = isolate.isolate(levels, where, scratch)
    if changed != _AS_IT_IS:
        if "tree" not in done.applied:
            os._exit(NOT_COVERED)
        _show(changed, where.tree)
    if done.as_user:
        linux.drop_capabilities()


def _end_like(pid: int, report: str) -> int:
    """Waits for a process, and ends as it ended."""
    _die_with_parent()
    _adopt_orphans()
    is_leaving = report != _NOWHERE and _is_leaving(pid, report)
    if is_leaving:
        os.kill(pid, SIGKILL)
    _, status = os.waitpid(pid, 0)
    linux.end_descendants(since=pid)
    if is_leaving:
        return REPORTED
    if os.WIFEXITED(status):
        return os.WEXITSTATUS(status)
    return _end_by(os.WTERMSIG(status))


def _is_leaving(pid: int, report: str) -> bool:
    """Waits until a process has ended, or only has to release its memory; returns whether it is the
    latter. Python stops handling interrupts between its exit functions and that.
    """
    try:
        end = linux.pidfd_open(pid)
    except OSError:
        return False
    waiting = select.poll()
    waiting.register(end, select.POLLIN)
    while not waiting.poll(_LONG_NAP_MS):
        head = _head(report)
        if head:
            # If no test ran, the status may say more than the report.
            is_whole = b' errors="0"' in head and b' tests="0"' not in head
            return is_whole and _hears_interrupts(pid) and _ceases_to_hear(pid, waiting)
    return False


def _ceases_to_hear(pid: int, waiting: select.poll) -> bool:
    while not waiting.poll(_NAP_MS):
        if not _hears_interrupts(pid):
            return True
    return False


def _hears_interrupts(pid: int) -> bool:
    status = linux.content(f"/proc/{pid}/status")
    caught = status.partition(b"\nSigCgt:")[2].split(None, 1)
    return bool(caught) and bool(int(caught[0], 16) >> (SIGINT - 1) & 1)


def _head(report: str) -> bytes:
    try:
        return linux.content(report, _HEAD)
    except OSError:
        return b""


def _show(changed: str, tree: str) -> None:
    import shutil

    with open(changed, "rb") as file:
        names = file.read().split(b"\0")
    for path, contents in zip(names[::2], names[1::2]):
        if not isolate.is_inside(os.path.realpath(os.fsdecode(path)), tree):
            raise ValueError(f"`{os.fsdecode(path)}` is not in the work tree")
        shutil.copyfile(contents, path)


def _die_with_parent() -> None:
    # If the engine is killed, nobody waits for the runner any more.
    try:
        linux.die_with_parent(SIGKILL)
    except OSError:
        pass


def _adopt_orphans() -> None:
    # It is up to us to end processes that tests leave, in their own session or not.
    try:
        linux.adopt_orphans()
    except OSError:
        pass


def _end_by(number: int) -> int:
    import resource
    import signal

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if number not in (signal.SIGKILL, signal.SIGSTOP):
        signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
    return CANNOT_START
