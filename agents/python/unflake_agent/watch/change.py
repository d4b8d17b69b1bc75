"""What is a change, and how is a value shown without asking the value?

A value of the tested program is shown by its structure: what Python itself made (numbers, text,
lists ...) in Python's own notation, everything else as ``<module.Class>``. ``repr`` is only called
on exact builtin types, because anything else may be the user's code.

An *atom* is a value of a type that cannot change. Atoms may be kept, compared and hashed freely.
Types are looked up by ``id``, since a metaclass may define how its classes hash.
"""

import re
import sys
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any, Callable, Dict, List, Optional, Union

TEXT_LIMIT = 200
"""Characters of a value that are shown; who needs more looks at the value itself."""

_SHOWN_ITEMS = 20

_NUMBERS_AND_TEXT = (type(None), bool, int, float, complex, str, bytes, range, re.Pattern)
_ATOM_IDS = set(map(id, (*_NUMBERS_AND_TEXT, type(Ellipsis), type(NotImplemented))))
_TIME_IDS: Dict[int, int] = {}
"""Types with a time zone, which may be the user's code, and the one zone type that is not."""

_LATE_ATOMS = ("datetime.date", "datetime.timedelta", "datetime.timezone", "decimal.Decimal")
_type_module = type.__dict__["__module__"].__get__
_type_name = type.__dict__["__qualname__"].__get__

type_dict = type.__dict__["__dict__"].__get__
"""The true namespace of a class, whatever its metaclass says."""

type_mro = type.__dict__["__mro__"].__get__
"""The classes it derives from, itself first."""


def learn_atoms() -> None:
    """Adds the atoms of modules that the tested program may have loaded, and that we must not
    load."""
    for name in _LATE_ATOMS:
        kind = _loaded(name)
        if kind is not None:
            _ATOM_IDS.add(id(kind))
    zone = _loaded("datetime.timezone")
    for name in ("datetime.datetime", "datetime.time"):
        kind = _loaded(name)
        if kind is not None and zone is not None:
            _TIME_IDS[id(kind)] = id(zone)


def _loaded(name: str) -> Optional[type]:
    module, attribute = name.split(".")
    namespace = getattr(sys.modules.get(module), "__dict__", {})
    kind = namespace.get(attribute)
    # A replacement, such as freezegun's, has another name.
    return kind if type(kind) is type and name_of(kind) == name else None


def is_atom(value: Any) -> bool:
    """Whether a value cannot change, and can be compared without calling the user's code."""
    kind = id(type(value))
    if kind in _ATOM_IDS:
        return True
    if kind == id(tuple) or kind == id(frozenset):
        return len(value) <= _SHOWN_ITEMS and all(map(is_atom, value))
    if kind in _TIME_IDS:
        return value.tzinfo is None or id(type(value.tzinfo)) == _TIME_IDS[kind]
    return False


def is_same_atom(one: Any, other: Any) -> bool:
    """Equality that distinguishes 1 from True, and considers a NaN equal to itself."""
    if one is other:
        return True
    return type(one) is type(other) and (one == other or repr(one) == repr(other) == "nan")


def module_of(kind: type) -> str:
    """The module a class says it comes from."""
    try:
        name = _type_module(kind)
    except AttributeError:
        return ""
    return name if type(name) is str else ""


def name_of(kind: type) -> str:
    """``module.Class``, without the module for builtin ones."""
    module, name = module_of(kind), str(_type_name(kind))
    return name if module in ("builtins", "") else f"{module}.{name}"


class Opaque:
    """A value whose identity alone is watched; it is not kept alive."""

    __slots__ = ("identity", "text")

    def __init__(self, value: Any) -> None:
        self.identity = identity_of(value)
        self.text = _text_of_opaque(value)


def identity_of(value: Any) -> Any:
    """What must be equal for two opaque values to be the same."""
    if type(value) is MethodType:
        # It is made anew at each access.
        return id(value.__func__), id(value.__self__)
    return id(value)


def _text_of_opaque(value: Any) -> str:
    kind = type(value)
    if kind is FunctionType:
        module = dict.get(value.__globals__, "__name__")
        return "<function {}.{}>".format(module, value.__qualname__)
    if kind is BuiltinFunctionType:
        return f"<function {value.__name__}>"
    if kind is MethodType:
        return "<method of {}>".format(name_of(type(value.__self__)))
    if issubclass(kind, type):
        return f"<class {name_of(value)}>"
    if kind is ModuleType:
        name = value.__dict__.get("__name__")
        return f"<module {name}>" if type(name) is str else "<module>"
    return _enum_member(value) or f"<{name_of(kind)}>"


def _enum_member(value: Any) -> Optional[str]:
    kind = type(value)
    if not any(module_of(base) == "enum" for base in type_mro(type(kind))):
        return None
    namespace = object.__getattribute__(value, "__dict__")
    name = dict.get(namespace, "_name_")
    return f"<{name_of(kind)}.{name}>" if type(name) is str else None


def show_atom(value: Any) -> str:
    """An atom in Python's own notation."""
    if type(value) is str or type(value) is bytes:
        # A megabyte need not be escaped to show a line of it.
        return clip(repr(value[: TEXT_LIMIT + 1]))
    if type(value) is int and value.bit_length() > 4 * TEXT_LIMIT:
        return f"<int of {value.bit_length()} bits>"
    if type(value) is tuple:
        inner = ", ".join(map(show_atom, value))
        return clip(f"({inner},)" if len(value) == 1 else f"({inner})")
    if type(value) is frozenset:
        return clip("frozenset({" + ", ".join(sorted(map(show_atom, value))) + "})")
    return clip(repr(value))


def clip(text: str) -> str:
    """At most ``TEXT_LIMIT`` characters, with a note about the rest."""
    return text if len(text) <= TEXT_LIMIT else text[: TEXT_LIMIT - 1] + "…"


def joined(parts: List[str], n_all: int, brackets: str) -> str:
    """The items of a container, as many as are worth reading."""
    shown = parts[:_SHOWN_ITEMS]
    if len(shown) < n_all:
        shown.append(f"… {n_all - len(shown)} more")
    return clip(brackets[0] + ", ".join(shown) + brackets[1])


class Cannot(Exception):
    """Why something cannot be put back."""


Undo = Callable[[], None]


class Change:
    """A difference between two states."""

    __slots__ = ("kind", "where", "before", "after", "undo", "is_whole", "by")

    def __init__(
        self, where: str, before: Optional[str], after: Optional[str], undo: Union[Undo, str]
    ) -> None:
        self.kind = ""
        self.where = where
        self.before = before
        self.after = after
        self.undo: Undo = undo if not isinstance(undo, str) else _refuse(undo)
        self.is_whole = False
        """Whether ``where`` needs nothing put before it any more."""
        self.by: Optional[str] = None
        """The fixture that made it, if that outlives the test."""

    def under(self, prefix: str, kind: str = "", whole: bool = False) -> "Change":
        """The same change, as seen from the object around it."""
        if not self.is_whole:
            self.where = prefix + self.where
            self.kind = self.kind or kind
            self.is_whole = whole
        return self

    def said(self) -> Dict[str, Any]:
        """The change as it is sent."""
        said = {
            "where": _plain(self.where),
            "kind": self.kind,
            "before": None if self.before is None else _plain(self.before),
            "after": None if self.after is None else _plain(self.after),
        }
        if self.by is not None:
            said["by"] = _plain(self.by)
        return said


def merged(changes: List[Change]) -> List[Change]:
    """One change for each place, from several looks: from its first value to its last.

    A place that returned to its first value has none. A change belongs to the last one who made it.
    """
    found: Dict[Any, Change] = {}
    for change in changes:
        first = found.setdefault((change.kind, change.where), change)
        if first is not change:
            change.before = first.before
            found[change.kind, change.where] = change
            if change.before == change.after:
                del found[change.kind, change.where]
    return list(found.values())


def _plain(text: str) -> str:
    return clip(text.encode("utf-8", "backslashreplace").decode("utf-8"))


def _refuse(why: str) -> Undo:
    def undo() -> None:
        raise Cannot(why)

    return undo


def concerns(item: str, where: str) -> bool:
    """Whether a requested item is this one, part of it, or contains it.

    The same state can be reported in finer or coarser grains: one key of a dictionary if a test
    changed one, the dictionary if it was replaced.
    """
    short, long = sorted((item, where), key=len)
    return long == short or (long.startswith(short) and long[len(short)] in "[. ")
