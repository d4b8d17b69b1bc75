"""The system calls for which Python has no function.

``mount`` and ``prctl`` have none in any version, ``unshare`` only since 3.12. All go through
``ctypes`` and the C library; where either is missing, every call raises ``OSError`` with
``ENOSYS``, which the callers treat like any other refusal of the system.

Only this module, ``isolate`` and ``shelter`` are loaded for a run without us. They avoid
``typing``, ``json`` and what these load, which would take half of the time.
"""

from __future__ import annotations

import errno
import os
from fcntl import F_DUPFD_CLOEXEC, fcntl

# The tests of a run may have changed the functions in ``os``.
from os import O_RDONLY, WNOHANG, close, getpid, kill, listdir, read, stat, waitpid
from os import open as _open
from time import sleep as _sleep

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Container, List, Optional

try:
    import ctypes

    _libc: Any = ctypes.CDLL(None, use_errno=True)
    _libc.mount.argtypes = [ctypes.c_char_p] * 3 + [ctypes.c_ulong, ctypes.c_char_p]
    _libc.syscall.restype = ctypes.c_long
except (ImportError, OSError, AttributeError):
    _libc = None

HIGH_DESCRIPTOR = 400
"""Our descriptors start here, out of the way of tests that count on low numbers being free."""

CLONE_NEWNS = 0x00020000
CLONE_NEWUSER = 0x10000000
CLONE_NEWPID = 0x20000000
CLONE_NEWNET = 0x40000000

MS_NOSUID = 0x2
MS_NODEV = 0x4
MS_NOEXEC = 0x8
MS_BIND = 0x1000
MS_REC = 0x4000
MS_PRIVATE = 0x40000

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_SYS_PIDFD_OPEN = 434
_SIGKILL = 9
_LONG = 1 << 16
_ROUNDS_MAX = 100
"""For those who fork faster than they are ended: they are left to who ends us."""
_NAP = 0.001
_NAPS_MAX = 1000
"""For those whom the kernel cannot end, because they wait for a device."""
_CAPABILITY_VERSION_3 = 0x20080522


def _check(result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


def _library() -> Any:
    if _libc is None:
        raise OSError(errno.ENOSYS, "no C library through ctypes")
    return _libc


def unshare(flags: int) -> None:
    """Leaves the namespaces named by the flags for new ones."""
    _check(_library().unshare(ctypes.c_int(flags)))


def mount(source: str, target: str, kind: Optional[str], flags: int, options: str = "") -> None:
    """Mounts a file system."""
    library = _library()
    encode = os.fsencode
    fs = encode(kind) if kind else None
    data = encode(options) if options else None
    _check(library.mount(encode(source), encode(target), fs, flags, data))


def die_with_parent(signal: int) -> None:
    """Makes the kernel send this process a signal when its parent (the thread!) ends."""
    _check(_library().prctl(_PR_SET_PDEATHSIG, ctypes.c_ulong(signal), 0, 0, 0))


def adopt_orphans() -> None:
    """Makes this process the parent of all its descendants whose own parent ends."""
    _check(_library().prctl(_PR_SET_CHILD_SUBREAPER, ctypes.c_ulong(1), 0, 0, 0))


def children(since: int = 0) -> List[int]:
    """Children of this thread, forked or adopted, whether they have ended or not. ``since`` is a
    process that started before all of them, if there is one: if the kernel does not list children,
    they must be searched for among all processes."""
    try:
        return list(map(int, content("/proc/thread-self/children").split()))
    except OSError:
        return _children_by_search(since)


def _children_by_search(since: int) -> List[int]:
    own = b"%d" % getpid()
    try:
        # The last number given out: if it is smaller, numbering started again in between.
        if int(content("/proc/loadavg").split()[-1]) < since:
            since = 0
        numbers = [int(name) for name in listdir("/proc") if name.isdigit()]
    except (OSError, ValueError):
        return []
    found = []
    for number in numbers:
        if number > since:
            try:
                # The name, in brackets, may itself contain brackets and blanks.
                state = content(f"/proc/{number}/stat").rpartition(b")")[2].split()
            except OSError:
                continue
            if state[1:2] == [own]:
                found.append(number)
    return found


def end_descendants(spared: Container[int] = (), since: int = 0) -> None:
    """Ends all children and the orphans they leave, which then become our children, except those
    that are spared and what they keep. Only children are ever signalled: their numbers belong to
    them until we reap them."""
    for _ in range(_ROUNDS_MAX):
        left = [child for child in children(since) if child not in spared]
        if not left:
            return
        for child in left:
            _end(child)


def _end(child: int) -> None:
    try:
        kill(child, _SIGKILL)
        for _ in range(_NAPS_MAX):
            if waitpid(child, WNOHANG)[0]:
                return
            _sleep(_NAP)
    except OSError:
        # Not permitted (it runs as another user), or gone.
        pass


def content(path: str, n_bytes: int = _LONG) -> bytes:
    """The contents of a small file, or its beginning."""
    file = _open(path, O_RDONLY)
    try:
        return read(file, n_bytes)
    finally:
        close(file)


def has_company() -> bool:
    """Whether this process has other threads or children; True if unknown."""
    try:
        # The link count of a folder includes the entry above it, itself, and its subfolders.
        return children(getpid()) != [] or stat("/proc/self/task").st_nlink != 3
    except OSError:
        return True


def close_all_but(kept: int) -> None:
    """Closes every descriptor but this one and the standard ones; ``OSError`` if they cannot be
    listed."""
    for fd in map(int, listdir("/proc/self/fd")):
        if fd > 2 and fd != kept:
            try:
                close(fd)
            except OSError:
                # The descriptor of the listing itself.
                continue


def high(fd: int) -> int:
    """Moves a descriptor up, where tests do not look; leaves it where it is if that is refused."""
    try:
        moved = fcntl(fd, F_DUPFD_CLOEXEC, HIGH_DESCRIPTOR)
    except OSError:
        return fd
    close(fd)
    return moved


def pidfd_open(pid: int) -> int:
    """A descriptor that becomes readable when the process has ended (Linux 5.3)."""
    if hasattr(os, "pidfd_open"):
        return os.pidfd_open(pid)
    return _check(_library().syscall(_SYS_PIDFD_OPEN, ctypes.c_int(pid), ctypes.c_uint(0)))


def drop_capabilities() -> None:
    """Drops the rights of a user namespace: a user who is not root must not look like root."""
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION_3, 0)
    data = (ctypes.c_uint32 * 6)()
    _check(_library().capset(header, data))
