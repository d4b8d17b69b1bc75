"""What does the system know about this process that a test can leave changed?

Environment, working directory, umask, locale, time zone, signal handlers, threads, child processes
and open descriptors. The end of threads and processes is not reported: that they were left behind
is, for the test that left them.
"""

import _locale
import _signal  # type: ignore[import-not-found]
import os
import signal
import threading
import time
from _thread import get_ident
from os import P_ALL, WEXITED, WNOHANG, WNOWAIT, waitid
from os import chdir, fstat, getcwd, listdir, readlink, umask
from typing import Any, Callable, Dict, List, Optional, Set

from .change import Cannot, Change, Opaque, show_atom
from .simple import Reading, Watcher

_environ = os.environ


class Environment(Watcher):
    """``os.environ``."""

    kind = "environment"

    def __init__(self) -> None:
        self._keys: Dict[str, Any] = {}
        super().__init__()

    def read(self) -> Reading:
        environ = os.environ
        # A patch may have left a dictionary in its place.
        data = environ._data if type(environ) is type(_environ) else environ  # type: ignore
        return dict(data) if type(data) is dict else {}

    def _differences(self, before: Reading, after: Reading) -> List[Change]:
        named = []
        for reading in (before, after):
            decoded = {_decoded(name): value for name, value in reading.items()}
            decoded.pop("PYTEST_CURRENT_TEST", None)
            self._keys.update((f"os.environ[{key!r}]", key) for key in decoded)
            named.append({f"os.environ[{key!r}]": value for key, value in decoded.items()})
        return super()._differences(*named)

    def show(self, value: Any) -> str:
        return show_atom(_decoded(value))

    def put_back(self, name: str, value: Optional[Any]) -> None:
        key = self._keys[name]
        if value is None:
            del os.environ[key]
        else:
            os.environ[key] = _decoded(value)


def _decoded(value: Any) -> Any:
    return os.fsdecode(value) if type(value) is bytes else value


class WorkingDirectory(Watcher):
    """``os.getcwd()``."""

    kind = "cwd"

    def read(self) -> Reading:
        try:
            return {"os.getcwd()": getcwd()}
        except OSError:
            return {"os.getcwd()": ""}

    def show(self, value: Any) -> str:
        return show_atom(value) if value else "(removed)"

    def put_back(self, name: str, value: Optional[Any]) -> None:
        chdir(value or "/")


class Umask(Watcher):
    """The permissions that new files are denied."""

    kind = "umask"

    def read(self) -> Reading:
        if len(threading._active) > 1:  # type: ignore[attr-defined]
            return {"os.umask()": _umask_from_proc()}
        # This is the only other way to read it; nobody makes a file in between.
        mask = umask(0o077)
        umask(mask)
        return {"os.umask()": mask}

    def show(self, value: Any) -> str:
        return f"0o{value:03o}"

    def put_back(self, name: str, value: Optional[Any]) -> None:
        umask(value or 0)


def _umask_from_proc() -> int:
    with open("/proc/self/status", "rb") as file:
        for line in file:
            if line.startswith(b"Umask:"):
                return int(line.split()[1], 8)
    return 0


_CATEGORIES = ("LC_CTYPE", "LC_NUMERIC", "LC_TIME", "LC_COLLATE", "LC_MONETARY", "LC_MESSAGES")


class Locale(Watcher):
    """The locale, by category."""

    kind = "locale"

    def read(self) -> Reading:
        return {"": _locale.setlocale(_locale.LC_ALL, None)}

    def _differences(self, before: Reading, after: Reading) -> List[Change]:
        return super()._differences(_by_category(before[""]), _by_category(after[""]))

    def put_back(self, name: str, value: Optional[Any]) -> None:
        category = name.split(".")[-1].rstrip(")")
        _locale.setlocale(getattr(_locale, category), value)


def _by_category(said: str) -> Reading:
    """``LC_CTYPE=a;LC_NUMERIC=b;…``, or one name for all."""
    parts = dict(part.split("=", 1) for part in said.split(";") if "=" in part)
    return {f"locale.setlocale(locale.{name})": parts.get(name, said) for name in _CATEGORIES}


class TimeZone(Watcher):
    """The result of ``time.tzset`` for ``TZ``."""

    kind = "timezone"

    def read(self) -> Reading:
        return {"time.tzname": (time.tzname, time.timezone)}

    def show(self, value: Any) -> str:
        return show_atom(value[0])

    def put_back(self, name: str, value: Optional[Any]) -> None:
        time.tzset()
        if (time.tzname, time.timezone) != value:
            raise Cannot("the variable TZ must be put back with it")


class Signals(Watcher):
    """Signal handlers."""

    kind = "signal"
    _numbers = sorted(map(int, signal.valid_signals()))

    def __init__(self) -> None:
        self._handlers: Dict[str, Any] = {}
        self._ids: List[int] = []
        self._read: Reading = {}
        super().__init__()

    def read(self) -> Reading:
        found = list(map(_signal.getsignal, self._numbers))
        ids = list(map(id, found))
        if ids != self._ids:
            self._ids = ids
            self._read = dict(zip(self._numbers, map(_handler, found)))  # type: ignore[arg-type]
        return self._read

    def _differences(self, before: Reading, after: Reading) -> List[Change]:
        return super()._differences(*({_name(n): r[n] for n in r} for r in (before, after)))

    def show(self, value: Any) -> str:
        return value if type(value) is str else str(value[1])

    def keep(self) -> None:
        self._handlers = {_name(n): _signal.getsignal(n) for n in self._numbers}

    def put_back(self, name: str, value: Optional[Any]) -> None:
        handler = self._handlers[name]
        if handler is None:
            raise Cannot("the handler was not set from Python")
        number = next(n for n in self._numbers if _name(n) == name)
        _signal.signal(number, handler)


def _handler(handler: Any) -> Any:
    if handler is None:
        return "(not from Python)"
    if issubclass(type(handler), int):
        return "SIG_IGN" if int(handler) else "SIG_DFL"
    opaque = Opaque(handler)
    return opaque.identity, opaque.text


def _name(number: Any) -> str:
    try:
        return f"signal.getsignal(signal.{signal.Signals(number).name})"
    except ValueError:
        return f"signal.getsignal({number})"


class _Leftovers(Watcher):
    """Things that are reported when they appear, but not when they disappear."""

    def _differences(self, before: Reading, after: Reading) -> List[Change]:
        return super()._differences({n: v for n, v in before.items() if n in after}, after)


class Threads(_Leftovers):
    """Live threads."""

    kind = "thread"

    def read(self) -> Reading:
        active = threading._active  # type: ignore[attr-defined]
        if len(active) == 1:
            return {}
        mine = get_ident()
        return {
            f"threading.enumerate() {_thread_name(thread)!r}": Opaque(thread).text
            for ident, thread in list(active.items())
            if ident != mine
        }

    def show(self, value: Any) -> str:
        return str(value)

    def put_back(self, name: str, value: Optional[Any]) -> None:
        raise Cannot("a thread can only end itself")


def _thread_name(thread: Any) -> str:
    name = object.__getattribute__(thread, "__dict__").get("_name")
    return name if type(name) is str else "?"


class Processes(_Leftovers):
    """Running child processes."""

    kind = "process"

    def read(self) -> Reading:
        found: Reading = {}
        if not _has_children():
            return found
        for pid in _children():
            name = _command(pid)
            if name:
                found[f"child process {name}"] = "running"
        return found

    def show(self, value: Any) -> str:
        return str(value)

    def put_back(self, name: str, value: Optional[Any]) -> None:
        raise Cannot("whoever started a process may still wait for it")


def _has_children() -> bool:
    try:
        waitid(P_ALL, 0, WEXITED | WNOHANG | WNOWAIT)
        return True
    except ChildProcessError:
        return False


def _children() -> List[str]:
    found: List[str] = []
    try:
        for task in listdir("/proc/self/task"):
            with open(f"/proc/self/task/{task}/children", "rb", buffering=0) as file:
                found += (file.read(1 << 16) or b"").decode("ascii").split()
    except OSError:
        # The kernel does not support it, or the thread has just ended.
        pass
    return found


def _command(pid: str) -> str:
    """The name of a process, if it has not ended."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            text = file.read().decode("utf-8", "replace")
    except OSError:
        return ""
    name, rest = text[text.index("(") + 1 : text.rindex(")")], text[text.rindex(")") + 2 :]
    return "" if rest[:1] in ("Z", "X") else repr(name)


class Descriptors(Watcher):
    """Open files and sockets."""

    kind = "descriptor"
    _listing = "/proc/self/fd"

    def __init__(self, ours: Set[int]) -> None:
        self._ours = {str(fd) for fd in ours}
        self._files: Dict[str, Any] = {}
        super().__init__()

    def read(self) -> Reading:
        files: Dict[str, Any] = {}
        for fd in listdir(self._listing):
            try:
                status = fstat(int(fd))
                files[fd] = status.st_dev, status.st_ino
            except OSError:
                # The descriptor of the listing itself.
                continue
        before, self._files = self._files, files
        # Determining their names takes longer than everything else.
        return self._last if files == before else self._named(files)

    def _named(self, files: Dict[str, Any]) -> Reading:
        found: Reading = {}
        for fd in files:
            try:
                found[fd] = readlink(f"{self._listing}/{fd}")
            except OSError:
                continue
        return found

    def _differences(self, before: Reading, after: Reading) -> List[Change]:
        named = [
            {f"descriptor {fd}": r[fd] for fd in r if fd not in self._ours} for r in (before, after)
        ]
        return super()._differences(*named)

    def show(self, value: Any) -> str:
        # `socket:[1234]`: the number differs in each run.
        return str(value).split(":[")[0]

    def put_back(self, name: str, value: Optional[Any]) -> None:
        raise Cannot("whoever opened it would close it once more")


SIMPLE: Dict[str, Callable[[], Watcher]] = {
    watcher.kind: watcher
    for watcher in (
        Environment,
        WorkingDirectory,
        Umask,
        Locale,
        TimeZone,
        Signals,
        Threads,
        Processes,
    )
}
