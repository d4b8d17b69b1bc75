"""What may a run not touch, and does the system let us enforce it?

Each level is a namespace or a mount that only this run sees, so what it writes, binds or starts
disappears with it. A level that the system refuses is reported with its reason, never half applied:

* ``tree`` and ``home``: an overlay over the folder. What is written goes to a ``tmpfs`` that exists
only in this run's mount namespace, so nobody has to clean it up. Other file systems mounted inside
the folder would be hidden by the overlay; they are put back, and are not isolated.
* ``net``: a network namespace with loopback up.
* ``pid``: applies to processes started *afterwards*, so a cell has a second process inside
(``guard``). It also needs its own ``/proc``, which can only be tried from inside, when there is no
way back: ``pid_refused`` tries it in a separate process.

Root does this directly. Others need a user namespace first, in which they keep their user id; the
rights that it grants are dropped before the first test, because otherwise a test that expects
``PermissionError`` would not get it.
"""

from __future__ import annotations

import errno
import fcntl
import os
import struct
from _socket import AF_INET, SOCK_DGRAM
from _socket import socket as _Socket

from . import linux

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, List, Optional, Sequence, Tuple

_SIOCGIFFLAGS = 0x8913
_SIOCSIFFLAGS = 0x8914
_IFF_UP = 0x1
_IFREQ = struct.Struct("16sH14x")


class Ground:
    """Where the suite is."""

    def __init__(self, cwd: str, tree: str, home: str, mounts: List[str]) -> None:
        self.cwd = cwd
        self.tree = tree
        self.home = home
        self.mounts = mounts


class Isolated:
    """The result of isolating."""

    def __init__(
        self,
        applied: List[str],
        refused: List[Dict[str, str]],
        as_user: bool,
        uppers: List[int],
    ) -> None:
        self.applied = applied
        self.refused = refused
        self.as_user = as_user
        """Whether a user namespace gave the rights to do it."""
        self.uppers = uppers
        """Descriptors of the folders in which everything lands that is written under an overlay."""


def ground(rootdir: str) -> Ground:
    """The folders to protect: the top level of the Git repository, or else the rootdir, and
    HOME."""
    home = os.environ.get("HOME", "")
    return Ground(
        cwd=os.getcwd(),
        tree=_top_level(os.path.realpath(rootdir)),
        home=os.path.realpath(home) if home else "",
        mounts=_mount_points(),
    )


def _top_level(rootdir: str) -> str:
    folder = rootdir
    while not os.path.exists(os.path.join(folder, ".git")):
        parent = os.path.dirname(folder)
        if parent == folder:
            return rootdir
        folder = parent
    return folder


def _mount_points() -> List[str]:
    try:
        with open("/proc/self/mountinfo", "rb") as file:
            fields = [line.split()[4] for line in file]
    except OSError:
        return []
    # The kernel writes space, tab, newline and backslash as octal escapes.
    return [os.fsdecode(f.decode("unicode_escape").encode("latin-1")) for f in fields]


def isolate(levels: Sequence[str], where: Ground, scratch: str) -> Isolated:
    """Applies what can be applied to this process; ``pid`` applies to its children."""
    refused: List[Dict[str, str]] = []
    applied: List[str] = []
    uppers: List[int] = []
    if not levels:
        return Isolated(applied, refused, False, uppers)
    try:
        as_user = _own_mounts()
    except OSError as error:
        return Isolated([], [_refusal(level, error) for level in levels], False, uppers)
    for names, folder in covered_folders(levels, where):
        try:
            uppers.append(_cover(folder, where.mounts, scratch, as_user))
            applied += names
        except OSError as error:
            refused += [_refusal(name, error) for name in names]
    if applied:
        _return_to(where.cwd)
    for level, act in (("net", _own_network), ("pid", _own_processes)):
        if level in levels:
            try:
                act()
                applied.append(level)
            except OSError as error:
                refused.append(_refusal(level, error))
    return Isolated(applied, refused, as_user, uppers)


def _refusal(level: str, error: OSError) -> Dict[str, str]:
    return {"level": level, "why": error.strerror or str(error)}


def _return_to(cwd: str) -> None:
    # The working directory is still the folder under the overlay.
    try:
        os.chdir(cwd)
    except OSError:
        pass


def _own_mounts() -> bool:
    """Enters a new mount namespace; returns whether that took a user namespace."""
    user, group = os.geteuid(), os.getegid()
    try:
        linux.unshare(linux.CLONE_NEWNS)
        as_user = False
    except OSError as error:
        if error.errno != errno.EPERM:
            raise
        linux.unshare(linux.CLONE_NEWUSER | linux.CLONE_NEWNS)
        _write("/proc/self/setgroups", "deny")
        _write("/proc/self/uid_map", f"{user} {user} 1")
        _write("/proc/self/gid_map", f"{group} {group} 1")
        as_user = True
    linux.mount("none", "/", None, linux.MS_REC | linux.MS_PRIVATE)
    return as_user


def _write(path: str, content: str) -> None:
    fd = os.open(path, os.O_WRONLY)
    try:
        os.write(fd, content.encode("ascii"))
    finally:
        os.close(fd)


def covered_folders(levels: Sequence[str], where: Ground) -> List[Tuple[List[str], str]]:
    """The folders to cover, outermost only: a folder inside a covered one is covered with it."""
    wanted = {"tree": where.tree, "home": where.home}
    chosen = [(level, wanted[level]) for level in ("tree", "home") if level in levels]
    if len(chosen) == 2:
        (_, tree), (_, home) = chosen
        if is_inside(tree, home):
            return [(["tree", "home"], home)]
        if is_inside(home, tree):
            return [(["tree", "home"], tree)]
    return [([level], folder) for level, folder in chosen]


def is_inside(path: str, folder: str) -> bool:
    """Whether a path is the folder or below it; nothing is inside the root or inside no folder."""
    return folder not in ("", "/") and (path + "/").startswith(folder + "/")


def _cover(folder: str, mounts: Sequence[str], scratch: str, as_user: bool) -> int:
    """Puts an overlay over a folder that writes to memory; returns a descriptor of the upper
    layer."""
    if folder in ("", "/"):
        raise OSError(errno.EINVAL, f"`{folder}` cannot be covered")
    if as_user and _is_foreign(folder):
        raise OSError(errno.EOVERFLOW, f"`{folder}` belongs to another user or group")
    upper, work = _writable(scratch, os.path.basename(folder))
    # The overlay itself may hide it by name afterwards.
    written = linux.high(os.open(upper, os.O_RDONLY | os.O_DIRECTORY))
    handles = [(m, os.open(m, os.O_PATH)) for m in _mounted_inside(folder, mounts)]
    options = "lowerdir={},upperdir={},workdir={}".format(*map(_escape, (folder, upper, work)))
    extra = ",userxattr" if as_user else ",redirect_dir=on"
    try:
        _mount_overlay(folder, options, extra)
        for mount, handle in handles:
            source = f"/proc/self/fd/{handle}"
            linux.mount(source, mount, None, linux.MS_BIND | linux.MS_REC)
    except OSError:
        os.close(written)
        raise
    finally:
        for _, handle in handles:
            os.close(handle)
    return written


def _is_foreign(folder: str) -> bool:
    """Whether the folder's owner does not exist in our user namespace: it could not be copied."""
    status = os.stat(folder)
    return (status.st_uid, status.st_gid) != (os.geteuid(), os.getegid())


def _mounted_inside(folder: str, mounts: Sequence[str]) -> List[str]:
    """Mount points below the folder, without those that come along with another one."""
    found: List[str] = []
    for mount in sorted(set(mounts), key=len):
        inside = mount != folder and is_inside(mount, folder)
        if inside and not any(is_inside(mount, other) for other in found):
            found.append(mount)
    return [mount for mount in found if os.path.exists(mount)]


def _mount_overlay(folder: str, options: str, extra: str) -> None:
    try:
        linux.mount("overlay", folder, "overlay", 0, options + extra)
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
        linux.mount("overlay", folder, "overlay", 0, options)


def _writable(scratch: str, name: str) -> Tuple[str, str]:
    """A pair of folders on one file system that can hold an overlay's upper layer."""
    base = os.path.join(scratch, "upper-" + name[:20])
    os.mkdir(base, 0o700)
    linux.mount("tmpfs", base, "tmpfs", linux.MS_NOSUID | linux.MS_NODEV, "mode=0755")
    upper, work = os.path.join(base, "u"), os.path.join(base, "w")
    os.mkdir(upper, 0o755)
    os.mkdir(work, 0o755)
    return upper, work


def _escape(path: str) -> str:
    return path.replace("\\", "\\\\").replace(",", "\\,").replace(":", "\\:")


def _own_network() -> None:
    linux.unshare(linux.CLONE_NEWNET)
    probe = _Socket(AF_INET, SOCK_DGRAM)
    try:
        request = _IFREQ.pack(b"lo", 0)
        (_, flags) = _IFREQ.unpack(fcntl.ioctl(probe, _SIOCGIFFLAGS, request))
        fcntl.ioctl(probe, _SIOCSIFFLAGS, _IFREQ.pack(b"lo", flags | _IFF_UP))
    finally:
        probe.close()


def _own_processes() -> None:
    linux.unshare(linux.CLONE_NEWPID)


def own_proc() -> None:
    """Mounts a ``/proc`` that shows this PID namespace; called from inside it."""
    flags = linux.MS_NOSUID | linux.MS_NODEV | linux.MS_NOEXEC
    linux.mount("proc", "/proc", "proc", flags)


def pid_refused() -> Optional[str]:
    """Tries ``pid`` in a separate process; returns the reason why it is unavailable, or None."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        why: Any = ""
        try:
            why = _try_pid()
        finally:
            os.write(writer, str(why).encode("utf-8", "replace"))
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as answers:
        answer = answers.read().decode("utf-8")
    os.waitpid(pid, 0)
    return answer or None


def _try_pid() -> str:
    try:
        _own_mounts()
        _own_processes()
        pid = os.fork()
    except OSError as error:
        return error.strerror or str(error)
    if pid == 0:
        try:
            own_proc()
            os._exit(0)
        except OSError as error:
            os._exit(error.errno or 1)
    code = os.WEXITSTATUS(os.waitpid(pid, 0)[1])
    return "/proc: " + os.strerror(code) if code else ""
