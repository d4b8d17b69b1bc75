"""What do modules, classes and functions hold?

The roots of a program's state: the globals of its modules; the attributes of their classes; and the
default arguments, closures and attributes of their functions. Each knows under which absolute name
a change inside is reported, because a function is known by its own name wherever it was found.

=========================================  =====================================================
kind                                       how it is reported
=========================================  =====================================================
``global``                                 ``shop.config.SETTINGS['currency']``
``class-attribute``                        ``shop.cart.Cart.items[0]``
``default-argument``                       ``shop.prices.discount() default argument rates['x']``
``closure``                                ``shop.log.make.<locals>.note() closure variable n``
``cache``                                  ``shop.prices.rate.cache_info().currsize``
``random``                                 ``shop.dice.GENERATOR.getstate()``
=========================================  =====================================================
"""

from operator import attrgetter, itemgetter
from types import FunctionType
from typing import Any, FrozenSet, List, Optional, Set

from .change import Change, Opaque, Undo, is_atom, module_of, name_of, type_dict, type_mro
from .containers import ends_with, put
from .functions import Cache, CallableCache, Function, Wrapped, is_runners, name_of_function
from .nodes import GONE, Book, Holder, Node
from .shapes import namespace_of
from .stamps import stamped

function_dict = attrgetter("__dict__")


class Project:
    """Whose modules are watched, and for what."""

    def __init__(self, kinds: FrozenSet[str]) -> None:
        self.kinds = kinds
        self.globals_ids: Set[int] = set()
        """The namespaces of the watched modules."""
        self.names: Set[str] = set()

    def owns_function(self, value: Any) -> bool:
        return type(value) is FunctionType and id(value.__globals__) in self.globals_ids

    def owns_class(self, value: Any) -> bool:
        return issubclass(type(value), type) and module_of(value) in self.names

    def special(self, book: Book, value: Any) -> Optional[Node]:
        """A node for values that are more than containers; called by the book."""
        kind = type(value)
        if kind is FunctionType:
            return self._function(book, value)
        if issubclass(kind, type):
            if "class-attribute" in self.kinds and self.owns_class(value) and not _is_enum(value):
                return Class(book, value, self)
            return None
        if kind is CallableCache:
            return Cache(book, value) if "cache" in self.kinds else None
        return stamped(book, value)

    def _function(self, book: Book, value: Any) -> Optional[Node]:
        if not self.owns_function(value):
            return None
        node = Function(book, value, self.kinds)
        if node.is_needed:
            return node
        # Nothing in it can change; its holder watches that it gets no attributes.
        del book.claims[id(value)]
        return None


def _is_enum(value: Any) -> bool:
    return any(module_of(base) == "enum" for base in type_mro(type(value)))


class Namespace(Holder):
    """A module or a class."""

    __slots__ = ("name", "project", "plain", "plain_places")
    is_one_thing = False

    def __init__(self, book: Book, value: Any, project: Project, name: str) -> None:
        self.name = name
        self.project = project
        super().__init__(book, value, 0)
        self._find_plain(self.values(value))

    def namespace(self, value: Any) -> Any:
        raise NotImplementedError

    def values(self, value: Any) -> List[Any]:
        return list(self.namespace(value).values())

    def read_labels(self, value: Any) -> List[Any]:
        # Only a namespace that was tampered with has names that are not text.
        return [key if type(key) is str else "__strange__" for key in self.namespace(value)]

    def unchanged(self, value: Any) -> Optional[List[Any]]:
        namespace = self.namespace(value)
        values = list(namespace.values())
        is_same = list(map(id, values)) == self.ids
        return values if is_same and ends_with(self.labels, namespace) else None

    def accessor(self, label: Any) -> str:
        return f".{label}"

    def is_home_of(self, held: Any) -> bool:
        """Whether something is a function that was defined here, not imported from elsewhere."""
        return False

    def _find_plain(self, values: List[Any]) -> None:
        """Functions without attributes, as most are: that they still have none is cheap to see."""
        self.plain_places = places = [
            n
            for n, held in enumerate(values)
            if type(self.frozen[n]) is Opaque
            and self.is_home_of(held)
            and not self.labels[n].startswith("test")
            and not held.__dict__
        ]
        # It returns a tuple only for two places or more.
        self.plain = itemgetter(*places, *places[:1]) if places else None

    def look(self, book: Book, value: Any) -> List[Change]:
        found = super().look(book, value)
        if self.plain is not None:
            values = self.values(value)
            if any(map(function_dict, self.plain(values))):
                found = found + self._attributes(book, values)
                self._find_plain(values)
        return found

    def look_closely(self, book: Book, value: Any, values: List[Any]) -> List[Change]:
        found = super().look_closely(book, value, values)
        self._find_plain(values)
        return found

    def _attributes(self, book: Book, values: List[Any]) -> List[Change]:
        """Finds functions that got their first attributes."""
        changes = []
        assert self.plain is not None
        for function in self.plain(values)[:-1]:
            for name, held in list(function.__dict__.items()):
                if type(name) is str and not is_runners(name):
                    where = f"{name_of_function(function)}.{name}"
                    change = Change(where, None, book.show_live(held), _deleting(function, name))
                    changes.append(change.under("", "global", True))
        for position, frozen in enumerate(self.frozen):
            if type(frozen) is Opaque and type(values[position]) is FunctionType:
                self.frozen[position] = book.freeze(values[position], 1)
        self._find_deep()
        return changes


def _deleting(function: Any, name: str) -> Undo:
    return lambda: put(function.__dict__, name, GONE)


class Module(Namespace):
    """The globals of a module; ``name`` is the one it is imported by."""

    __slots__ = ("owned",)

    def __init__(self, book: Book, value: Any, project: Project, name: str) -> None:
        self.owned = "global" in project.kinds
        super().__init__(book, value, project, name)

    def namespace(self, value: Any) -> Any:
        return namespace_of(value)

    def is_home_of(self, held: Any) -> bool:
        return type(held) is FunctionType and name_of_function(held).startswith(self.name + ".")

    def is_ignored(self, label: Any) -> bool:
        # `@py_builtins` and `@pytest_ar` are put there by pytest's rewriting of asserts.
        return label.startswith(("__", "@")) or is_runners(label)

    def freeze(self, book: Book, position: int, held: Any) -> Any:
        label = self.labels[position]
        if self.is_ignored(label):
            return None
        claim = book.claims.get(id(held))
        if claim == (self.name, label):
            del book.claims[id(held)]
        if self.owned or _is_code(held):
            # Each global has its own allowance.
            book.begin_global()
            return book.freeze(held, 1)
        return held if is_atom(held) else Opaque(held)

    def store(self, value: Any, label: Any, old: Any) -> Undo:
        return lambda: put(self.namespace(value), label, old)

    def look(self, book: Book, value: Any) -> List[Change]:
        found = super().look(book, value)
        if not found:
            return found
        changes = [c.under(self.name, "global", True) for c in found]
        # That a module of the package was loaded is reported as such.
        return [c for c in changes if c.before or c.after != f"<module {c.where}>"]


def _is_code(value: Any) -> bool:
    return type(value) is FunctionType or issubclass(type(value), type)


class Class(Namespace):
    """The attributes of a class."""

    __slots__ = ()

    def __init__(self, book: Book, value: Any, project: Project) -> None:
        super().__init__(book, value, project, name_of(value))

    def namespace(self, value: Any) -> Any:
        return type_dict(value)

    def is_ignored(self, label: Any) -> bool:
        return label in _PYTHONS_OWN or is_runners(label)

    def fits(self, value: Any) -> bool:
        return id(value) == self.identity

    def freeze(self, book: Book, position: int, held: Any) -> Any:
        if self.is_ignored(self.labels[position]):
            return None
        return Wrapped.around(book, held) or book.freeze(held, 1)

    def store(self, value: Any, label: Any, old: Any) -> Undo:
        def undo() -> None:
            if old is GONE:
                type.__delattr__(value, label)
            else:
                type.__setattr__(value, label, old)

        return undo

    def look(self, book: Book, value: Any) -> List[Change]:
        found = super().look(book, value)
        return [c.under(self.name, "class-attribute", True) for c in found] if found else found

    def show(self) -> str:
        return f"<class {self.name}>"


_PYTHONS_OWN = frozenset(
    ("__dict__", "__weakref__", "__doc__", "__module__", "__qualname__", "__annotations__")
    + ("__annotations_cache__", "__annotate_func__", "__abstractmethods__", "_abc_impl")
    + ("__parameters__", "__static_attributes__", "__firstlineno__", "__protocol_attrs__")
    + ("__non_callable_proto_members__", "_abc_registry", "_abc_cache", "__hash__")
    + ("__slotnames__",)
)
