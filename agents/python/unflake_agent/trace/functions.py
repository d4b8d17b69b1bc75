"""Which functions in C are there, and which names do they go by?

Those of all types and of all modules, as the interpreter has them: no object is asked that could
answer with code of the tested program. A function goes by its own name, by that name after an
underscore, and by every name under which a class or a module has it.
"""

import sys
from types import BuiltinFunctionType, ModuleType
from typing import Any, Dict, Iterable, Iterator, List, Tuple

from .names import BoundMethod, ClassMethod, Method

_subclasses: Any = type.__dict__["__subclasses__"]
_dict = type.__dict__["__dict__"].__get__
_namespace = vars(ModuleType)["__dict__"].__get__
_function = staticmethod.__dict__["__func__"].__get__
_intern = sys.intern


Found = Tuple[List[Any], List[str]]
"""A function and a name, again and again. Not kept: the collector would look through it."""


class Functions:
    """Searches for functions, and remembers where it has searched."""

    def __init__(self) -> None:
        self._modules: Dict[str, None] = {}
        self.n_modules = 0
        """As many there were when it looked last."""

    def look(self) -> Found:
        """All functions that exist now."""
        found: Found = [], []
        for each in _types():
            _add(_of_type(each), found)
        self._look_into(list(sys.modules), found)
        return found

    def news(self) -> Found:
        """The functions of modules that were imported since, and of their types."""
        found: Found = [], []
        names = [name for name in list(sys.modules) if name not in self._modules]
        self._look_into(names, found)
        return found

    def _look_into(self, names: List[str], found: Found) -> None:
        self._modules.update(dict.fromkeys(names))
        self.n_modules = len(sys.modules)
        for name in names:
            module = sys.modules.get(name)
            # By type, because a proxy claims to be what it stands for.
            if not issubclass(type(module), ModuleType):
                continue
            values = list(_namespace(module).items())
            _add(((key, each) for key, each in values if _is_bound(each)), found)
            for _, each in values:
                if issubclass(type(each), type):
                    _add(_of_type(each), found)


def _add(some: Iterable[Tuple[str, Any]], found: Found) -> None:
    functions, names = found
    for key, function in some:
        name = function.__name__
        for each in {key, name, "_" + name}:
            if type(each) is str:
                functions.append(function)
                names.append(_intern(each))


def _is_bound(value: Any) -> bool:
    return type(value) is BuiltinFunctionType or type(value) is BoundMethod


def _of_type(kind: type) -> Iterator[Tuple[str, Any]]:
    # The type of a library that was never used may have no dictionary.
    for name, value in list((_dict(kind) or {}).items()):
        if type(value) is staticmethod:
            value = _function(value)
        if type(value) is ClassMethod:
            yield name, value.__get__(None, kind)
        elif type(value) is Method or _is_bound(value):
            yield name, value


def _types() -> Iterable[type]:
    found: Dict[type, None] = {object: None}
    left: List[type] = [object]
    while left:
        news = [each for each in _subclasses(left.pop()) if each not in found]
        found.update(dict.fromkeys(news))
        left += news
    return found
