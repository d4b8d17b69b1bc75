"""How do dictionaries, lists, sets and objects with attributes hold what they hold?

Each is read through the methods of the builtin type, never through those of a derived class. What
is too large or too deep is watched in part: by its length, and a sample from both ends.
"""

from collections import OrderedDict, deque
from operator import is_
from typing import Any, Callable, Dict, List, Optional, Tuple

from .change import Change, Opaque, Undo, clip, is_atom, joined, name_of, show_atom
from .nodes import DEPTH_MAX, GONE, N_ITEMS_MAX, SAMPLE, Book, Holder, Node, nothing, release, show
from .shapes import Shape


_dict_keys, _dict_values = dict.keys, dict.values


class Key:
    """A key of a dictionary that is not an atom."""

    __slots__ = ("identity", "text", "key")

    def __init__(self, key: Any, keeps: bool) -> None:
        self.identity = id(key)
        self.text = Opaque(key).text
        self.key = key if keeps else None

    def __hash__(self) -> int:
        return hash(self.identity)

    def __eq__(self, other: Any) -> bool:
        return type(other) is Key and other.identity == self.identity


def are_same_keys(labels: List[Any], keys: Any) -> bool:
    """Whether these are the keys with these labels."""
    if all(map(is_, labels, keys)):
        return True
    for label, key in zip(labels, keys):
        if label is not key and not (type(label) is Key and label.identity == id(key)):
            return False
    return True


def ends_with(labels: List[Any], namespace: Any) -> bool:
    """Whether the last name is the one with this label.

    Names of attributes are rarely removed, and new ones are added at the end; so this suffices if
    what they hold is known to be the same.
    """
    try:
        return not labels or next(reversed(namespace), None) is labels[-1]
    except TypeError:
        # Before Python 3.9 the namespace of a class cannot be read backwards.
        return are_same_keys(labels, namespace)


class Dictionary(Holder):
    """A dictionary, or an object derived from one."""

    __slots__ = ()

    def values(self, value: Any) -> List[Any]:
        return list(dict.values(value))

    def read_labels(self, value: Any) -> List[Any]:
        return [key if is_atom(key) else Key(key, self.keeps) for key in dict.keys(value)]

    def unchanged(self, value: Any) -> Optional[List[Any]]:
        values = list(_dict_values(value))
        is_same = list(map(id, values)) == self.ids
        return values if is_same and are_same_keys(self.labels, _dict_keys(value)) else None

    def accessor(self, label: Any) -> str:
        return "[{}]".format(label.text if type(label) is Key else show_atom(label))

    def store(self, value: Any, label: Any, old: Any) -> Undo:
        key = label.key if type(label) is Key else label
        # An ordered one keeps a second record, which only its own methods keep in step.
        kind: Any = OrderedDict if issubclass(type(value), OrderedDict) else dict

        def undo() -> None:
            if old is GONE:
                kind.__delitem__(value, key)
            else:
                kind.__setitem__(value, key, old)

        return undo

    def show(self) -> str:
        pairs = [
            "{}: {}".format(self.accessor(label)[1:-1], show(held))
            for label, held in list(zip(self.labels, self.frozen))[:SAMPLE]
        ]
        return joined(pairs, len(self.frozen), "{}")


class Sequence(Holder):
    """A list or a deque; items are matched by position."""

    __slots__ = ("container",)

    def __init__(self, book: Book, value: Any, depth: int) -> None:
        self.container: Any = deque if issubclass(type(value), deque) else list
        super().__init__(book, value, depth)

    def values(self, value: Any) -> List[Any]:
        return list(self.container.__iter__(value))

    def read_labels(self, value: Any) -> List[Any]:
        return list(range(self.container.__len__(value)))

    def has_same_labels(self, value: Any) -> bool:
        return True

    def accessor(self, label: Any) -> str:
        return f"[{label}]"

    def look_closely(self, book: Book, value: Any, values: List[Any]) -> List[Change]:
        n_common = min(len(values), len(self.ids))
        if len(values) == len(self.ids) or self._begins_with(values, n_common):
            return super().look_closely(book, value, values)
        # Something was inserted or removed before the end, so positions mean nothing any more.
        before, old = self.show(), self.frozen
        for node in old:
            release(book, node)
        self.labels = list(range(len(values)))
        self._note(values)
        self.frozen = [book.freeze(held, self.depth + 1) for held in values]
        self._find_deep()
        return [Change("", before, self.show(), self._whole(value))]

    def _begins_with(self, values: List[Any], n: int) -> bool:
        return list(map(id, values[:n])) == self.ids[:n]

    def _whole(self, value: Any) -> Undo:
        container, kept = self.container, self.kept
        if kept is None:
            return nothing
        items = list(kept)

        def undo() -> None:
            container.clear(value)
            container.extend(value, items)

        return undo

    def store(self, value: Any, label: Any, old: Any) -> Undo:
        container = self.container
        is_missing = label >= container.__len__(value)

        def undo() -> None:
            if old is GONE:
                container.__delitem__(value, label)
            elif is_missing:
                container.insert(value, label, old)
            else:
                container.__setitem__(value, label, old)

        return undo


class Tuple_(Holder):
    """A tuple that holds something that can change; the tuple itself cannot."""

    __slots__ = ()

    def values(self, value: Any) -> List[Any]:
        return list(value)

    def read_labels(self, value: Any) -> List[Any]:
        return list(range(len(value)))

    def fits(self, value: Any) -> bool:
        return id(value) == self.identity

    def accessor(self, label: Any) -> str:
        return f"[{label}]"

    def show(self) -> str:
        return joined(list(map(show, self.frozen[:SAMPLE])), len(self.frozen), "()")


def _tuple(book: Book, value: Any, depth: int) -> Optional[Node]:
    """Most tuples hold nothing that can change, so that their identity suffices."""
    if depth >= DEPTH_MAX or book.n_left <= 0 or len(value) > N_ITEMS_MAX:
        book.in_part = True
        return None
    node = Tuple_(book, value, depth)
    return node if node.deep or len(value) <= SAMPLE else None


class Elements(Holder):
    """A set. Its elements have no names, so it changes as a whole."""

    __slots__ = ()

    def values(self, value: Any) -> List[Any]:
        return list(set.__iter__(value))

    def read_labels(self, value: Any) -> List[Any]:
        return []

    def has_same_labels(self, value: Any) -> bool:
        return True

    def freeze(self, book: Book, position: int, held: Any) -> Any:
        return held if is_atom(held) else Opaque(held)

    def look_closely(self, book: Book, value: Any, values: List[Any]) -> List[Change]:
        before, old = self.show(), self._names()
        self._note(values)
        self.frozen = [self.freeze(book, 0, held) for held in values]
        if old == self._names():
            return []
        kept = self.kept

        def undo() -> None:
            set.clear(value)
            set.update(value, kept or ())

        return [Change("", before, self.show(), undo)]

    def _names(self) -> Any:
        atoms = {(id(type(held)), held) for held in self.frozen if type(held) is not Opaque}
        return atoms, {held.identity for held in self.frozen if type(held) is Opaque}

    def show(self) -> str:
        if not self.frozen:
            return "set()"
        return joined(sorted(map(show, self.frozen)), len(self.frozen), "{}")


class Bytes(Node):
    """A ``bytearray``, or anything that can be read like one."""

    __slots__ = ("data",)

    def __init__(self, book: Book, value: Any, depth: int) -> None:
        super().__init__(book, value)
        self.data = bytes(memoryview(value)[:N_ITEMS_MAX])

    def peek(self, value: Any) -> Optional[List[Any]]:
        return [] if bytes(memoryview(value)[:N_ITEMS_MAX]) == self.data else None

    def look(self, book: Book, value: Any) -> List[Change]:
        data = bytes(memoryview(value)[:N_ITEMS_MAX])
        if data == self.data:
            return []
        old, before, self.data = self.data, self.show(), data

        def undo() -> None:
            value[:] = old

        return [Change("", before, self.show(), undo)]

    def show(self) -> str:
        return clip(f"bytearray({self.data[: SAMPLE * 4]!r})")


class Part(Node):
    """A container too large or too deep: its length, and a sample from both ends."""

    __slots__ = ("length", "sample", "name", "container")

    def __init__(self, book: Book, value: Any) -> None:
        super().__init__(book, value)
        self.name = name_of(type(value))
        self.container: Any = book.shapes.of(type(value)).container
        self.length, self.sample = self._read(value)

    def _read(self, value: Any) -> Tuple[int, List[int]]:
        return _length(self.container, value), _sample(self.container, value)

    def peek(self, value: Any) -> Optional[List[Any]]:
        return [] if self._read(value) == (self.length, self.sample) else None

    def look(self, book: Book, value: Any) -> List[Change]:
        now = self._read(value)
        if now == (self.length, self.sample):
            return []
        before = self.show()
        self.length, self.sample = now
        return [Change("", before, self.show(), "it is too large to be kept")]

    def show(self) -> str:
        return f"<{self.name} of {self.length} items> (in part)"


def _length(container: type, value: Any) -> int:
    return int(container.__len__(value))  # type: ignore[attr-defined]


def _sample(container: Any, value: Any) -> List[int]:
    if container is list or container is bytearray:
        return list(map(id, container.__getitem__(value, slice(None, SAMPLE)))) + list(
            map(id, container.__getitem__(value, slice(-SAMPLE, None)))
        )
    ends = [container.__iter__(value)]
    if container is not set:
        ends.append(container.__reversed__(value))
    return [id(item) for end in ends for item, _ in zip(end, range(SAMPLE))]


class Instance(Holder):
    """An object with attributes, and possibly the contents of a container."""

    __slots__ = ("shape", "contents", "slot_names", "name")

    def __init__(self, book: Book, value: Any, depth: int) -> None:
        self.shape: Shape = book.shapes.of(type(value))
        self.slot_names: List[str] = []
        self.contents: Optional[Node] = None
        self.name = name_of(type(value))
        super().__init__(book, value, depth)
        if self.shape.container is not None:
            self.contents = _CONTENTS[self.shape.container](book, value, depth)
            book.claims[id(value)] = self

    def values(self, value: Any) -> List[Any]:
        held = []
        if self.shape.namespace is not None:
            held = list(dict.values(self.shape.namespace.__get__(value)))
        if self.shape.slots:
            names = self.slot_names = []
            for name, slot in self.shape.slots:
                try:
                    held.append(slot.__get__(value))
                    names.append(name)
                except AttributeError:
                    # The attribute is not set.
                    continue
        return held

    def read_labels(self, value: Any) -> List[Any]:
        if self.shape.namespace is None:
            return list(self.slot_names)
        keys = dict.keys(self.shape.namespace.__get__(value))
        named = [key if type(key) is str else Key(key, self.keeps) for key in keys]
        return named + self.slot_names

    def unchanged(self, value: Any) -> Optional[List[Any]]:
        shape = self.shape
        if shape.slots or shape.namespace is None:
            return super().unchanged(value)
        attributes = shape.namespace.__get__(value)
        values = list(_dict_values(attributes))
        is_same = list(map(id, values)) == self.ids
        return values if is_same and ends_with(self.labels, _dict_keys(attributes)) else None

    def has_same_labels(self, value: Any) -> bool:
        n_slots = len(self.slot_names)
        n_names = len(self.labels) - n_slots
        if n_slots and self.labels[n_names:] != self.slot_names:
            return False
        namespace = self.shape.namespace
        return namespace is None or ends_with(
            self.labels[:n_names], dict.keys(namespace.__get__(value))
        )

    def accessor(self, label: Any) -> str:
        return f".{label}" if type(label) is str else f".{label.text}"

    def look(self, book: Book, value: Any) -> List[Change]:
        found = super().look(book, value)
        if self.contents is not None:
            found = found + self.contents.look(book, value)
        return found

    def children(self) -> List[Any]:
        return super().children() + ([self.contents] if self.contents else [])

    def peek(self, value: Any) -> Optional[List[Any]]:
        values = self.unchanged(value)
        return values if values is None else [*values, value]

    def inside(self) -> Tuple[List[Tuple[int, Any]], int]:
        n_values = len(self.ids)
        contents = [] if self.contents is None else [(n_values, self.contents)]
        return self.deep + contents, n_values + 1

    def store(self, value: Any, label: Any, old: Any) -> Undo:
        slot = next((slot for name, slot in self.shape.slots if name == label), None)
        namespace = self.shape.namespace

        def undo() -> None:
            if slot is None:
                assert namespace is not None
                put(namespace.__get__(value), label, old)
            elif old is GONE:
                slot.__delete__(value)
            else:
                slot.__set__(value, old)

        return undo

    def show(self) -> str:
        return f"<{self.name}>" if self.contents is None else self.contents.show()


def put(namespace: Any, label: Any, old: Any) -> None:
    key = label.key if type(label) is Key else label
    if old is GONE:
        dict.__delitem__(namespace, key)
    else:
        dict.__setitem__(namespace, key, old)


_CONTENTS: Dict[type, Callable[[Book, Any, int], Node]] = {
    dict: Dictionary,
    list: Sequence,
    deque: Sequence,
    set: Elements,
    bytearray: Bytes,
}


def structure(book: Book, value: Any, depth: int) -> Optional[Node]:
    """A node for a value that holds others, if it does."""
    kind = type(value)
    if kind is tuple:
        return _tuple(book, value, depth)
    shape = book.shapes.of(kind)
    if shape.is_closed:
        return None
    if depth >= DEPTH_MAX or book.n_left <= 0:
        book.in_part = True
        return Part(book, value) if shape.container else None
    if shape.container is not None and _length(shape.container, value) > N_ITEMS_MAX:
        book.in_part = True
        return Part(book, value)
    if shape.namespace is None and not shape.slots:
        return _CONTENTS[shape.container](book, value, depth)  # type: ignore[index]
    return Instance(book, value, depth)
