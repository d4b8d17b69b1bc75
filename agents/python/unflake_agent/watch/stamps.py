"""Which objects change without holding anything?

Iterators advance, random generators are drawn from, a ``ContextVar`` and a ``threading.local`` hold
something that is not in them. Each is read through the exact type that C code made, and left alone
if it is a subclass.
"""

import gc
import itertools
import random
import sys
from _thread import _local
from types import GeneratorType
from typing import Any, Callable, List, Optional, Tuple

from .change import Cannot, Change, Undo, is_atom
from .containers import Dictionary
from .nodes import GONE, Book, Holder, Node

_draws = random.Random.getstate
_put_draws = random.Random.setstate
_count_repr = itertools.count.__repr__


class Stamp(Node):
    """An object whose fingerprint is compared."""

    __slots__ = ("stamp", "read", "kept")

    def __init__(self, book: Book, value: Any, read: Callable[[Any], Any]) -> None:
        super().__init__(book, value)
        self.read = read
        self.stamp = read(value)
        self.kept: Any = None

    def peek(self, value: Any) -> Optional[List[Any]]:
        return [] if self.read(value) == self.stamp else None

    def look(self, book: Book, value: Any) -> List[Change]:
        stamp = self.read(value)
        if stamp == self.stamp:
            return []
        before, self.stamp = self.show(), stamp
        return [Change("", before, self.show(), "it cannot be turned back")]

    def show(self) -> str:
        return str(self.stamp)


class Draws(Stamp):
    """A ``random.Random`` of the project."""

    __slots__ = ()

    def __init__(self, book: Book, value: Any) -> None:
        super().__init__(book, value, _fingerprint)
        if book.keeps:
            self.kept = _draws(value)

    def look(self, book: Book, value: Any) -> List[Change]:
        changes = super().look(book, value)
        for change in changes:
            change.under(".getstate()", "random")
            if self.kept is not None:
                change.undo = self._turning_back(value)
        return changes

    def _turning_back(self, value: Any) -> Undo:
        return lambda: _put_draws(value, self.kept)


def _fingerprint(value: Any) -> str:
    return fingerprint(_draws(value))


def fingerprint(state: Any) -> str:
    """A digest of a state that is too long to be shown."""
    return f"<state {hash(state) & 0xFFFFFFFF:08x}>"


def _count(value: Any) -> str:
    # It may count in objects of the user's, whose `repr` would be called.
    held = [each for each in gc.get_referents(value) if each is not itertools.count]
    return _count_repr(value) if all(map(is_atom, held)) else "<count>"


def _generator(value: Any) -> str:
    frame = value.gi_frame
    return "<generator, ended>" if frame is None else f"<generator, at {frame.f_lasti}>"


class Current(Holder):
    """The value of a ``ContextVar``, in the context in which tests run."""

    __slots__ = ()

    def values(self, value: Any) -> List[Any]:
        held = value.get(GONE)
        return [] if held is GONE else [held]

    def read_labels(self, value: Any) -> List[Any]:
        return [] if value.get(GONE) is GONE else [".get()"]

    def accessor(self, label: Any) -> str:
        return str(label)

    def store(self, value: Any, label: Any, old: Any) -> Undo:
        def undo() -> None:
            if old is GONE:
                raise Cannot("a ContextVar that was set cannot be unset")
            value.set(old)

        return undo


class Local(Dictionary):
    """What a ``threading.local`` holds for the thread that runs tests."""

    __slots__ = ()

    def values(self, value: Any) -> List[Any]:
        return list(_namespace(value).values())

    def read_labels(self, value: Any) -> List[Any]:
        return super().read_labels(_namespace(value))

    def unchanged(self, value: Any) -> Optional[List[Any]]:
        return super().unchanged(_namespace(value))

    def accessor(self, label: Any) -> str:
        return f".{label}"

    def store(self, value: Any, label: Any, old: Any) -> Undo:
        return super().store(_namespace(value), label, old)


def _namespace(value: Any) -> Any:
    return _local.__getattribute__(value, "__dict__")


_KINDS: Tuple[Tuple[type, Callable[[Book, Any], Node]], ...] = (
    (random.Random, Draws),
    (itertools.count, lambda book, value: Stamp(book, value, _count)),
    (GeneratorType, lambda book, value: Stamp(book, value, _generator)),
    (_local, lambda book, value: Local(book, value, 1)),
)


def stamped(book: Book, value: Any) -> Optional[Node]:
    """A node for an object of one of these types, if it is one."""
    kind = type(value)
    for wanted, make in _KINDS:
        if kind is wanted:
            return make(book, value)
    variables = sys.modules.get("contextvars")
    if variables is not None and kind is getattr(variables, "ContextVar", None):
        return Current(book, value, 1)
    return None
