"""Is everything unchanged?

After most tests it is, and finding that out node by node takes longer than many a test. So the
nodes of modules that have not changed for a while are arranged in *levels*: what the modules hold,
what that holds, and so on. A level is read as a whole, in a few calls of C functions: all values of
all its dictionaries in one list, their identities in another one, which is compared with that of
the last time. The contents of the next level are in that list, at known positions.

Nothing is kept here, no name is put together, nothing is changed: if anything differs, the nodes
are asked, as they would be without this.
"""

import sys
from itertools import chain
from operator import itemgetter
from types import GetSetDescriptorType, MappingProxyType
from typing import Any, Dict, Iterator, List, Optional, Tuple

from .change import type_dict
from .code import Class, Module, function_dict
from .containers import Dictionary, Elements, Instance, Key, Sequence, Tuple_
from .nodes import Holder
from .shapes import namespace_of

IS_POSSIBLE = sys.version_info >= (3, 9)
"""Before, the namespace of a class cannot be read backwards."""

_keys, _values, _proxy_values = dict.keys, dict.values, MappingProxyType.values
_namespace: Any = GetSetDescriptorType.__get__
_EXACT = frozenset(map(id, (list, set, tuple)))
"""Types whose objects can be iterated over without asking anybody."""

Placed = Tuple[int, Any]
"""A node, and where what it describes stands among the values of the level above."""


class Level:
    """Nodes at the same distance from their modules."""

    def __init__(self, placed: List[Placed]) -> None:
        kinds: Dict[str, List[Placed]] = {kind: [] for kind in _KINDS}
        for one in placed:
            kinds[_kind(one[1])].append(one)
        self._odd = kinds.pop("odd")
        places = {kind: [place for place, _ in some] for kind, some in kinds.items()}
        self._dictionaries, self._instances = places["dictionary"], places["instance"]
        self._modules, self._classes = places["module"], places["class"]
        self._sequences = places["sequence"]
        self._getters = [node.shape.namespace for _, node in kinds["instance"]]
        plain = [node for some in kinds.values() for _, node in some]
        self._ids = list(chain.from_iterable(node.ids for node in plain))
        self._lengths = [len(node.ids) for node in plain]
        dictionaries = [node.labels for _, node in kinds["dictionary"]]
        self._key_ids = list(map(_id_of_key, chain.from_iterable(dictionaries)))
        named = [node for kind in _NAMED for _, node in kinds[kind]]
        self._with_names = [n for n, node in enumerate(named) if node.labels]
        self._last_ids = [_id_of_key(named[n].labels[-1]) for n in self._with_names]
        self.below = list(_below(plain, self._odd))
        functions = list(_functions(plain))
        # It returns a tuple only for two places or more.
        self._functions = itemgetter(*functions, functions[0]) if functions else None

    def read(self, above: List[Any]) -> Optional[List[Any]]:
        """Everything that this level holds, if it has not changed."""
        dictionaries = [above[place] for place in self._dictionaries]
        instances = [above[place] for place in self._instances]
        spaces = list(map(_namespace, self._getters, instances))
        spaces += [namespace_of(above[place]) for place in self._modules]
        proxies = [type_dict(above[place]) for place in self._classes]
        held: List[Any] = [*map(_values, dictionaries), *map(_values, spaces)]
        held += map(_proxy_values, proxies)
        held += [above[place] for place in self._sequences]
        values = list(chain.from_iterable(held))
        if list(map(id, values)) != self._ids or list(map(len, held)) != self._lengths:
            return None
        if list(map(id, chain.from_iterable(dictionaries))) != self._key_ids:
            return None
        named = [*map(_keys, spaces), *proxies]
        last = [next(reversed(named[n])) for n in self._with_names]
        if list(map(id, last)) != self._last_ids:
            return None
        if self._functions is not None and any(map(function_dict, self._functions(values))):
            return None
        return self._read_odd(above, values)

    def _read_odd(self, above: List[Any], values: List[Any]) -> Optional[List[Any]]:
        for place, node in self._odd:
            inside = node.peek(above[place])
            if inside is None:
                return None
            values += inside
        return values


_NAMED = ("instance", "module", "class")
_KINDS = ("dictionary", *_NAMED, "sequence", "odd")


def _kind(node: Any) -> str:
    """How an object is read: together with others of its kind, or separately."""
    kind = type(node)
    if kind is Dictionary and node.type_id == id(dict):
        return "dictionary"
    if kind is Instance and node.contents is None and not node.shape.slots:
        return "instance" if type(node.shape.namespace) is GetSetDescriptorType else "odd"
    if kind in (Sequence, Tuple_, Elements) and node.type_id in _EXACT:
        return "sequence"
    return "module" if kind is Module else "class" if kind is Class else "odd"


def _id_of_key(label: Any) -> int:
    return label.identity if type(label) is Key else id(label)


def _below(plain: List[Any], odd: List[Placed]) -> Iterator[Placed]:
    """The nodes of the next level, with their positions among the values of this one."""
    offset = 0
    for node in plain:
        for position, child in node.deep:
            yield offset + position, child
        offset += len(node.ids)
    for _, node in odd:
        inside, n_values = node.inside()
        for position, child in inside:
            yield offset + position, child
        offset += n_values


def _functions(plain: List[Any]) -> Iterator[int]:
    """Positions of functions that have no attributes yet."""
    offset = 0
    for node in plain:
        for position in node.plain_places if type(node) is Module else ():
            yield offset + position
        offset += len(node.ids)


Watched = List[Tuple[Any, Holder]]
"""Modules with their nodes."""


class Quick:
    """All levels of some modules."""

    def __init__(self, watched: Watched) -> None:
        self._modules = [module for module, _ in watched]
        self._levels: List[Level] = []
        placed: List[Placed] = [(n, node) for n, (_, node) in enumerate(watched)]
        while placed:
            level = Level(placed)
            self._levels.append(level)
            placed = level.below

    def is_same(self) -> bool:
        """Whether nothing has changed in any of them."""
        values = self._modules
        for level in self._levels:
            read = level.read(values)
            if read is None:
                return False
            values = read
        return True


_PAUSE_MAX = 64


class Group:
    """Modules that are looked at together, as long as a glance suffices."""

    def __init__(self, watched: Watched, patience: int = 0) -> None:
        self.watched = watched
        self._quick: Optional[Quick] = None
        self._n_same = 0
        self._pause = 0
        self._n_waits = patience

    def is_same(self) -> bool:
        """Whether a glance shows that nothing has changed."""
        if self._quick is None:
            return False
        try:
            is_same = self._quick.is_same()
        except Exception:
            # Something was replaced, or a thread is at work.
            is_same = False
        if is_same:
            self._n_same += 1
            return True
        # A level that did not last is not worth rebuilding at once.
        self._pause = 0 if self._n_same > 1 else min(2 * self._pause + 1, _PAUSE_MAX)
        self._n_waits = self._pause
        self._quick = None
        return False

    def leave_out(self, some: Watched) -> None:
        """From now on, some of them are looked at separately."""
        left_out = {id(module) for module, _ in some}
        self.watched = [pair for pair in self.watched if id(pair[0]) not in left_out]

    def was_looked_at(self) -> None:
        """All nodes have been asked; the next time, a glance may suffice."""
        self._n_waits -= 1
        if self._n_waits < 0 and IS_POSSIBLE:
            self._quick = Quick(self.watched)
            self._n_same = 0
