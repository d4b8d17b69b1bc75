"""May the library put an evaluation hook into this interpreter?

On 3.11 a hook costs a fraction of what a profile function does (``hook.rs`` in ``crates/tracer``
says how). The interface is the interpreter's own (PEP 523), and what the library must read and
write in the state of a thread is not documented at all: so all of it is looked up here, in our own
thread, by setting known values and watching them change. If anything is not as expected, or
somebody profiles or traces already, there is no hook, and the profile function does everything.
"""

import sys
from typing import Any, List, Optional

try:
    import ctypes

    _python: Any = ctypes.pythonapi
except (ImportError, AttributeError):
    _python = None

_VERSION, _SINCE = (3, 11), (3, 11, 4)
"""Before, what an index calls was run without the hook."""

_GLOBALS, _CODE = 8, 32
_LIMIT, _TRACING, _C_FRAME, _PROFILE, _TRACE = 36, 44, 56, 64, 72
_PROFILE_OBJECT, _TRACE_OBJECT = 80, 88
"""Where in a frame of the interpreter's, and in the state of a thread, what stands."""
_FRAME_IN_OBJECT, _FRAME_IN_C_FRAME = 24, 8

_FUNCTIONS = (
    "_PyInterpreterState_GetEvalFrameFunc",
    "_PyInterpreterState_SetEvalFrameFunc",
    "PyInterpreterState_Get",
    "_PyEval_EvalFrameDefault",
)

_setprofile, _getprofile = sys.setprofile, sys.getprofile
_settrace, _gettrace = sys.settrace, sys.gettrace


def addresses() -> List[Optional[int]]:
    """The addresses of the functions that the library needs; empty if there must be no hook."""
    if not _is_as_expected():
        return [None] * len(_FUNCTIONS)
    return [ctypes.cast(getattr(_python, each), ctypes.c_void_p).value for each in _FUNCTIONS]


def _is_as_expected() -> bool:
    version = sys.version_info
    if version[:2] != _VERSION or version < _SINCE or version.releaselevel != "final":
        return False
    if _python is None or not all(hasattr(_python, each) for each in _FUNCTIONS):
        return False
    if _getprofile() is not None or _gettrace() is not None:
        return False
    make = ctypes.PYFUNCTYPE(ctypes.c_void_p)
    thread: int = make(("PyThreadState_Get", _python))() or 0
    return _has_frames(thread) and _has_limit(thread) and _has_flags(thread)


def _word(address: int) -> int:
    return int(ctypes.c_size_t.from_address(address).value)


def _int(address: int) -> int:
    return int(ctypes.c_int.from_address(address).value)


def _byte(address: int) -> int:
    return int(ctypes.c_uint8.from_address(address).value)


def _has_frames(thread: int) -> bool:
    frame = sys._getframe()
    inner = _word(id(frame) + _FRAME_IN_OBJECT)
    # Not with `_word`, because the running frame would be its own.
    running = ctypes.c_size_t.from_address(_word(thread + _C_FRAME) + _FRAME_IN_C_FRAME).value
    return (
        running == inner
        and _word(inner + _GLOBALS) == id(frame.f_globals)
        and _word(inner + _CODE) == id(frame.f_code)
    )


def _has_limit(thread: int) -> bool:
    """Whether the recursion limit next to it has its known value."""
    return _int(thread + _LIMIT) == sys.getrecursionlimit() and _int(thread + _TRACING) == 0


def _has_flags(thread: int) -> bool:
    seen: List[Any] = []

    def look(*_: Any) -> None:
        # While Python handles an event, it gets no events.
        seen.append(_int(thread + _TRACING) == 1)

    def state() -> Any:
        told = [_word(thread + at) != 0 for at in (_PROFILE, _TRACE)]
        told += [_word(thread + at) == id(look) for at in (_PROFILE_OBJECT, _TRACE_OBJECT)]
        return [*told, _byte(_word(thread + _C_FRAME))]

    states = [state()]
    try:
        _setprofile(look)
        states.append(state())
        _setprofile(None)
        states.append(state())
        _settrace(look)
        states.append(state())
    finally:
        _setprofile(None)
        _settrace(None)
    quiet = [False, False, False, False, 0]
    profiled, traced = [True, False, True, False, 255], [False, True, False, True, 255]
    return states == [quiet, profiled, quiet, traced] and bool(seen) and all(seen)
