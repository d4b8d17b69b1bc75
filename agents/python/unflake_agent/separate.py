"""What would forked children still share, and how do they get their own?

Copy-on-write separates memory, and nothing else. Two children forked from one server share

* **open files**, with one offset between them. pytest's own capture is such a file: without a
  fresh one each, children that run side by side would read each other's output, and a log file
  opened at import would be written in the real tree, overlay or not;
* **the folder for temporary files**;
* **the state of** ``random``. Python reseeds that generator in every forked child, which is right
for a suite that did not seed it (each run draws anew, as plain runs do) and wrong for one that did
(plain runs all draw the same). numpy's is never reseeded, so it is the other way round.

So the server takes a survey once, after collection, and each child acts on it.
"""

import os
import random
import stat
import sys
import tempfile
from fcntl import F_GETFL, fcntl
from typing import Any, List, NamedTuple, Optional, Sequence

_LISTING = "/proc/self/fd"
_ONLY_AT_OPENING = os.O_CREAT | os.O_EXCL | os.O_TRUNC

_TWISTS = 64
"""How far we follow the generator to see whether it was only drawn from: 40,000 numbers."""

_WORDS = 624
"""Words of state of the Mersenne twister, all renewed at once after as many draws."""


class OpenFile(NamedTuple):
    """A regular file that the server had open when collection ended."""

    fd: int
    flags: int
    path: Optional[str]
    """None if it has no name any more, as files from ``tempfile`` do not."""


class Survey(NamedTuple):
    """What a child must replace with its own."""

    files: List[OpenFile]
    errors: List[int]
    """Descriptor 2 and those made from it (``faulthandler`` keeps one)."""
    seeded: Any
    """The state of ``random`` if the project seeded it, else None."""
    unseeded_numpy: bool


def survey(ours: Sequence[int], initial: Any) -> Survey:
    """Takes the survey, in the server. ``initial`` is the state of ``random`` at start."""
    now = random.getstate()
    return Survey(
        files=[f for f in map(_regular, _descriptors()) if f and f.fd not in ours],
        errors=_same_as(2),
        seeded=None if _only_drawn(initial, now) else now,
        unseeded_numpy=_is_numpy_unseeded(),
    )


def _descriptors() -> List[int]:
    try:
        return sorted(map(int, os.listdir(_LISTING)))
    except OSError:
        return list(range(64))


def _regular(fd: int) -> Optional[OpenFile]:
    try:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode):
            return None
        flags = fcntl(fd, F_GETFL) & ~_ONLY_AT_OPENING
        path = os.readlink(f"{_LISTING}/{fd}") if status.st_nlink else None
    except OSError:
        return None
    return OpenFile(fd, flags, path)


def _same_as(fd: int) -> List[int]:
    def identity(candidate: int) -> Any:
        try:
            status = os.fstat(candidate)
        except OSError:
            return None
        return status.st_dev, status.st_ino

    wanted = identity(fd)
    return [other for other in _descriptors() if wanted and identity(other) == wanted]


def _only_drawn(initial: Any, now: Any) -> bool:
    """Whether drawing alone led the generator from one state to the other."""
    follower = random.Random()
    follower.setstate(initial)
    for _ in range(_TWISTS):
        if follower.getstate()[1][:_WORDS] == now[1][:_WORDS]:
            return True
        for _ in range(_WORDS):
            follower.getrandbits(32)
    return False


def _is_numpy_unseeded() -> bool:
    """Whether numpy's generator is as entropy left it at import: never seeded, never drawn from."""
    module = sys.modules.get("numpy.random")
    try:
        kind, key, position = module.get_state()[:3]  # type: ignore[union-attr]
        # With entropy or an array as seed the first word is fixed; an integer seed is the first
        # word.
        return bool(kind == "MT19937" and int(key[0]) == 0x80000000 and position >= _WORDS - 1)
    except Exception:
        return False


def own_temporary_folder(scratch: str) -> None:
    """Gives every run its own ``TMPDIR``."""
    folder = os.path.join(scratch, "tmp")
    try:
        os.mkdir(folder, 0o700)
    except FileExistsError:
        pass
    os.environ["TMPDIR"] = folder
    if tempfile.tempdir is not None:
        tempfile.tempdir = folder


def own_nameless_files(found: Survey) -> None:
    """Reopens the server's files under the same numbers, at the same positions: first those that
    nobody else can change."""
    _own(found, [file for file in found.files if file.path is None])


def own_named_files(found: Survey) -> None:
    """The same for the others, as they are now."""
    _own(found, [file for file in found.files if file.path is not None])


def _own(found: Survey, files: Sequence[OpenFile]) -> None:
    for file in files:
        if file.fd not in found.errors:
            try:
                _renew(file)
            except OSError:
                # Gone or not permitted under this name: shared, as in any forked program.
                continue


def _renew(file: OpenFile) -> None:
    offset = os.lseek(file.fd, 0, os.SEEK_CUR)
    if file.path is None:
        fresh = _nameless(file.fd)
    else:
        fresh = os.open(file.path, file.flags)
    os.lseek(fresh, offset, os.SEEK_SET)
    os.dup2(fresh, file.fd, inheritable=os.get_inheritable(file.fd))
    os.close(fresh)


def _nameless(fd: int) -> int:
    fresh = os.memfd_create("unflake")
    size = os.fstat(fd).st_size
    start = 0
    while start < size:
        data = os.pread(fd, 1 << 20, start)
        if not data:
            break
        os.write(fresh, data)
        start += len(data)
    return fresh


def own_errors(found: Survey, fresh: int) -> None:
    """Sends output that bypasses pytest's capture (a segfault's stack) to a file of the run."""
    for fd in found.errors:
        os.dup2(fresh, fd, inheritable=os.get_inheritable(fd))
    os.close(fresh)


def own_random(found: Survey) -> None:
    """Draws as a plain run would: the same again if the project seeded, new numbers if not."""
    if found.seeded is not None:
        random.setstate(found.seeded)
    if found.unseeded_numpy:
        sys.modules["numpy.random"].seed()
