"""Which files did a test leave behind, change or delete?

Everything written under an overlay ends up in its upper layer, which is empty before the first
test. So listing that is enough: what is in it was written, and a character device 0/0 there means
that the file below was deleted. If the system permits no overlay, files are not watched. The folder
for temporary files belongs to the run, and is listed, too; names made up by ``tempfile`` are
reported without their random part.

To put a file back, its contents must have been read at the beginning; that is done for requested
files, up to a size.
"""

import os
import re
import shutil
import stat
from os import listdir, lstat, scandir
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Tuple

from .change import Cannot
from .simple import Reading, Watcher

_N_ENTRIES_MAX = 5_000
_KEPT_BYTES_MAX = 8 << 20
_KEPT_FILES_MAX = 2_000
_KEPT_SMALL_MAX = 256 << 10
_NOT_THE_TESTS = ("__pycache__", ".pytest_cache", ".hypothesis", ".git")
_ORIGINS = ("trusted.overlay.origin", "user.overlay.origin")
_MADE_UP = re.compile(r"^(.*?)[a-z0-9_]{8}(\..*)?$")


class Place(NamedTuple):
    """Where the run takes place."""

    tree: str
    home: str
    scratch: str
    uppers: List[Tuple[int, str]]
    """A descriptor of each upper layer, and the folder it lies over."""
    items: Optional[List[str]]
    """The items to be put back; None if that is not known beforehand."""

    def shown(self, path: str) -> str:
        """A path as the user would write it in the work tree."""
        for folder, prefix in ((self.tree, ""), (self.home, "~/")):
            if folder and path.startswith(folder + "/"):
                return prefix + path[len(folder) + 1 :]
        return path

    def true(self, shown: str) -> str:
        """The path that is shown like this."""
        if shown.startswith("~/"):
            return os.path.join(self.home, shown[2:])
        return os.path.join(self.tree, shown)


class Files(Watcher):
    """Files in the work tree and the home folder."""

    kind = "file"

    def __init__(self, place: Place) -> None:
        self._place = place
        self._kept: Dict[str, Optional[Tuple[bytes, os.stat_result]]] = {}
        super().__init__()

    def read(self) -> Reading:
        found: Reading = {}
        for fd, folder in self._place.uppers:
            try:
                if not listdir(fd):
                    continue
            except OSError:
                # A test closed a descriptor that it had not opened.
                return self._last
            for path, state in _listing(f"/proc/self/fd/{fd}", _N_ENTRIES_MAX):
                found[self._place.shown(os.path.join(folder, path))] = state
        return found

    def _differences(self, before: Reading, after: Reading) -> List[Any]:
        changes = super()._differences(before, after)
        for change in changes:
            state = after.get(change.where)
            if change.where not in before and state is not None and self._was_there(change.where):
                change.before = "(as it was)"
            if state == _DELETED:
                change.after = None
        return changes

    def _was_there(self, shown: str) -> bool:
        """Whether the layer below has a file of this name."""
        path = self._place.true(shown)
        for fd, folder in self._place.uppers:
            if path.startswith(folder + "/"):
                upper = f"/proc/self/fd/{fd}/{path[len(folder) + 1 :]}"
                return _is_deletion(upper) or _has_origin(upper)
        return False

    def show(self, value: Any) -> str:
        return value if type(value) is str else f"{value[0]} bytes"

    def keep(self) -> None:
        items = self._place.items
        if items is not None:
            paths = [self._place.true(item.split(" table ")[0]) for item in items]
            self._kept = {path: _contents(path, _KEPT_BYTES_MAX) for path in paths}
            return
        for folder, folders, files in os.walk(self._place.tree):
            folders[:] = [name for name in folders if name not in _NOT_THE_TESTS]
            for name in files:
                path = os.path.join(folder, name)
                self._kept[path] = _contents(path, _KEPT_SMALL_MAX)
            if len(self._kept) > _KEPT_FILES_MAX:
                return

    def put_back(self, name: str, value: Optional[Any]) -> None:
        path = self._place.true(name.split(" table ")[0])
        kept = self._kept.get(path)
        if kept is None and self._was_there(name):
            raise Cannot("what the file held is not known")
        if os.path.isdir(path) and not os.path.islink(path):
            os.rmdir(path)
        elif kept is None:
            os.unlink(path)
        else:
            _write(path, *kept)


_DELETED = "deleted"


def _listing(top: str, n_max: int) -> Iterator[Tuple[str, Any]]:
    """Files below a folder, and empty folders, each with what would change."""
    waiting = [""]
    n_left = n_max
    while waiting and n_left > 0:
        inner = waiting.pop()
        n_before = n_left
        for name, path in _entries(top, inner):
            n_left -= 1
            if name in _NOT_THE_TESTS:
                continue
            try:
                status = lstat(f"{top}/{path}")
            except OSError:
                continue
            if stat.S_ISDIR(status.st_mode):
                waiting.append(path)
            elif stat.S_ISCHR(status.st_mode) and status.st_rdev == 0:
                yield path, _DELETED
            else:
                yield path, (status.st_size, status.st_mtime_ns, status.st_ino)
        if n_left == n_before and inner:
            yield inner, "an empty folder"


def _entries(top: str, inner: str) -> List[Tuple[str, str]]:
    try:
        with scandir(f"{top}/{inner}") as entries:
            return [(e.name, f"{inner}/{e.name}" if inner else e.name) for e in entries]
    except OSError:
        # Gone, or closed by a test.
        return []


def _is_deletion(path: str) -> bool:
    try:
        status = lstat(path)
    except OSError:
        return False
    return stat.S_ISCHR(status.st_mode) and status.st_rdev == 0


def _has_origin(path: str) -> bool:
    """The overlay marks a copy with its original."""
    for name in _ORIGINS:
        try:
            os.getxattr(path, name, follow_symlinks=False)
            return True
        except OSError:
            continue
    return False


def _contents(path: str, size_max: int) -> Optional[Tuple[bytes, os.stat_result]]:
    try:
        status = lstat(path)
        if not stat.S_ISREG(status.st_mode) or status.st_size > size_max:
            return None
        with open(path, "rb") as file:
            return file.read(), status
    except OSError:
        return None


def _write(path: str, data: bytes, status: os.stat_result) -> None:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(data)
    os.chmod(path, stat.S_IMODE(status.st_mode))
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


class Leftovers(Watcher):
    """Files in the folder for temporary files."""

    kind = "tempfile"

    def __init__(self, place: Place) -> None:
        self._folder = os.path.join(place.scratch, "tmp")
        super().__init__()

    def read(self) -> Reading:
        try:
            names = listdir(self._folder)
        except OSError:
            return {}
        return {name: "left" for name in names if not name.startswith("pytest-of-")}

    def _differences(self, before: Reading, after: Reading) -> List[Any]:
        changes = super()._differences(before, after)
        for change in changes:
            is_folder = os.path.isdir(os.path.join(self._folder, change.where))
            if change.after is not None:
                change.after = "a folder" if is_folder else "a file"
            change.where = _without_chance(change.where)
        return changes

    def show(self, value: Any) -> str:
        return str(value)

    def put_back(self, name: str, value: Optional[Any]) -> None:
        if value is not None:
            raise Cannot("what it held is not known")
        path = os.path.join(self._folder, name)
        if os.path.isdir(path) and not os.path.islink(path):
            shutil.rmtree(path)
        else:
            os.unlink(path)


def _without_chance(name: str) -> str:
    matched = _MADE_UP.match(name)
    shown = "{}********{}".format(matched[1], matched[2] or "") if matched else name
    return f"$TMPDIR/{shown}"
