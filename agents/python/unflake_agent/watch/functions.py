"""What can a function hold from one call to the next?

Default arguments, which are made once; the variables of the functions around it (its closure);
attributes, like any object; and, if it was wrapped by ``functools.lru_cache``, results. Only the
number of the latter can be read.
"""

import functools
from types import FunctionType
from typing import Any, FrozenSet, List, Optional, Tuple

from .change import Change, Undo
from .containers import put
from .nodes import GONE, Book, Holder, Node

CallableCache = type(functools.lru_cache()(lambda: None))
"""What ``functools.cache`` and ``functools.lru_cache`` make of a function."""

_RUNNERS = frozenset(
    # What unittest, pytest and Hypothesis store on the classes and functions they run.
    ("_classSetupFailed", "_class_cleanups", "tearDown_exceptions", "pytestmark", "hypothesis")
    + ("is_hypothesis_test",)
)


def is_runners(name: str) -> bool:
    """Whether an attribute belongs to the runner, not to the program."""
    return name in _RUNNERS or name.startswith(("_pytest", "_hypothesis", "__pytest"))


def name_of_function(function: Any) -> str:
    """The name that a function has for itself."""
    module = dict.get(function.__globals__, "__name__")
    name = str(function.__qualname__)
    return f"{module}.{name}" if type(module) is str else name


class Function(Holder):
    """A function of the project."""

    __slots__ = ("name", "kinds", "cells")
    is_one_thing = False

    def __init__(self, book: Book, value: Any, kinds: FrozenSet[str]) -> None:
        self.name = name_of_function(value)
        self.kinds = kinds
        self.cells: List[int] = []
        if "closure" in kinds:
            for place, name in enumerate(value.__code__.co_freevars):
                # `super()` needs this one, and nobody changes it.
                if name != "__class__" and self._is_first(book, value.__closure__[place]):
                    self.cells.append(place)
        super().__init__(book, value, 1)

    def _is_first(self, book: Book, cell: Any) -> bool:
        """A variable shared by two functions is only watched in one of them."""
        return book.claims.setdefault(id(cell), self) is self

    @property
    def is_needed(self) -> bool:
        """Whether there is anything in it that could change."""
        return bool(self.deep) or any(
            label[0] != "default argument" and not self.is_ignored(label) for label in self.labels
        )

    def fits(self, value: Any) -> bool:
        return id(value) == self.identity

    def values(self, value: Any) -> List[Any]:
        held: List[Any] = []
        if "default-argument" in self.kinds:
            held += value.__defaults__ or ()
            held += (value.__kwdefaults__ or {}).values()
        for place in self.cells:
            try:
                held.append(value.__closure__[place].cell_contents)
            except ValueError:
                held.append(GONE)
        if "global" in self.kinds:
            held += value.__dict__.values()
        return held

    def read_labels(self, value: Any) -> List[Any]:
        labels = []
        code = value.__code__
        if "default-argument" in self.kinds:
            names = code.co_varnames[: code.co_argcount]
            defaults = value.__defaults__ or ()
            labels += [("default argument", n) for n in names[len(names) - len(defaults) :]]
            labels += [("default argument", n) for n in value.__kwdefaults__ or {}]
        labels += [("closure variable", code.co_freevars[place]) for place in self.cells]
        if "global" in self.kinds:
            labels += [("", name) for name in value.__dict__]
        return labels

    def has_same_labels(self, value: Any) -> bool:
        # The same number of defaults goes with the same arguments, and cells do not change.
        attributes = value.__dict__
        return not attributes or "global" not in self.kinds or self._ends_with(attributes)

    def _ends_with(self, attributes: Any) -> bool:
        return bool(self.labels) and next(reversed(attributes), None) is self.labels[-1][1]

    def is_ignored(self, label: Any) -> bool:
        return label[0] == "" and (type(label[1]) is not str or is_runners(label[1]))

    def accessor(self, label: Any) -> str:
        part, name = label
        return f"() {part} {name}" if part else f".{name}"

    def kind_of(self, label: Any) -> str:
        return {"default argument": "default-argument", "closure variable": "closure"}.get(
            label[0], "global"
        )

    def store(self, value: Any, label: Any, old: Any) -> Undo:
        part, name = label

        def undo() -> None:
            if part == "":
                put(value.__dict__, name, old)
            elif part == "closure variable":
                cell = value.__closure__[value.__code__.co_freevars.index(name)]
                _fill(cell, old)
            else:
                _set_default(value, name, old)

        return undo

    def look(self, book: Book, value: Any) -> List[Change]:
        found = super().look(book, value)
        return [c.under(self.name, "", True) for c in found] if found else found

    def show(self) -> str:
        return f"<function {self.name}>"


def _fill(cell: Any, old: Any) -> None:
    if old is GONE:
        del cell.cell_contents
    else:
        cell.cell_contents = old


def _set_default(function: Any, name: str, old: Any) -> None:
    keywords = function.__kwdefaults__ or {}
    if name in keywords:
        keywords[name] = old
        return
    code = function.__code__
    defaults = list(function.__defaults__)
    names = code.co_varnames[: code.co_argcount]
    defaults[names.index(name) - len(names)] = old
    function.__defaults__ = tuple(defaults)


class Wrapped(Node):
    """A static method, a class method or a property around a function."""

    __slots__ = ("inner",)

    def __init__(self, book: Book, value: Any, inner: Node) -> None:
        super().__init__(book, value)
        self.inner = inner

    @classmethod
    def around(cls, book: Book, value: Any) -> Optional["Wrapped"]:
        function = _unwrap(value)
        if type(function) is not FunctionType:
            return None
        inner = book.freeze(function, 1)
        return cls(book, value, inner) if isinstance(inner, Node) else None

    def fits(self, value: Any) -> bool:
        return id(value) == self.identity

    def peek(self, value: Any) -> Optional[List[Any]]:
        return [_unwrap(value)]

    def inside(self) -> Tuple[List[Tuple[int, Any]], int]:
        return [(0, self.inner)], 1

    def look(self, book: Book, value: Any) -> List[Change]:
        return self.inner.look(book, _unwrap(value))

    def show(self) -> str:
        return self.inner.show()

    def children(self) -> List[Any]:
        return [self.inner]


def _unwrap(value: Any) -> Any:
    if type(value) is property:
        return value.fget
    if type(value) is staticmethod or type(value) is classmethod:
        return value.__func__
    return None


class Cache(Node):
    """A function that caches its results."""

    __slots__ = ("size", "misses")

    def __init__(self, book: Book, value: Any) -> None:
        super().__init__(book, value)
        self.size, self.misses = self._read(value)

    def _read(self, value: Any) -> Any:
        _, misses, largest, size = CallableCache.cache_info(value)
        # Only in a full cache does a new result replace another one.
        return size, misses if size == largest else 0

    def fits(self, value: Any) -> bool:
        return id(value) == self.identity

    def peek(self, value: Any) -> Optional[List[Any]]:
        return [] if self._read(value) == (self.size, self.misses) else None

    def look(self, book: Book, value: Any) -> List[Change]:
        now = self._read(value)
        if now == (self.size, self.misses):
            return []
        old = self.size
        self.size, self.misses = now

        def undo() -> None:
            CallableCache.cache_clear(value)

        where, before, after = ".cache_info().currsize", f"{old}", f"{self.size}"
        if old == self.size:
            after += " (others)"
        change = Change(where, before, after, undo if old == 0 else "it cannot be filled again")
        return [change.under("", "cache")]

    def show(self) -> str:
        return f"<cache of {self.size} results>"
