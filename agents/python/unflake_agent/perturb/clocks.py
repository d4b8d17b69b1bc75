"""What time is it?

``time`` is a module of functions, which are replaced, also where they were imported by name.
``datetime.now`` and the like are methods of types written in C that read the clock themselves; they
are replaced in the dictionaries of these types, so that there is still only one ``datetime``, and
comparing types works. The clocks that never jump (``monotonic``, ``perf_counter``) stay as they
are, and so do the times of files, other processes, and libraries written in C that ask the system
themselves.
"""

import datetime as _datetime
import gc
import threading
import time
from typing import Any, Callable, Dict, List, Optional, Tuple

from .draw import Draw, Refusal, rebind

_time, _time_ns, _localtime = time.time, time.time_ns, time.localtime
_gmtime, _strftime, _ctime, _asctime = time.gmtime, time.strftime, time.ctime, time.asctime
_fromtimestamp = _datetime.datetime.fromtimestamp
_date_fromtimestamp = _datetime.date.fromtimestamp
_SECOND = 1_000_000_000
_DAY = 24 * 3600

_JUMPS = [0.001, 0.3, 1.0, 2.5, 61.0, 3601.0, -0.002, -1.0, -61.0]
"""Seconds: as when a laptop wakes up, or its clock is set right."""

_offset = 0
_jump: Optional[Callable[[], int]] = None
_is_replaced = False


def clock(draw: Draw, _: Any) -> Dict[str, Any]:
    """The clock has jumped at some of the times it is read."""
    global _jump
    lock = threading.Lock()

    def jump() -> int:
        with lock:
            return int(draw.one(_JUMPS) * _SECOND) if draw.share() < 0.4 else 0

    _replace()
    _jump = jump
    return {"how": "the clock jumps between looks at it"}


def date(draw: Draw, _: Any) -> Dict[str, Any]:
    """Another date and time, from which the clock continues."""
    global _offset
    label, moment = draw.one(_moments(_time()))
    _replace()
    _offset += int(moment * _SECOND) - _time_ns()
    shown = _strftime("%Y-%m-%d %H:%M:%S", _localtime(moment))
    return {"how": f"{label}: it is {shown}"}


def _moments(now: float) -> List[Tuple[str, float]]:
    """Times at which programs have failed, in local time."""
    year, month, day = _localtime(now)[:3]
    leap = next(y for y in range(year, year + 9) if y % 4 == 0 and (y % 100 or not y % 400))

    def at(year: int, month: int, day: int, seconds: float = _DAY / 2) -> float:
        whole = int(seconds)
        return time.mktime((year, month, day, 0, 0, whole, 0, 1, -1)) + seconds - whole

    return [
        ("just before midnight", at(year, month, day, _DAY - 0.001)),
        ("just before the new year", at(year, 12, 31, _DAY - 0.001)),
        ("on the last day of the year", at(year, 12, 31)),
        ("on a leap day", at(leap, 2, 29)),
        ("on the last of a long month", at(year + 1, 1, 31)),
        ("a year later", now + 366 * _DAY),
        ("ten years later", now + 3653 * _DAY),
        ("a day ago", now - _DAY),
        ("after 2038", at(2040, 6, 15)),
    ]


def _now_ns() -> int:
    global _offset
    if _jump is not None:
        _offset += _jump()
    return _time_ns() + _offset


def _now() -> float:
    return _now_ns() / _SECOND


def _replace() -> None:
    global _is_replaced
    if _is_replaced:
        return
    _replace_functions()
    _replace_methods()
    _is_replaced = True


def _replace_functions() -> None:
    def with_default(call: Callable[..., Any]) -> Callable[..., Any]:
        def filled(seconds: Any = None) -> Any:
            return call(_now() if seconds is None else seconds)

        filled.__name__ = filled.__qualname__ = call.__name__
        return filled

    def strftime(format: str, t: Any = None) -> str:
        return _strftime(format, _localtime(_now()) if t is None else t)

    def asctime(t: Any = None) -> str:
        return _asctime(_localtime(_now()) if t is None else t)

    fresh: Dict[str, Any] = {
        "time": lambda: _now(),
        "time_ns": lambda: _now_ns(),
        "localtime": with_default(_localtime),
        "gmtime": with_default(_gmtime),
        "ctime": with_default(_ctime),
        "strftime": strftime,
        "asctime": asctime,
    }
    pairs = [(getattr(time, name), call) for name, call in fresh.items()]
    for name, call in fresh.items():
        setattr(time, name, call)
    rebind(pairs)


def _replace_methods() -> None:
    utc = _datetime.timezone.utc
    kind, day = _datetime.datetime, _datetime.date

    def now(cls: Any, tz: Any = None) -> Any:
        return cls.fromtimestamp(_now(), tz)

    def utcnow(cls: Any) -> Any:
        return cls.fromtimestamp(_now(), utc).replace(tzinfo=None)

    def today(cls: Any) -> Any:
        return cls.fromtimestamp(_now())

    _set(kind, now=classmethod(now), utcnow=classmethod(utcnow), today=classmethod(today))
    _set(day, today=classmethod(today))
    if abs(kind.now().timestamp() - _now()) > 5:
        raise Refusal("this interpreter does not let its clock be replaced")


def _set(kind: type, **methods: Any) -> None:
    """Replaces methods of a type written in C."""
    try:
        import ctypes

        modified = ctypes.pythonapi.PyType_Modified
    except (ImportError, AttributeError):
        raise Refusal("this interpreter has no ctypes") from None
    space: Any = gc.get_referents(kind.__dict__)[0]
    if not isinstance(space, dict):
        raise Refusal("this interpreter does not let its clock be replaced")
    space.update(methods)
    modified(ctypes.py_object(kind))
