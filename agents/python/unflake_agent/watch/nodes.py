"""What did an object hold when we last looked, and what is different now?

A *node* describes one object that can change: the identities of what it holds, in order, and below
it the nodes of those that can change themselves. Looking again means comparing identities, at the
speed of C; only if they differ is anything matched by name. So a pass over the program costs about
as much as the number of things in it that can change, and names are only put together if there is
something to report.

A node keeps atoms and functions, which is harmless, but only the identity of everything else:
watching does not keep objects alive that the program drops. (Another object of the same type at the
same address is then taken for the old one; it would also have to hold the same.) If state must be
put back later, nodes are built to *keep* what they describe.

An object belongs to the first node that finds it; others only see its identity. That ends cycles,
and a change is reported once, under one name.
"""

from types import BuiltinFunctionType, FunctionType
from typing import Any, Callable, Dict, List, Optional, Tuple

from .change import Change, Opaque, Undo, identity_of, is_atom, is_same_atom, joined, show_atom
from .shapes import Shapes

N_NODES_MAX = 20_000
"""Nodes below one global; what is beyond is watched in part."""

N_ITEMS_MAX = 5_000
"""Items of one container that are all looked at; of a longer one a sample is."""

N_ALL_NODES_MAX = 100_000
"""Nodes of the whole program."""

DEPTH_MAX = 24

SAMPLE = 50
_WHOLE_FROM = 20
"""From so many changes on in one container it is told as one that became another."""

_NO_CHANGES: List[Change] = []
"""Given by most looks; never added to."""

GONE: Any = object()


Structure = Callable[["Book", Any, int], Optional["Node"]]
"""Takes a value apart, at a depth; ``containers`` does."""


class Book:
    """What all nodes share."""

    def __init__(self, keeps: bool, structure: "Structure") -> None:
        self.keeps = keeps
        self._structure = structure
        self.shapes = Shapes()
        self.claims: Dict[int, Any] = {}
        """Whose an object is, by identity."""
        self.n_left = N_NODES_MAX
        self.n_all_left = N_ALL_NODES_MAX
        self.in_part = False
        self.special: List[Callable[["Book", Any], Optional["Node"]]] = []
        """Asked first; they know objects that are not mere containers."""

    def begin_global(self) -> None:
        """Gives the next global its own allowance, as long as the total allows it."""
        self.n_left = min(N_NODES_MAX, self.n_all_left)

    def freeze(self, value: Any, depth: int) -> Any:
        """An atom as it is, a node for what can change, else an ``Opaque``."""
        if is_atom(value):
            return value
        if id(value) in self.claims:
            return Opaque(value)
        for maker in self.special:
            node = maker(self, value)
            if node is not None:
                return node
        return self._structure(self, value, depth) or Opaque(value)

    def show_live(self, value: Any) -> str:
        """A value of the program as text."""
        book = Book(False, self._structure)
        book.n_left = 60
        return show(book.freeze(value, DEPTH_MAX - 4))

    def claim(self, value: Any, node: "Node") -> None:
        """Records that this node describes an object."""
        self.claims[id(value)] = node
        self.n_left -= 1
        self.n_all_left -= 1


_KEEPABLE_IDS = frozenset(map(id, (FunctionType, BuiltinFunctionType, type)))


def _may_be_kept(value: Any) -> bool:
    """Whether keeping a value for a while has no visible effect."""
    return is_atom(value) or id(type(value)) in _KEEPABLE_IDS


def show(frozen: Any) -> str:
    """A frozen value as text."""
    if isinstance(frozen, Node):
        return frozen.show()
    if type(frozen) is Opaque:
        return frozen.text
    return show_atom(frozen)


def release(book: Book, frozen: Any) -> None:
    """Releases a frozen value, which another node may describe from now on."""
    if isinstance(frozen, Node):
        owner: Any = book.claims.get(frozen.identity)
        if owner is frozen:
            del book.claims[frozen.identity]
        for child in frozen.children():
            release(book, child)


class Node:
    """One object that can change."""

    __slots__ = ("identity", "type_id")

    def __init__(self, book: Book, value: Any) -> None:
        self.identity = id(value)
        self.type_id = id(type(value))
        book.claim(value, self)

    def fits(self, value: Any) -> bool:
        """Whether this node could describe the value as well."""
        return id(type(value)) == self.type_id

    def look(self, book: Book, value: Any) -> List[Change]:
        """The changes since the last look; from now on, this look counts."""
        raise NotImplementedError

    def peek(self, value: Any) -> Optional[List[Any]]:
        """What it holds, if that has not changed; records nothing, and asks no nodes below."""
        raise NotImplementedError

    def inside(self) -> Tuple[List[Tuple[int, Any]], int]:
        """The nodes below, each with its position in the result of ``peek``, and their number."""
        return [], 0

    def show(self) -> str:
        raise NotImplementedError

    def children(self) -> List[Any]:
        return []


def compare(book: Book, old: Any, value: Any, depth: int) -> Tuple[Any, List[Change], bool]:
    """The new frozen value, the changes inside, and whether it is another object altogether."""
    is_node = isinstance(old, Node)
    if isinstance(old, Node) and old.fits(value):
        owner = book.claims.get(id(value))
        # If contents are put back, so is the object itself: others may refer to it, too.
        if owner is old or (owner is None and not book.keeps):
            if owner is None:
                book.claims.pop(old.identity, None)
                old.identity = id(value)
                book.claims[id(value)] = old
            return old, old.look(book, value), False
    if is_node:
        release(book, old)
    fresh = book.freeze(value, depth)
    if is_node or type(old) is Opaque:
        # It may be described by another node by now, or by ours for the first time, and still be
        # the same object.
        same = bool(old.identity == identity_of(value))
    else:
        same = not isinstance(fresh, (Node, Opaque)) and is_same_atom(old, fresh)
    return fresh, [], not same


class Holder(Node):
    """An object that holds others, each under a label."""

    __slots__ = ("held", "ids", "labels", "frozen", "deep", "depth", "keeps", "kept")

    def __init__(self, book: Book, value: Any, depth: int) -> None:
        super().__init__(book, value)
        self.depth = depth
        self.keeps = book.keeps
        self.kept: Optional[List[Any]] = None
        values = self.values(value)
        self.labels = self.read_labels(value)
        self._note(values)
        self.frozen: List[Any] = []
        for position, held in enumerate(values):
            self.frozen.append(self.freeze(book, position, held))
        self._find_deep()
        if book.keeps:
            self.kept = values

    is_one_thing = True
    """Whether many changes in it are told as one."""

    # What each kind of holder implements.

    def values(self, value: Any) -> List[Any]:
        raise NotImplementedError

    def read_labels(self, value: Any) -> List[Any]:
        """Safe to compare and, except for those of lists, to hash."""
        raise NotImplementedError

    def has_same_labels(self, value: Any) -> bool:
        return self.read_labels(value) == self.labels

    def accessor(self, label: Any) -> str:
        raise NotImplementedError

    def store(self, value: Any, label: Any, old: Any) -> Undo:
        """How to put something back under a label, or to remove what is there."""
        raise NotImplementedError

    def kind_of(self, label: Any) -> str:
        return ""

    def is_ignored(self, label: Any) -> bool:
        return False

    # What holders have in common.

    def _note(self, values: List[Any]) -> None:
        """Records the identities that must be equal next time; values that may be kept are kept, so
        that their identities stay valid."""
        self.ids = list(map(id, values))
        self.held = list(filter(_may_be_kept, values))

    def unchanged(self, value: Any) -> Optional[List[Any]]:
        """What it holds, if that has not changed, each in its position and under its label.

        Everything is asked after each test, so the most frequent kinds answer quickly.
        """
        values = self.values(value)
        is_same = list(map(id, values)) == self.ids and self.has_same_labels(value)
        return values if is_same else None

    def freeze(self, book: Book, position: int, held: Any) -> Any:
        if self.is_ignored(self.labels[position]):
            return None
        return book.freeze(held, self.depth + 1)

    def _find_deep(self) -> None:
        self.deep = [(n, held) for n, held in enumerate(self.frozen) if isinstance(held, Node)]

    def children(self) -> List[Any]:
        return [node for _, node in self.deep]

    def peek(self, value: Any) -> Optional[List[Any]]:
        return self.unchanged(value)

    def inside(self) -> Tuple[List[Tuple[int, Any]], int]:
        return self.deep, len(self.ids)

    def relax(self, book: Book, position: int, held: Any) -> None:
        """From now on watches one item only by its length or its identity."""
        release(book, self.frozen[position])
        book.n_left = 0
        self.frozen[position] = book.freeze(held, DEPTH_MAX)
        self._find_deep()

    def look(self, book: Book, value: Any) -> List[Change]:
        values = self.unchanged(value)
        if values is None:
            values = self.values(value)
            changes = self.look_closely(book, value, values)
            self.kept = values if self.keeps else None
            return changes
        changes = _NO_CHANGES
        for position, node in self.deep:
            found = node.look(book, values[position])
            if found:
                changes = changes + self._under(self.labels[position], found)
        return changes

    def _under(self, label: Any, found: List[Change]) -> List[Change]:
        prefix, kind = self.accessor(label), self.kind_of(label)
        return [change.under(prefix, kind) for change in found]

    def look_closely(self, book: Book, value: Any, values: List[Any]) -> List[Change]:
        """Matches the old and the new contents by label."""
        old = {label: n for n, label in enumerate(self.labels)}
        text_before = self.show()
        old_frozen, self.labels = self.frozen, self.read_labels(value)
        self.frozen = []
        self._note(values)
        changes: List[Change] = []
        for position, held in enumerate(values):
            label = self.labels[position]
            before = old.pop(label, None)
            if self.is_ignored(label):
                self.frozen.append(None)
            elif before is None:
                self.frozen.append(self.freeze(book, position, held))
                undo = self._undo(value, label, None)
                changes += self._under(label, [Change("", None, book.show_live(held), undo)])
            else:
                undo = self._undo(value, label, before)
                found = self._again(book, position, (old_frozen[before], held), undo)
                changes += self._under(label, found)
        for label, before in old.items():
            if not self.is_ignored(label):
                text = show(old_frozen[before])
                undo = self._undo(value, label, before)
                changes += self._under(label, [Change("", text, None, undo)])
            release(book, old_frozen[before])
        self._find_deep()
        if len(changes) > _WHOLE_FROM and self.is_one_thing:
            undos = [change.undo for change in changes]
            return [Change("", text_before, self.show(), undo_all(undos))]
        return changes

    def _again(self, book: Book, position: int, pair: Tuple[Any, Any], undo: Undo) -> List[Change]:
        old, held = pair
        before = show(old) if isinstance(old, Node) and not old.fits(held) else None
        fresh, found, is_other = compare(book, old, held, self.depth + 1)
        self.frozen.append(fresh)
        if is_other:
            return [Change("", before or show(old), book.show_live(held), undo)]
        return found

    def _undo(self, value: Any, label: Any, before: Optional[int]) -> Undo:
        kept = self.kept
        if kept is None:
            return nothing
        return self.store(value, label, GONE if before is None else kept[before])

    def show(self) -> str:
        return joined(list(map(show, self.frozen[:SAMPLE])), len(self.frozen), "[]")


def nothing() -> None:
    return None


def undo_all(undos: List[Undo]) -> Undo:
    def undo() -> None:
        for one in reversed(undos):
            one()

    return undo
