"""How can an object be taken apart unnoticed?

Once for each class: where its instances keep what they hold. That is a dictionary (reached through
the descriptor that Python made for it, not through a property of the same name), slots (member
descriptors), and the contents of the builtin container it derives from. Nothing here looks up an
attribute on the object itself, because ``__getattribute__``, ``__class__`` and properties are the
user's code.

Objects of the standard library are not opened, except a few plain holders of data: their insides
are caches, locks and links to everything.
"""

import os
import sys
from collections import OrderedDict, deque
from types import GetSetDescriptorType, MemberDescriptorType, ModuleType, SimpleNamespace
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

from .change import module_of, type_dict, type_mro

OPEN_LIBRARY = ("collections", "types", "argparse", "configparser", "queue", "optparse", "string")
RUNNERS = ("_pytest", "pytest", "pluggy", "hypothesis", "_unflake_agent")

CONTAINERS = (dict, list, set, deque, bytearray)
"""What can be changed in place; the first that a class derives from counts."""


class Shape(NamedTuple):
    """Where instances of a class keep what they hold."""

    container: Optional[type]
    namespace: Optional[Any]
    slots: List[Tuple[str, Any]]

    @property
    def is_closed(self) -> bool:
        return self.container is None and self.namespace is None and not self.slots


_CLOSED = Shape(None, None, [])
_HOME = os.path.dirname(os.__file__) + os.sep
_PACKAGES = (os.sep + "site-packages" + os.sep, os.sep + "dist-packages" + os.sep)


def is_library(path: str) -> bool:
    """Whether a file belongs to the standard library."""
    return path.startswith(_HOME) and not any(part in path for part in _PACKAGES)


def is_installed(path: str) -> bool:
    """Whether a file was installed, or came with Python."""
    prefix = os.path.join(sys.prefix, "lib") + os.sep
    return path.startswith((_HOME, prefix)) or any(part in path for part in _PACKAGES)


namespace_of: Any = vars(ModuleType)["__dict__"].__get__
"""The true namespace of a module, whatever its class says."""


def file_of(module: Any) -> Optional[str]:
    """The file that a module says it comes from; None for builtin and strange ones."""
    if not issubclass(type(module), ModuleType):
        return None
    path = namespace_of(module).get("__file__")
    return path if type(path) is str else None


class Shapes:
    """The shapes of the classes met so far."""

    def __init__(self) -> None:
        # The class is kept, or another one could take its address.
        self._known: Dict[int, Tuple[type, Shape]] = {}

    def of(self, kind: type) -> Shape:
        """How to take instances of a class apart."""
        known = self._known.get(id(kind))
        if known is None:
            known = self._known[id(kind)] = (kind, _shape(kind))
        return known[1]


def _shape(kind: type) -> Shape:
    mro = type_mro(kind)
    container = next((c for c in CONTAINERS if any(c is base for base in mro)), None)
    if issubclass(kind, (type, ModuleType, BaseException)) or _is_closed(kind):
        return _CLOSED if container is None else Shape(container, None, [])
    namespace = None
    slots: List[Tuple[str, Any]] = []
    for base in mro:
        for name, value in type_dict(base).items():
            is_member = type(value) is MemberDescriptorType
            if name == "__dict__" and (is_member or type(value) is GetSetDescriptorType):
                namespace = namespace or value
            elif is_member and type(name) is str:
                slots.append((name, value))
    return Shape(container, namespace, [] if container is deque else slots)


def _is_closed(kind: type) -> bool:
    if kind is OrderedDict or kind is SimpleNamespace:
        return False
    module = module_of(kind)
    top = module.split(".")[0]
    if top in RUNNERS or any(_is_enum(base) for base in type_mro(type(kind))):
        return True
    if top in OPEN_LIBRARY or module == "__main__":
        return False
    if module not in sys.modules:
        return False
    path = file_of(sys.modules[module])
    return path is None or is_library(path)


def _is_enum(meta: type) -> bool:
    return module_of(meta) == "enum"
