"""How are calls noted by native code?

Next to this file there may be a library of ours (``crates/tracer``; absent where it could not be
built). The interpreter calls it at every call, and one look at an address tells it whether there is
anything to do: as a profile function below 3.12, by ``sys.monitoring`` from there on. What it needs
to know about the inside of objects is looked up here in known objects; if anything is not as
expected, another means is used.
"""

import os
import sys
import threading
from types import BuiltinFunctionType, CodeType, FrameType, FunctionType, MethodType
from typing import Any, List, Optional, Tuple

from . import hook, marks, monitor
from .functions import Functions
from .names import BoundMethod, Method, Names, code_of

try:
    import ctypes

    _python: Any = ctypes.pythonapi
except (ImportError, AttributeError):
    _python = None

LIBRARY = "tracer.so"

_WORD = 8
_NOWHERE = (1 << 64) - 1
_KIND, _DEFINITION, _BOUND_TO, _DESCRIBED = 8, 16, 24, 40
"""Where in an object its type is, and where in a C function what defines it, and its object."""
_TO_CODE = (((32, _NOWHERE), (3, 8)), ((24, 32), (3, 11)))
"""Where in a frame its code is, and the version from which on it is there."""

_PAUSE = ("PyThreadState_EnterTracing", "PyThreadState_LeaveTracing")
"""From 3.11 on; used from 3.12 on."""
_N_TESTS_HEARD = 10
"""After so many tests the runner has called most of what it ever calls."""

_RUNNERS = {"_pytest", "pluggy", "unflake_agent"}

_N_TOLD = 6
"""So many things the library must know of ``sys.monitoring``."""

_new: Any = object.__new__
_getprofile, _gettrace = sys.getprofile, sys.gettrace
_monitoring: Any = getattr(sys, "monitoring", None)


class _Api(ctypes.Structure if _python else object):  # type: ignore[misc]
    """The structure of the same name in the library."""

    _fields_ = [
        (name, ctypes.c_void_p if _python else None)
        for name in (
            "set_profile call as_long release fetch restore this_thread enter_tracing "
            "leave_tracing hold bytes utf8 told is_runner bound bound_method descriptor none "
            "get_profile get_trace disable set_events tool no_events call_events target_events "
            "new to_code to_code_then get_hook set_hook interpreter default"
        ).split()
        + [f"mark_{number}" for number in range(marks.N_FIELDS)]
    ]


def _word(address: int) -> int:
    return int(ctypes.c_size_t.from_address(address).value)


def _address(name: str) -> Optional[int]:
    if _monitoring is None and name in _PAUSE:
        return None
    return ctypes.cast(getattr(_python, name), ctypes.c_void_p).value


def _is_as_expected() -> bool:
    """Whether the objects of this interpreter are laid out as the library assumes."""
    if _python is None or sys.implementation.name != "cpython" or sys.maxsize < 1 << 32:
        return False
    if not getattr(sys, "_is_gil_enabled", lambda: True)() or sys.byteorder != "little":
        return False
    bound: Any = [].append
    defined, described = _word(id(len) + _DEFINITION), _word(id(list.append) + _DESCRIBED)
    return (
        _word(id(len) + _KIND) == id(BuiltinFunctionType)
        and _word(id(list.append) + _KIND) == id(Method)
        and _word(id(bound) + _DEFINITION) == described
        and defined != described
        and _word(id(_new) + _BOUND_TO) == id(object)
        and ctypes.string_at(_word(defined)) == b"len"
        and ctypes.string_at(_word(described)) == b"append"
    )


def _to_code() -> Optional[Tuple[int, int]]:
    """How a profile function gets from a frame to its code; None if in no way that we know."""
    frame = sys._getframe()
    (way,) = [way for way, since in _TO_CODE if sys.version_info >= since][-1:]
    found = _word(id(frame) + way[0])
    if way[1] != _NOWHERE:
        found = _word(found + way[1])
    return way if found == id(frame.f_code) else None


class _Outside:
    """Knows code that runs outside of tests, and keeps it, so that its address is not reused."""

    def __init__(self) -> None:
        self._held: List[CodeType] = []

    def is_runner(self, code: CodeType) -> int:
        """Whether code is pytest's or ours: 1 if so."""
        self._held.append(code)
        return int(not _RUNNERS.isdisjoint(os.path.dirname(code.co_filename).split("/")))


class _Library:
    """The library, set up for this interpreter."""

    def __init__(
        self, path: str, names: Names, way: Tuple[int, int], tool: List[Any], marking: List[Any]
    ) -> None:
        library = ctypes.PyDLL(path)
        kinds = [BuiltinFunctionType, BoundMethod, Method]
        # The library has the addresses of these objects.
        told = [names.told, _Outside().is_runner, *kinds, None, _getprofile, _gettrace, *tool]
        self._held = told
        addresses = [
            _address(name)
            for name in (
                "PyEval_SetProfile",
                "PyObject_CallFunctionObjArgs",
                "PyLong_AsLong",
                "Py_DecRef",
                "PyErr_Fetch",
                "PyErr_Restore",
                "PyThreadState_Get",
                *_PAUSE,
                "Py_IncRef",
                "PyBytes_FromStringAndSize",
                "PyUnicode_AsUTF8AndSize",
            )
        ]
        new = _word(id(_new) + _DEFINITION)
        hooking = hook.addresses()
        self._api = _Api(*addresses, *map(id, told), new, *way, *hooking, *marking)
        library.tracer_enter.argtypes = [ctypes.c_size_t]
        library.tracer_learn.argtypes = [ctypes.py_object, ctypes.py_object, ctypes.c_ssize_t]
        library.tracer_announce.argtypes = [ctypes.py_object] * 6
        for name in ("begin enter install remove unhook hook_thread mark_calls announce").split():
            getattr(library, "tracer_" + name).restype = None
        library.tracer_begin(ctypes.byref(self._api))
        self.enter = library.tracer_enter
        self.install = library.tracer_install
        self.remove = library.tracer_remove
        self.hook = library.tracer_hook
        self.unhook = library.tracer_unhook
        self.hook_thread = library.tracer_hook_thread
        self.mark_calls = library.tracer_mark_calls
        self.announce = library.tracer_announce
        self.can_mark = bool(library.tracer_has_stubs())
        self.can_hook = hooking[0] is not None
        self._library = library
        self.arm, self.message = self.callback("tracer_arm"), self.callback("tracer_message")

    def learn(self, functions: List[Any], names: List[str]) -> bool:
        """Passes functions and their names; returns whether there was room for all."""
        return bool(self._library.tracer_learn(functions, names, len(functions)))

    def callback(self, name: str) -> Any:
        """One of its functions as an object that Python can call."""
        make = _python.PyCFunction_NewEx
        make.argtypes, make.restype = [ctypes.c_void_p] * 3, ctypes.py_object
        return make(ctypes.addressof(ctypes.c_char.in_dll(self._library, name)), None, None)


class NativeProfile:
    """A native profile function, below 3.12."""

    ends_by_itself = False

    def __init__(self, library: _Library) -> None:
        self._library = library
        self.message = library.message

    def arm(self, function: Optional[FunctionType]) -> None:
        """Waits for a call of ``function``; None if the call cannot be detected."""
        code = code_of(function)
        self._library.arm(code)
        if _getprofile() is None:
            threading.setprofile(self._in_thread)
            self._library.install()

    def disarm(self) -> None:
        """Stops noting calls."""
        if getattr(threading, "_profile_hook", None) == self._in_thread:
            threading.setprofile(None)
        if _getprofile() is None:
            self._library.remove()

    def _in_thread(self, frame: FrameType, event: str, _: Any) -> None:
        """Handles the first event of a thread; the library gets all further events."""
        if event == "call":
            self._library.enter(id(frame.f_code))
        self._library.install()


class NativeHook:
    """An evaluation hook for Python functions, and marks for C functions: on 3.11."""

    ends_by_itself = True

    def __init__(self, library: _Library, otherwise: NativeProfile, prepared: "_Prepared") -> None:
        self._library = library
        self._otherwise = otherwise
        self._is_used = False
        self.message = prepared.mark_calls(library)

    def arm(self, function: Optional[FunctionType]) -> None:
        """Waits for a call of ``function``; None if the call cannot be detected."""
        code = code_of(function)
        if _getprofile() is None and _gettrace() is None:
            self._library.arm(code)
            if self._library.hook():
                self._is_used = True
                threading.setprofile(self._in_thread)
                return
        self._otherwise.arm(function)

    def disarm(self) -> None:
        """Stops noting calls."""
        if not self._is_used:
            self._otherwise.disarm()
            return
        self._is_used = False
        if getattr(threading, "_profile_hook", None) == self._in_thread:
            threading.setprofile(None)
        self._library.unhook()

    def _in_thread(self, *_: Any) -> None:
        """Handles the first event of a thread; the library gets all further events."""
        self._library.hook_thread()


class NativeMonitor:
    """A tool of ``sys.monitoring``, from 3.12 on.

    It stays on between tests: switching it means that the interpreter prepares all running code
    anew, above all the runner's. Instead, calls of a function are reported from its first call in a
    test on; the start of the runner's functions is switched off, once; and when that is done for
    most of them, nothing is reported between tests, as while a trace function runs. If somebody
    else traces or monitors, everything is reported as usual.
    """

    ends_by_itself = True

    def __init__(self, library: _Library, tool: int) -> None:
        self._library = library
        self.message = library.message
        self._n_tests = 0
        self._is_alone = monitor.is_only_tool(tool)
        events = _monitoring.events
        begins, ends = library.callback("tracer_start"), library.callback("tracer_return")
        for event, callback in (
            (events.PY_START, begins),
            (events.PY_RESUME, begins),
            (events.PY_THROW, begins),
            (events.PY_RETURN, ends),
            (events.PY_UNWIND, ends),
            (events.CALL, library.callback("tracer_call")),
        ):
            _monitoring.register_callback(tool, event, callback)
        everywhere = events.PY_START | events.PY_RESUME | events.PY_THROW | events.PY_UNWIND
        _monitoring.set_events(tool, everywhere)

    def arm(self, function: Optional[FunctionType]) -> None:
        """Waits for a call of ``function``; None if the call cannot be detected."""
        code = code_of(function)
        self._n_tests += 1
        if self._n_tests > _N_TESTS_HEARD and self._is_alone:
            self._library.arm(code, True)
        else:
            self._library.arm(code)

    def disarm(self) -> None:
        """Does nothing: it stops by itself, or when the message is made."""


class NativeMarks:
    """Few calls are reported; most are read from marks when a test has returned."""

    ends_by_itself = is_over_with_message = True

    def __init__(self, library: _Library, tool: int, prepared: "_Prepared") -> None:
        self.arm, self.message = library.callback("tracer_mark_arm"), prepared.mark_calls(library)
        self.disarm = library.callback("tracer_mark_close")
        events = _monitoring.events
        begins = library.callback("tracer_mark_start")
        for event, callback in (
            (events.PY_START, begins),
            (events.PY_RESUME, begins),
            (events.PY_THROW, library.callback("tracer_mark_throw")),
            (events.PY_RETURN, library.callback("tracer_mark_return")),
        ):
            _monitoring.register_callback(tool, event, callback)
        # Without events of exceptions, of which there may be thousands: these are only for a test
        # that is detected by the way in which it is called.
        _monitoring.set_events(tool, events.PY_START | events.PY_RESUME | events.PY_THROW)
        self._library = library
        self._announced: Any = None

    def announce(self, function: FunctionType, kind: type, name: str, otherwise: Any) -> None:
        """From now on a call of ``function`` arms the attribute with this name of its argument, if
        that has this type; or calls ``otherwise`` with the argument, if it has not, or if the
        attribute is not a plain function or method."""
        held = (function, sys.intern(name), otherwise, FunctionType, MethodType, kind)
        self._announced = held
        self._library.announce(*held)


class _Prepared:
    """What all runs share that are forked from here."""

    def __init__(self, functions: Functions, shortcuts: int) -> None:
        self._functions = functions
        self._shortcuts = shortcuts

    def mark_calls(self, library: _Library) -> Any:
        """Makes C functions leave marks from now on; returns what makes the message about a
        test."""
        marks.hide_shortcuts(self._shortcuts)
        library.mark_calls()
        made, functions = library.message, self._functions

        def message(position: int, attempt: int) -> bytes:
            about: bytes = made(position, attempt)
            if len(sys.modules) != functions.n_modules:
                library.learn(*functions.news())
            return about

        return message


_prepared: List[_Prepared] = []


def prepare() -> None:
    """Before runs are forked: does what takes time and changes nothing."""
    path = _path()
    if _prepared or path is None or not marks.are_possible():
        return
    try:
        library = _Library(path, Names(), (0, 0), [None] * _N_TOLD, marks.fields(None))
    except (OSError, AttributeError):
        return
    shortcuts, functions = marks.shortcuts(), Functions()
    if shortcuts is not None and library.can_mark and library.learn(*functions.look()):
        _prepared.append(_Prepared(functions, shortcuts))


def _path() -> Optional[str]:
    """The path of the library, if it exists and this interpreter is as it expects."""
    path = os.path.join(os.path.dirname(__file__), LIBRARY)
    return path if os.path.isfile(path) and _is_as_expected() else None


def _tool(may_mark: bool) -> Optional[List[Any]]:
    """What the library must know about ``sys.monitoring``; None if no tool number is free."""
    tool = monitor.tool_id()
    if tool is None:
        return None
    events = _monitoring.events
    of_test = events.PY_RETURN if may_mark else events.CALL | events.PY_RETURN
    masks = [0, events.CALL, of_test]
    set_local = _monitoring.set_local_events
    return [_monitoring.DISABLE, set_local, tool, *masks]


def begin(names: Names) -> Any:
    """None if there is no library, or if this interpreter is not as it expects."""
    return _begin(names, _prepared[0]) if _prepared else told(names)


def told(names: Names) -> Any:
    """The same without marks: the library gets events of calls."""
    return _begin(names, None)


def _begin(names: Names, prepared: Optional[_Prepared]) -> Any:
    path = _path()
    if path is None:
        return None
    is_profile = _monitoring is None
    way = _to_code() if is_profile else (0, 0)
    tool: Optional[List[Any]] = [None] * _N_TOLD if is_profile else _tool(prepared is not None)
    if way is None or tool is None:
        return None
    marking = marks.fields(tool[2]) if prepared else [None] * marks.N_FIELDS
    try:
        library = _Library(path, names, way, tool, marking)
    except (OSError, AttributeError):
        return None
    if is_profile:
        means = NativeProfile(library)
        return NativeHook(library, means, prepared) if library.can_hook and prepared else means
    if prepared is None:
        return NativeMonitor(library, tool[2])
    if marking[marks.CURRENT] is None:
        _monitoring.free_tool_id(tool[2])
        return told(names)
    return NativeMarks(library, tool[2], prepared)
