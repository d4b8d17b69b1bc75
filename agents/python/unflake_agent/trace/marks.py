"""Can this interpreter be read instead of asked? (3.11 to 3.13)

The library can tell from marks which functions a test has called, without an event for each call
(``marks.rs`` and ``calls.rs`` in ``crates/tracer`` say how). The places it must read and write are
not documented: so all of them are looked up here, by changing known values and watching the place
change. If anything is not as expected there are no marks, and the library gets events.
"""

import dis
import functools
import opcode
import struct
import sys
import sysconfig
from types import BuiltinFunctionType, CodeType, FunctionType
from typing import Any, Dict, List, NamedTuple, Optional

from . import monitor

try:
    import ctypes

    _python: Any = ctypes.pythonapi
except (ImportError, AttributeError):
    _python = None

_monitoring: Any = getattr(sys, "monitoring", None)

_NOWHERE = (1 << 64) - 1


class _Places(NamedTuple):
    """Where the number of changes is: in the interpreter, in a thread, in code; and how it
    grows."""

    in_interpreter: int
    in_thread: Optional[int]
    in_code: int
    step: int


_PLACES = {(3, 12): _Places(48, None, 160, 1), (3, 13): _Places(0, 24, 168, 256)}
_HOOKED = (3, 11)
"""Where a hook sees the functions in Python, and only those in C leave marks."""
_RUNNING = {(3, 11): 184, (3, 12): 192, (3, 13): 200}
"""Where in code its instructions stand, as they are run now."""
_SIZE, _VARIABLES, _FILE, _QUALNAME = 16, 96, 112, 128
_LINE = 72 if sys.version_info < (3, 12) else 68
_VECTORCALL_OFFSET, _VECTORCALL = 56, 48
_NAMESPACE, _CODE, _FLAGS = 16, 48, 48
"""Where in a function its globals and its code stand, and in code what kind it is of."""
_LONGEST = 1 << 20

_FUNCTIONS = (
    "PyList_GetItem",
    "PyDict_GetItem",
    "PyCode_GetCode",
    "_PyObject_MakeTpCall",
)
_GLOBALS = "PyEval_GetGlobals"
_ATTRIBUTE = "PyObject_GetAttr"
_SET_VECTORCALL = "PyFunction_SetVectorcall"
"""From 3.12 on, where a test is called through a function of the library's."""
_THREADS = ("PyInterpreterState_Get", "PyInterpreterState_ThreadHead", "PyThreadState_Next")
_UNSEEN = (("__exit__", "BEFORE_WITH"), ("__build_class__", "LOAD_BUILD_CLASS"))
_ATTRIBUTES = (
    (("LOAD_ATTR", 1), ("LOAD_SUPER_ATTR", 2))
    if sys.version_info >= (3, 12)
    else (("LOAD_ATTR", 0), ("LOAD_METHOD", 0))
)
_VALUES = (("LOAD_GLOBAL", 1), ("LOAD_NAME", 0))
_NAME = sys.intern("__name__")
_names = [sys.intern(name) for name, _ in _UNSEEN]

_SHORTCUTS = (isinstance, len, list.append)
"""For which the interpreter has instructions of their own, in the order in which it keeps them."""

CURRENT = len(_FUNCTIONS) + 2 * len(_UNSEEN + _ATTRIBUTES + _VALUES) + 4
"""Among the fields: where the number of changes stands."""
N_FIELDS = CURRENT + 16


def _word(address: int) -> int:
    return int(ctypes.c_size_t.from_address(address).value)


def _address(name: str) -> int:
    return ctypes.cast(getattr(_python, name), ctypes.c_void_p).value or 0


_all: Dict[str, int] = getattr(dis, "_all_opmap", {})
_general: Dict[str, str] = getattr(dis, "deoptmap", {})
_notes: Any = getattr(opcode, "_inline_cache_entries", {})
_TOLD = "INSTRUMENTED_"
_N_INSTRUCTIONS = 256
_N_PAIRS = 5


def _table() -> bytearray:
    """For each instruction as it is run: what it was compiled as, 0 if unknown, and the number of
    cache entries after it."""
    table = bytearray(2 * _N_INSTRUCTIONS)
    for name, number in _all.items():
        general = _general.get(name, name)
        if general.startswith(_TOLD):
            general = general[len(_TOLD) :]
        compiled = dis.opmap.get(general)
        if compiled is not None and number < _N_INSTRUCTIONS:
            notes = _notes.get(general, 0) if type(_notes) is dict else _notes[compiled]
            table[2 * number : 2 * number + 2] = bytes((compiled, notes))
    return table


def _joined() -> bytes:
    """Two instructions that are run as one, and that one, for all such pairs."""
    pairs = [(name.split("__"), _all[name]) for name in _general if "__" in name]
    return bytes(each for (one, then), both in pairs
                 for each in (dis.opmap[one], dis.opmap[then], both))  # fmt: skip


_compiled: Any = (ctypes.c_char * (2 * _N_INSTRUCTIONS)).from_buffer(_table()) if _python else None
_pairs: Any = ctypes.create_string_buffer(_joined()) if _python else None
_RESUME = [_all.get(name, 0) for name in ("RESUME", "RESUME_CHECK")]
_LOSES_PAIRS = (3, 12)
"""Where the interpreter makes two of such an instruction when something is told of its code."""


def _can_restore_pairs() -> bool:
    return sys.version_info[:2] != _LOSES_PAIRS or len(_pairs.raw) == 3 * _N_PAIRS + 1


def _runs_as_compiled(code: CodeType) -> bool:
    """Whether the instructions of code are where the library looks, and mean what it assumes."""
    size, table = len(code.co_code), bytes(_compiled)
    found = ctypes.string_at(id(code) + _RUNNING[sys.version_info[:2]], size)
    at = 0
    while at < size:
        compiled, n_notes = table[2 * found[at] : 2 * found[at] + 2]
        if compiled == 0 or (compiled, found[at + 1]) != tuple(code.co_code[at : at + 2]):
            return False
        at += 2 + 2 * n_notes
    return at == size == 2 * _word(id(code) + _SIZE)


def _state(name: str) -> int:
    return ctypes.PYFUNCTYPE(ctypes.c_void_p)((name, _python))() or 0


def are_possible() -> bool:
    """Whether marks may work, as far as that can be seen without changing anything."""
    known = [name for _, name in _UNSEEN] + [name for name, _ in (*_ATTRIBUTES, *_VALUES)]
    needed = (*_FUNCTIONS, _GLOBALS, _ATTRIBUTE, *_THREADS)
    if sys.version_info[:2] in _PLACES:
        needed += (_SET_VECTORCALL,)
    if 0 not in _RESUME:
        # This takes time, and the result is known when runs are forked.
        _may_compile()
    return (
        sys.version_info[:2] in (_HOOKED, *_PLACES)
        and sys.version_info.releaselevel == "final"
        and all(name in dis.opmap for name in known)
        and all(hasattr(_python, each) for each in needed)
        and _word(id(BuiltinFunctionType) + _VECTORCALL_OFFSET) == _VECTORCALL
        and _has_words(_sample.__code__)
        and _has_words(_change.__code__)
        and _word(id(_change) + _CODE) == id(_change.__code__)
        and _word(id(_change) + _NAMESPACE) == id(_change.__globals__)
        and ctypes.c_int.from_address(id(_change.__code__) + _FLAGS).value
        == _change.__code__.co_flags
        and _can_restore_pairs()
        and all(_runs_as_compiled(each.__code__) for each in (_sample, _word, _table))
    )


def _sample(first: Any, *, second: Any = "third") -> Any:
    with first:
        return len("constant"), second


def _has_words(code: CodeType) -> bool:
    """Whether the library finds in code what it reads there."""
    found = [_word(id(code) + at) for at in (24, 32, _FILE, _QUALNAME)]
    known = [code.co_consts, code.co_names, code.co_filename, code.co_qualname]
    variables = ctypes.cast(_word(id(code) + _VARIABLES), ctypes.py_object).value
    line = ctypes.c_int.from_address(id(code) + _LINE).value
    return (
        found == list(map(id, known))
        and variables == code.co_varnames
        and line == code.co_firstlineno
    )


def shortcuts() -> Optional[int]:
    """Where the interpreter keeps the functions that special instructions call."""
    begin = _state("PyInterpreterState_Get")
    with open("/proc/self/maps") as file:
        ranges = [line.split()[0].split("-") for line in file]
    ends = [int(end, 16) for at, end in ranges if int(at, 16) <= begin < int(end, 16)]
    if not ends:
        return None
    memory = ctypes.string_at(begin, min(ends[0] - begin, _LONGEST))
    wanted = struct.pack("<3Q", *map(id, _SHORTCUTS))
    at = memory.find(wanted)
    return None if at < 0 or memory.find(wanted, at + 1) >= 0 else begin + at


def hide_shortcuts(at: int) -> None:
    """Makes the interpreter call them like any function."""
    for number in range(len(_SHORTCUTS)):
        ctypes.c_size_t.from_address(at + 8 * number).value = id(None)


def fields(tool: Any) -> List[Any]:
    """What the library needs to know, in its order; empty if there are no marks."""
    places = None if tool is None else _found(tool)
    calls = [*map(_address, _FUNCTIONS)]
    for name, (_, instruction) in zip(_names, _UNSEEN):
        calls += [id(name), dis.opmap[instruction]]
    for instruction, shift in (*_ATTRIBUTES, *_VALUES):
        calls += [dis.opmap[instruction], shift]
    version = sys.version_info[:2]
    calls += [dis.EXTENDED_ARG, _RUNNING[version], ctypes.addressof(_compiled)]
    calls.append(ctypes.addressof(_pairs) if version == _LOSES_PAIRS else None)
    where: List[Any] = [None] * 4
    if places is not None:
        where[0] = _state("PyInterpreterState_Get") + places.in_interpreter
        in_thread = _NOWHERE if places.in_thread is None else places.in_thread
        where[1:] = [in_thread, places.step, places.in_code]
    others: List[Any] = [_address(_GLOBALS), id(_NAME), *map(_address, _THREADS), _LINE]
    vectorcall: List[Any] = [None] * 2
    if places is not None:
        at = id(_change) + _word(id(FunctionType) + _VECTORCALL_OFFSET)
        vectorcall = [_address(_SET_VECTORCALL), _word(at)]
    is_alone = places is not None and _is_alone(tool)
    resume = _RESUME if is_alone and _marks_instructions() else [0, 0]
    attribute = _address(_ATTRIBUTE)
    return [*calls, *where, *others, *vectorcall, *resume, attribute, int(is_alone)]


def _found(tool: int) -> Optional[_Places]:
    """The places, if the number is found there after each of several changes."""
    places = _PLACES[sys.version_info[:2]]
    interpreter = _state("PyInterpreterState_Get") + places.in_interpreter
    thread, code = _state("PyThreadState_Get"), id(_change.__code__) + places.in_code
    events = _monitoring.events
    seen: List[int] = []
    for each in (events.PY_THROW, events.PY_UNWIND, events.PY_THROW, 0):
        _monitoring.set_events(tool, each)
        _change()
        numbers = {_word(interpreter), _word(code)}
        if places.in_thread is not None:
            numbers.add(_word(thread + places.in_thread) & -places.step)
        if len(numbers) != 1:
            return None
        seen += numbers
    steps = [after - before for before, after in zip(seen, seen[1:])]
    return places if steps == [places.step] * len(steps) else None


def _change() -> None:
    """Called so that its code is updated."""


def _is_alone(tool: int) -> bool:
    """Whether nobody else monitors, traces or profiles anything."""
    is_alone = monitor.is_only_tool(tool)
    return is_alone and sys.getprofile() is None and sys.gettrace() is None


def _marks_instructions() -> bool:
    """Whether the first instruction of code is replaced once it was run, and no compiler handles
    code that runs often."""
    if 0 in _RESUME or _may_compile():
        return False
    first = ctypes.c_uint8.from_address(id(_change.__code__) + _RUNNING[sys.version_info[:2]])
    for _ in range(2):
        first.value = _RESUME[0]
        _change()
        if first.value != _RESUME[1]:
            return False
    return True


@functools.lru_cache(maxsize=None)
def _may_compile() -> bool:
    return "experimental" in (sysconfig.get_config_var("CONFIG_ARGS") or "")
