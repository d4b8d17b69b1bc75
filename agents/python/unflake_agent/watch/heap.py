"""Which objects of this process belong to the program, and which of them changed?

The project's modules are those whose file is in the work tree, and not in a virtual environment in
it; with ``third-party`` also all installed ones. Everything is reached from them.

An object that several modules have (``from shop.config import SETTINGS``) is reported under one
name: for a class or function, that of the module it says it is from; for other objects, that of the
module whose source assigns to that name.

For some modules of the standard library (``time``, ``os`` ...) only rebound functions and classes
are reported: that is how tests replace them, and forget to put them back.
"""

import gc
import os
import re
import sys
from operator import is_, itemgetter
from time import perf_counter
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any, Dict, FrozenSet, List, Optional, Tuple

from .change import Change, Opaque, Undo, is_atom
from .code import Module, Project
from .containers import put, structure
from .nodes import GONE, Book, Holder
from .quick import Group
from .shapes import RUNNERS as _RUNNERS
from .shapes import file_of, is_installed, is_library, namespace_of

KINDS = ("global", "class-attribute", "default-argument", "closure", "cache", "random")
THIRD_PARTY = "third-party"

_SHALLOW = ("builtins", "os", "posixpath", "time", "datetime", "socket", "subprocess", "shutil")

_SOURCE_MAX = 1 << 20
_WORTH_RELAXING = 100
"""Nodes; a smaller global costs nothing that would be noticed."""

_FAILURES_MAX = 3
"""So often a module may change while it is looked at; then it is left alone."""

_GRACE_SECONDS = 1.0
"""Watching may take so much longer than the tests before anything is watched less closely."""


_PATIENCE = 16
"""Looks before anything is laid out to be looked at together; most runs are shorter."""

_REVIEW_AFTER = 128
"""Looks after which it is seen which modules have calmed down."""


class Shallow(Holder):
    """A module of the library, watched for functions and classes that were replaced."""

    __slots__ = ("name", "names", "get")

    def __init__(self, book: Book, value: Any, project: Project, name: str) -> None:
        self.name = name
        namespace = namespace_of(value)
        self.names = [n for n, held in namespace.items() if type(n) is str and _is_code(held)]
        self.get = itemgetter(*self.names)
        super().__init__(book, value, 0)

    def values(self, value: Any) -> List[Any]:
        namespace = namespace_of(value)
        try:
            return list(self.get(namespace))
        except KeyError:
            return [namespace.get(name, GONE) for name in self.names]

    def read_labels(self, value: Any) -> List[Any]:
        return self.names

    def has_same_labels(self, value: Any) -> bool:
        return True

    def freeze(self, book: Book, position: int, held: Any) -> Any:
        return Opaque(held)

    def accessor(self, label: Any) -> str:
        return f".{label}"

    def store(self, value: Any, label: Any, old: Any) -> Undo:
        return lambda: put(namespace_of(value), label, old)

    def look(self, book: Book, value: Any) -> List[Change]:
        return [c.under(self.name, "global", True) for c in super().look(book, value)]


def _is_code(value: Any) -> bool:
    kind = type(value)
    return kind is FunctionType or kind is BuiltinFunctionType or kind is type


class Heap:
    """The project's modules, as they were at the last look."""

    def __init__(
        self,
        kinds: FrozenSet[str],
        tree: str,
        keeps: bool,
        items: Optional[List[str]] = None,
    ) -> None:
        """``items`` are all that will be put back, if that is known in advance."""
        self._kinds = kinds
        self._items = items
        self._tree = tree.rstrip(os.sep) + os.sep
        self._project = Project(kinds)
        self._keeps = keeps
        self._in_part = False
        self._failures: Dict[int, int] = {}
        """How often a module was not to be read, by identity."""
        self._book = self._new_book()
        self._seen: List[Any] = []
        self._watched: List[Tuple[Any, Holder]] = []
        self._seconds = 0.0
        self._is_relaxed = False
        """Whether there is nothing left that would be worth watching less closely."""
        self._groups: List[Group] = []
        self._unrest: Dict[int, int] = {}
        """When each module was last seen to change, in looks."""
        self._n_looks = 0
        self._meet()

    def look(self, test_seconds: float) -> List[Change]:
        """The changes since the last look; ``test_seconds`` is the total time of all tests so
        far."""
        begun = perf_counter()
        changes: List[Change] = []
        book = self._book
        for group in self._groups[:]:
            # After beginning anew, there is nothing to compare with.
            if self._book is book and not group.is_same():
                changes += self._look_at(group)
        self._n_looks += 1
        if self._n_looks % _REVIEW_AFTER == 0:
            self._regroup(0)
        loaded = dict.values(sys.modules)
        if len(loaded) != len(self._seen) or not all(map(is_, self._seen, loaded)):
            self._meet()
        self._seconds += perf_counter() - begun
        if not self._is_relaxed and self._seconds > test_seconds + _GRACE_SECONDS:
            self._relax()
        return [change for change in changes if change.kind in self._kinds]

    def _look_at(self, group: Group) -> List[Change]:
        """Asks every node of some modules; those that changed are looked at separately next
        time."""
        changes: List[Change] = []
        restless = []
        for module, node in group.watched:
            try:
                found = node.look(self._book, module)
            except Exception:
                self._begin_anew(module)
                return changes
            if found:
                self._unrest[id(module)] = self._n_looks
                restless.append((module, node))
                changes += found
        if restless and len(group.watched) > 1:
            group.leave_out(restless)
            self._groups += [Group([pair]) for pair in restless]
        group.was_looked_at()
        return changes

    def _regroup(self, patience: int) -> None:
        """Puts all modules together that have not changed for a while."""
        calm_since = self._n_looks - _REVIEW_AFTER
        restless = [p for p in self._watched if self._unrest.get(id(p[0]), calm_since) > calm_since]
        calm = Group(self._watched, patience)
        calm.leave_out(restless)
        self._groups = [calm, *(Group([pair]) for pair in restless)]

    @property
    def is_in_part(self) -> bool:
        """Whether something was too large or too deep to be watched completely."""
        return self._in_part or self._book.in_part

    def _meet(self) -> None:
        """Begins to watch new modules, and stops watching those that are gone."""
        self._seen = list(dict.values(sys.modules))
        modules = [item for item in list(dict.items(sys.modules)) if type(item[0]) is str]
        there = {id(module) for _, module in modules}
        self._watched = [pair for pair in self._watched if id(pair[0]) in there]
        known = {id(module) for module, _ in self._watched}
        fresh = [item for item in modules if id(item[1]) not in known]
        ours = [item for item in fresh if self._is_watched(item[1])]
        enabled = gc.isenabled()
        # Makes thousands of nodes at once, none of them garbage.
        gc.disable()
        try:
            self._begin(sorted(reversed(ours), key=_is_of_tests))
            if "global" in self._kinds:
                library = [item for item in fresh if item[0] in _SHALLOW]
                self._add(library, Shallow)
        finally:
            if enabled:
                gc.enable()
        self._regroup(_PATIENCE)

    def _begin(self, modules: List[Tuple[str, Any]]) -> None:
        for name, module in modules:
            self._project.globals_ids.add(id(namespace_of(module)))
            self._project.names.add(name)
        owners = _owners(modules)
        for identity, owner in owners.items():
            self._book.claims.setdefault(identity, owner)
        homes = None if self._items is None else _homes(self._items, modules)
        self._add(modules if homes is None else homes, Module)

    def _add(self, modules: List[Tuple[str, Any]], kind: Any) -> None:
        for name, module in modules:
            # One module can have two names.
            is_known = any(module is known for known, _ in self._watched)
            if is_known or not issubclass(type(module), ModuleType):
                continue
            if self._failures.get(id(module), 0) >= _FAILURES_MAX:
                continue
            try:
                node = kind(self._book, module, self._project, name)
                self._watched.append((module, node))
            except Exception:
                self._failures[id(module)] = self._failures.get(id(module), 0) + 1

    def _is_watched(self, module: Any) -> bool:
        path = file_of(module)
        if path is None:
            return False
        if THIRD_PARTY in self._kinds and not is_library(path):
            top = str(namespace_of(module).get("__name__")).split(".")[0]
            return top not in _RUNNERS
        return path.startswith(self._tree) and not is_installed(path)

    def _begin_anew(self, module: Any) -> None:
        """A thread changed things while we looked, so what we know cannot be trusted."""
        failures = self._failures[id(module)] = self._failures.get(id(module), 0) + 1
        if failures == _FAILURES_MAX:
            self._in_part = True
        self._book, self._watched = self._new_book(), []
        self._meet()

    def _new_book(self) -> Book:
        book = Book(self._keeps, structure)
        book.special.append(self._project.special)
        return book

    def _relax(self) -> None:
        """Watches globals less closely, the largest first, until half of what they hold remains.

        Only half at a time, because measuring them takes as long as looking at them.
        """
        sizes = sorted(
            (
                (_size(node), number, position)
                for number, (_, holder) in enumerate(self._watched)
                for position, node in holder.deep
            ),
            reverse=True,
        )
        n_too_many = sum(size for size, _, _ in sizes) // 2
        self._is_relaxed = True
        for size, number, position in sizes:
            if n_too_many <= 0 or size < _WORTH_RELAXING:
                break
            module, holder = self._watched[number]
            holder.relax(self._book, position, holder.values(module)[position])
            n_too_many -= size
            self._is_relaxed = False
        self._regroup(_PATIENCE)


def _size(node: Any) -> int:
    return 1 + sum(map(_size, node.children()))


def _is_of_tests(item: Tuple[str, Any]) -> bool:
    name = os.path.basename(file_of(item[1]) or "")
    return name.startswith(("test_", "conftest")) or name.endswith("_test.py")


def _homes(items: List[str], modules: List[Tuple[str, Any]]) -> Optional[List[Tuple[str, Any]]]:
    """The modules that contain these items; None if one of them may be anywhere."""
    homes = {}
    for item in items:
        holders = [(name, module) for name, module in modules if item.startswith(name + ".")]
        name, module = max(holders, key=lambda holder: len(holder[0]), default=("", None))
        label = re.split(r"[.\[ ]", item[len(name) + 1 :])[0]
        held = namespace_of(module).get(label, GONE) if holders else GONE
        if held is GONE or getattr(held, "__module__", name) != name:
            return None
        homes[name] = module
    return list(homes.items())


def _owners(modules: List[Tuple[str, Any]]) -> Dict[int, Tuple[str, str]]:
    """The global under which each object in a module is reported, by its identity."""
    places: Dict[int, List[Tuple[str, str]]] = {}
    origins = {name: file_of(module) for name, module in modules}
    for name, module in modules:
        for label, held in list(namespace_of(module).items()):
            if type(label) is str and not label.startswith(("__", "@")) and _can_be_owned(held):
                places.setdefault(id(held), []).append((name, label))
    sources = Sources()
    return {
        identity: _first(found, origins, sources) if len(found) > 1 else found[0]
        for identity, found in places.items()
    }


def _can_be_owned(value: Any) -> bool:
    # Classes and functions know their names, wherever they are found.
    kind = type(value)
    return not is_atom(value) and kind is not FunctionType and not issubclass(kind, _NAMED)


_NAMED = (ModuleType, type, BuiltinFunctionType)


def _first(
    found: List[Tuple[str, str]], origins: Dict[str, Any], sources: "Sources"
) -> Tuple[str, str]:
    for name, label in found:
        if sources.assigns(origins[name], label):
            return name, label
    return found[0]


class Sources:
    """Source files, read when they are needed."""

    def __init__(self) -> None:
        self._texts: Dict[str, str] = {}

    def assigns(self, path: str, name: str) -> bool:
        """Whether a file assigns to a global of this name, or defines it."""
        if path not in self._texts:
            self._texts[path] = _read(path)
        pattern = rf"^(?:{re.escape(name)}\s*(?::[^=\n]+)?=[^=]|(?:class|(?:async )?def) {name}\b)"
        return re.search(pattern, self._texts[path], re.MULTILINE) is not None


def _read(path: str) -> str:
    try:
        with open(path, "rb") as file:
            return file.read(_SOURCE_MAX).decode("utf-8", "replace")
    except OSError:
        return ""
