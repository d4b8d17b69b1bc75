"""What does the interpreter itself remember that a test can leave changed?

The search path and the loaded modules, warnings filters, random generators, the event loop, patches
that were started and not stopped, and a handful of settings (``interpreter``). Modules that were
never imported are not imported to be looked at.
"""

import gc
import random
import sys
import warnings
from operator import is_
from typing import Any, Callable, Dict, List, Optional, Tuple

from .change import Cannot, Change, Opaque, is_atom, name_of, show_atom
from .shapes import RUNNERS, file_of, is_library, namespace_of
from .simple import Reading, Watcher
from .stamps import fingerprint

_getstate, _setstate = random.getstate, random.setstate


def _labelled(value: Any) -> Any:
    """An atom as it is, of other values the identity and the text."""
    if is_atom(value):
        return value
    opaque = Opaque(value)
    return opaque.identity, opaque.text


def _shown(value: Any) -> str:
    is_opaque = type(value) is tuple and len(value) == 2 and type(value[1]) is str
    return str(value[1]) if is_opaque else show_atom(value)


class Lists(Watcher):
    """Lists in a module of the library."""

    names: Tuple[str, ...] = ()

    def __init__(self) -> None:
        self._ids: List[Any] = []
        self._lists: Dict[str, Any] = {}
        self._read: Reading = {}
        super().__init__()

    def read(self) -> Reading:
        found = [_attribute(name) for name in self.names]
        ids = [list(map(id, held)) for held in found]
        if ids != self._ids:
            self._ids = ids
            labelled = [tuple(map(_labelled, held)) for held in found]
            self._read = dict(zip(self.names, labelled))
        return self._read

    def _differences(self, before: Reading, after: Reading) -> List[Change]:
        changes = super()._differences(before, after)
        for change in changes:
            old, new = _different_part(before[change.where], after[change.where])
            change.before, change.after = self._items(old), self._items(new)
        return changes

    def _items(self, items: Any) -> Optional[str]:
        if not items:
            return None
        return self._shown(", ".join(map(_shown, items)))

    def show(self, value: Any) -> str:
        return value if type(value) is str else "[{}]".format(", ".join(map(_shown, value)))

    def keep(self) -> None:
        self._lists = {name: (_live(name), _attribute(name)) for name in self.names}

    def put_back(self, name: str, value: Optional[Any]) -> None:
        live, items = self._lists[name]
        module, attribute = name.split(".")
        if type(live) is list:
            live[:] = items
        namespace_of(sys.modules[module])[attribute] = live


def _live(name: str) -> Any:
    module, attribute = name.split(".")
    return namespace_of(sys.modules[module]).get(attribute)


def _attribute(name: str) -> List[Any]:
    held = _live(name)
    return list(held) if type(held) is list or type(held) is tuple else [held]


def _different_part(old: Any, new: Any) -> Tuple[Any, Any]:
    """Both lists without their common beginning and end."""
    while old and new and old[0] == new[0]:
        old, new = old[1:], new[1:]
    while old and new and old[-1] == new[-1]:
        old, new = old[:-1], new[:-1]
    return old, new


class Path(Lists):
    """The search path for modules, and the command line."""

    kind = "path"
    names = ("sys.path", "sys.argv", "sys.meta_path", "sys.path_hooks")


class Warnings(Lists):
    """Warnings filters."""

    kind = "warnings"
    names = ("warnings.filters", "warnings.showwarning")

    def put_back(self, name: str, value: Optional[Any]) -> None:
        super().put_back(name, value)
        # There are two copies of the filters; this updates the other one.
        warnings._filters_mutated()  # type: ignore[attr-defined]


class Modules(Watcher):
    """The names of loaded modules.

    Loading a module of the standard library is not reported: nothing depends on it, and the runner
    loads some when the first test fails.
    """

    kind = "modules"

    def __init__(self) -> None:
        self._kept: Dict[str, Any] = {}
        self._seen: List[Any] = []
        self._read: Reading = {}
        super().__init__()

    def read(self) -> Reading:
        loaded = dict.values(sys.modules)
        if len(loaded) != len(self._seen) or not all(map(is_, self._seen, loaded)):
            self._seen = list(loaded)
            self._read = {name: id(module) for name, module in dict.items(sys.modules)}
        return self._read

    def _differences(self, before: Reading, after: Reading) -> List[Change]:
        changes = []
        for name in sorted(k for k in {*before, *after} if type(k) is str):
            old, new = before.get(name), after.get(name)
            if old == new or (old is None and _is_harmless(name)):
                continue
            parent = name.rpartition(".")[0]
            if parent in after and (parent in before) == (name in before) and name != parent:
                if before.get(parent) != after.get(parent):
                    # It is reported with its package.
                    continue
            texts = [None if state is None else "<module>" for state in (old, new)]
            if old and new:
                texts[1] = "<another module>"
            change = Change(f"sys.modules[{name!r}]", texts[0], texts[1], self._undo(name, old))
            changes.append(change.under("", self.kind, True))
        return changes

    def keep(self) -> None:
        self._kept = dict(sys.modules)

    def put_back(self, name: str, value: Optional[Any]) -> None:
        for loaded in [m for m in list(sys.modules) if m == name or m.startswith(name + ".")]:
            if loaded not in self._kept:
                del sys.modules[loaded]
        if name in self._kept:
            sys.modules[name] = self._kept[name]


def _is_harmless(name: str) -> bool:
    if name.split(".")[0] in RUNNERS + ("pygments", "_pytest", "pdb", "encodings"):
        return True
    module = sys.modules.get(name)
    path = file_of(module)
    if path is not None:
        # Not if it has another name than its own.
        return is_library(path) and namespace_of(module).get("__name__") == name
    return name in sys.builtin_module_names


class Draws(Watcher):
    """Random generators. Drawing from them changes them."""

    kind = "random"

    def __init__(self) -> None:
        self._kept: Any = None
        self._numpy: Any = None
        super().__init__()

    def read(self) -> Reading:
        found: Reading = {"random.getstate()": hash(_getstate())}
        state = _numpy_state()
        if state is not None:
            found["numpy.random.get_state()"] = hash((state[1].tobytes(), *state[2:]))
        return found

    def show(self, value: Any) -> str:
        return fingerprint(value)

    def keep(self) -> None:
        self._kept, self._numpy = _getstate(), _numpy_state()

    def put_back(self, name: str, value: Optional[Any]) -> None:
        if name == "random.getstate()":
            _setstate(self._kept)
        elif self._numpy is None:
            raise Cannot("numpy had not been loaded at the beginning")
        else:
            sys.modules["numpy.random"].set_state(self._numpy)


def _numpy_state() -> Any:
    module = sys.modules.get("numpy.random")
    get = namespace_of(module).get("get_state") if file_of(module) else None
    try:
        state = get() if get is not None else None
    except Exception:
        return None
    return state if type(state) is tuple else None


class EventLoop(Watcher):
    """The policy of asyncio, and the loop it would return."""

    kind = "event-loop"

    def __init__(self) -> None:
        self._kept: Any = None
        super().__init__()

    def read(self) -> Reading:
        events = sys.modules.get("asyncio.events")
        if events is None:
            return _NO_LOOP
        policy = namespace_of(events).get("_event_loop_policy")
        if policy is None:
            return _NO_LOOP
        found = {_POLICY: _DEFAULT, _LOOP: "(none yet)"}
        if not _is_default(policy):
            found[_POLICY] = f"<{name_of(type(policy))}>"
        local = _local_of(policy)
        if local is not None:
            found[_LOOP] = _loop_text(local)
        return found

    def show(self, value: Any) -> str:
        return str(value)

    def keep(self) -> None:
        events = sys.modules.get("asyncio.events")
        policy = None if events is None else namespace_of(events).get("_event_loop_policy")
        local = _local_of(policy)
        loop = (getattr(local, "_loop", None), getattr(local, "_set_called", False))
        self._kept = (policy, loop)

    def put_back(self, name: str, value: Optional[Any]) -> None:
        policy, (loop, was_set) = self._kept
        events = sys.modules["asyncio.events"]
        if name == _POLICY:
            namespace_of(events)["_event_loop_policy"] = policy
            return
        local = _local_of(namespace_of(events).get("_event_loop_policy"))
        if local is not None:
            local._loop, local._set_called = loop, was_set


_POLICY, _LOOP = "asyncio.get_event_loop_policy()", "asyncio.get_event_loop()"
_DEFAULT = "(the default)"
_NO_LOOP = {_POLICY: _DEFAULT, _LOOP: "(none yet)"}


def _is_default(policy: Any) -> bool:
    return name_of(type(policy)) in (
        "asyncio.unix_events._UnixDefaultEventLoopPolicy",
        "asyncio.unix_events._DefaultEventLoopPolicy",
    )


def _local_of(policy: Any) -> Any:
    """Where a policy that derives from asyncio's keeps its loop."""
    if policy is None:
        return None
    try:
        local = object.__getattribute__(policy, "__dict__").get("_local")
    except AttributeError:
        return None
    return local if name_of(type(local)).startswith("asyncio.events.") else None


def _loop_text(local: Any) -> str:
    loop, was_set = getattr(local, "_loop", None), getattr(local, "_set_called", False)
    if loop is None:
        return "(set to none)" if was_set else "(none yet)"
    try:
        closed = object.__getattribute__(loop, "__dict__").get("_closed")
    except AttributeError:
        closed = None
    state = ", closed" if closed is True else ""
    return f"<{name_of(type(loop))}{state}>"


class Patches(Watcher):
    """Patches of ``unittest.mock`` that were started and not stopped."""

    kind = "mock"

    def read(self) -> Reading:
        return {_target(patch): "patched" for patch in _active()}

    def show(self, value: Any) -> str:
        return str(value)

    def put_back(self, name: str, value: Optional[Any]) -> None:
        if value is not None:
            raise Cannot("a patch that was stopped cannot be started again")
        for patch in [p for p in _active() if _target(p) == name]:
            patch.stop()


def _active() -> List[Any]:
    found: List[Any] = []
    for name in ("unittest.mock", "mock.mock"):
        patch = getattr(sys.modules.get(name), "_patch", None)
        found += getattr(patch, "_active_patches", ())
    return found


def _target(patch: Any) -> str:
    target: Any = getattr(patch, "target", None)
    attribute = getattr(patch, "attribute", None)
    if attribute is None:
        # For a dictionary, the patch has the name it was given, if any.
        held = getattr(patch, "in_dict", None)
        return held if type(held) is str else f"<{name_of(type(held))}>"
    if issubclass(type(target), type):
        return f"{name_of(target)}.{attribute}"
    if file_of(target) is not None or type(target) is type(sys):
        return "{}.{}".format(namespace_of(target).get("__name__"), attribute)
    return f"<{name_of(type(target))}>.{attribute}"


class Interpreter(Watcher):
    """Settings that have no other watcher."""

    kind = "interpreter"
    _streams = ("stdin", "stdout", "stderr", "excepthook", "displayhook")

    def __init__(self) -> None:
        self._kept: Dict[str, Any] = {}
        super().__init__()

    def read(self) -> Reading:
        found: Reading = {
            "sys.getrecursionlimit()": sys.getrecursionlimit(),
            "sys.dont_write_bytecode": bool(sys.dont_write_bytecode),
            "gc.isenabled()": gc.isenabled(),
        }
        for name in self._streams:
            found[f"sys.{name}"] = id(sys.__dict__.get(name))
        sockets = sys.modules.get("_socket")
        if sockets is not None:
            found["socket.getdefaulttimeout()"] = repr(sockets.getdefaulttimeout())
        decimal = sys.modules.get("_decimal")
        if decimal is not None:
            context = decimal.getcontext()
            found["decimal.getcontext()"] = f"prec={context.prec}, {context.rounding}"
        return found

    def show(self, value: Any) -> str:
        return f"<object at {value:#x}>" if type(value) is int and value > 1 << 20 else str(value)

    def keep(self) -> None:
        self._kept = {f"sys.{name}": sys.__dict__.get(name) for name in self._streams}

    def put_back(self, name: str, value: Optional[Any]) -> None:
        if name in self._kept:
            setattr(sys, name[len("sys.") :], self._kept[name])
        elif name == "sys.getrecursionlimit()":
            sys.setrecursionlimit(value or 1000)
        elif name == "sys.dont_write_bytecode":
            sys.dont_write_bytecode = bool(value)
        elif name == "gc.isenabled()":
            (gc.enable if value else gc.disable)()
        elif name == "socket.getdefaulttimeout()":
            sys.modules["_socket"].setdefaulttimeout(None if value == "None" else float(value or 0))
        else:
            raise Cannot("it is not known how")


SIMPLE: Dict[str, Callable[[], Watcher]] = {
    watcher.kind: watcher
    for watcher in (Path, Warnings, Modules, Draws, EventLoop, Patches, Interpreter)
}
