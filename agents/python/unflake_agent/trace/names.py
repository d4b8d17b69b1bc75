"""What is a function called, and which number does it have in this run?

A function is identified by its module and its qualified name, as in ``threading`` and
``Condition.wait``; with its file and first line if it is written in Python. A method written in C
has the class that defines it, however it was reached: ``random.random`` is ``Random.random`` of
``_random``. Two functions with the same name in the same place are one function.

No code of the tested program is called to find out.
"""

import marshal
import sys
from importlib.util import cache_from_source
from json.encoder import encode_basestring_ascii as _quoted
from types import BuiltinFunctionType, CodeType, FrameType, FunctionType, ModuleType
from typing import Any, Dict, Iterable, Iterator, List, Optional, Tuple

from ..wire import text

_NAME_LIMIT = 300
_IN_C = '{"module":%s,"name":%s}'
_CO_OPTIMIZED = 1
_HAS_QUALNAME = hasattr(CodeType, "co_qualname")
_PYC_HEADER = 16
_N_FRAMES_UP = 4

Method = type(list.append)
"""A method written in C, as its class has it."""
_kinds: List[Any] = BuiltinFunctionType.__subclasses__()
BoundMethod: Any = ([each for each in _kinds if each.__name__ == "builtin_method"] or [Method])[0]
"""A bound one that is told its class, from 3.9 on."""
ClassMethod = type(dict.__dict__["fromkeys"])
_mro = type.__dict__["__mro__"].__get__
_dict = type.__dict__["__dict__"].__get__
_module = type.__dict__["__module__"].__get__
_qualname = type.__dict__["__qualname__"].__get__
_name = BuiltinFunctionType.__dict__["__name__"].__get__
_self = BuiltinFunctionType.__dict__["__self__"].__get__
_getframe = sys._getframe

_WIDTH = 4

Place = Tuple[str, int]
"""Where code stands: its own name and its first line."""


def as_bytes(numbers: Iterable[int]) -> bytes:
    """Numbers as they are sent: four bytes each, lowest first."""
    return b"".join(number.to_bytes(_WIDTH, "little") for number in numbers)


class _Written(Dict[str, str]):
    """Modules and files as JSON, cached because there are few of them."""

    def __missing__(self, name: str) -> str:
        written = self[name] = _quoted(text(name, _NAME_LIMIT))
        return written


def code_of(function: Optional[FunctionType]) -> Optional[CodeType]:
    """The code that runs when it is called; None if there is no function."""
    return None if function is None else function.__code__


class Names:
    """The functions of one run, numbered in the order of appearance."""

    def __init__(self) -> None:
        # By description. Nothing here is tracked by the garbage collector: a suite of quick tests
        # takes longer if everything must be searched once more.
        self._numbers: Dict[str, int] = {}
        self._news: List[str] = []
        self._written = _Written()
        # Kept so that the address of a code object is not reused for another one.
        self._codes: List[CodeType] = []
        self._of_code: Dict[int, int] = {}
        self._files: Dict[str, Dict[Place, str]] = {}

    def told(self, seen: Any, namespace: Any = None) -> str:
        """The description of a code object or a C function, as JSON; for code that is not being
        called now, with its globals or the name of its module."""
        if type(seen) is not CodeType:
            module, name = name_of_c(seen)
            return _IN_C % (self._written[module], _quoted(text(name, _NAME_LIMIT)))
        module = namespace
        if type(module) is not str:
            module = _module_of(seen) if namespace is None else _named(namespace)
        name = seen.co_qualname if _HAS_QUALNAME else self._qualname(seen)
        if len(name) > _NAME_LIMIT or not name.isascii():
            name = text(name, _NAME_LIMIT)
        self._codes.append(seen)
        written = self._written
        return (
            f'{{"module":{written[module]},"name":{_quoted(name)},'
            f'"file":{written[seen.co_filename]},"line":{seen.co_firstlineno}}}'
        )

    def of_code(self, code: CodeType, namespace: Any = None) -> int:
        """The number of a Python function."""
        known = self._of_code.get(id(code))
        if known is None:
            known = self._of_code[id(code)] = self._number(self.told(code, namespace))
        return known

    def of_c(self, function: Any) -> int:
        """The number of a C function: bound, or as the descriptor of a class."""
        return self._number(self.told(function))

    def _number(self, told: str) -> int:
        following = len(self._numbers)
        number = self._numbers.setdefault(told, following)
        if number == following:
            self._news.append(told)
        return number

    def news(self) -> str:
        """The descriptions of functions numbered since the last call, in order, as JSON."""
        news, self._news = self._news, []
        return ",".join(news)

    def _qualname(self, code: CodeType) -> str:
        """The qualified name below 3.11, where code does not have it."""
        file = code.co_filename
        if file not in self._files:
            self._files[file] = qualified(file)
        return self._files[file].get((code.co_name, code.co_firstlineno), code.co_name)


def _module_of(code: CodeType) -> str:
    """The module according to the frame that runs the code, somewhere above us."""
    frame: Optional[FrameType] = _getframe(2)
    for _ in range(_N_FRAMES_UP):
        if frame is None:
            break
        if frame.f_code is code:
            return _named(frame.f_globals)
        frame = frame.f_back
    return "?"


def _named(namespace: Any) -> str:
    if type(namespace) is str:
        return namespace
    return _string(dict.get(namespace, "__name__"))


def name_of_c(function: Any) -> Tuple[str, str]:
    """The module and the qualified name of a C function."""
    kind = type(function)
    if kind is Method:
        owner = function.__objclass__
        return _string(_module(owner)), f"{_qualname(owner)}.{function.__name__}"
    if not issubclass(kind, BuiltinFunctionType):
        return _string(_module(kind)), _string(_qualname(kind))
    name, bound = _name(function), _self(function)
    if bound is None or isinstance(bound, ModuleType):
        return _string(function.__module__), name
    owner = bound if isinstance(bound, type) else type(bound)
    for base in _mro(owner):
        if type(_dict(base).get(name)) in (Method, ClassMethod):
            owner = base
            break
    return _string(_module(owner)), f"{_qualname(owner)}.{name}"


def _string(value: Any) -> str:
    return value if type(value) is str else "?"


def qualified(file: str) -> Dict[Place, str]:
    """The qualified names of all functions in a file, because Python only keeps them from 3.11
    on."""
    try:
        code = _compiled(file)
    except Exception:
        return {}
    return {(inner.co_name, inner.co_firstlineno): name for inner, name in _walk(code, "")}


def _compiled(file: str) -> CodeType:
    with open(file, "rb") as stream:
        source = stream.read()
    try:
        with open(cache_from_source(file), "rb") as stream:
            code = marshal.loads(stream.read()[_PYC_HEADER:])
        if type(code) is CodeType:
            return code
    except (OSError, ValueError, EOFError, NotImplementedError):
        pass
    return compile(source, file, "exec", dont_inherit=True)


def _walk(code: CodeType, prefix: str) -> Iterator[Tuple[CodeType, str]]:
    for inner in code.co_consts:
        if type(inner) is CodeType:
            name = prefix + inner.co_name
            yield inner, name
            is_function = inner.co_flags & _CO_OPTIMIZED
            yield from _walk(inner, name + (".<locals>." if is_function else "."))
