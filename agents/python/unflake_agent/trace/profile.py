"""How are calls noted by ``sys.setprofile``? Slowly, exactly, and everywhere.

Below 3.12 the profiler belongs to a thread; ``threading`` passes it to those it starts.
"""

import sys
import threading
from types import CodeType, FrameType, FunctionType
from typing import Any, Dict, List, Optional

from .names import Names, as_bytes, code_of

_setprofile = sys.setprofile
_getprofile = sys.getprofile


class Profile:
    """Notes calls in Python."""

    ends_by_itself = False

    def __init__(self, names: Names) -> None:
        self._names = names
        self._noted: Dict[int, None] = {}
        self._target: Optional[CodeType] = None
        self._opener: Optional[FrameType] = None
        self._is_open = False

    def arm(self, function: Optional[FunctionType]) -> None:
        """Waits for a call of ``function``; None if the call cannot be detected."""
        code = code_of(function)
        self._noted = {}
        self._target, self._opener = code, None
        self._is_open = code is None
        if _getprofile() is None:
            threading.setprofile(self._event)
            _setprofile(self._event)

    def disarm(self) -> None:
        """Stops noting calls."""
        self._is_open = False
        self._target = self._opener = None
        if _getprofile() == self._event:
            _setprofile(None)
        if getattr(threading, "_profile_hook", None) == self._event:
            threading.setprofile(None)

    def numbers(self) -> bytes:
        """The numbers of the functions noted."""
        return as_bytes(self._noted)

    def _note(self, number: int) -> None:
        self._noted[number] = None

    def _event(self, frame: FrameType, event: str, arg: Any) -> None:
        if event == "call":
            if not self._is_open and frame.f_code is self._target:
                self._is_open, self._opener = True, frame
            if self._is_open:
                self._note(self._names.of_code(frame.f_code))
        elif not self._is_open:
            return
        elif event == "c_call":
            self._note(self._names.of_c(arg))
        elif event == "return" and frame is self._opener:
            self._is_open = False
            self._target = None


class Counted(Profile):
    """Notes calls in Python, and how often each function is called."""

    def __init__(self, names: Names) -> None:
        super().__init__(names)
        self._noted: Dict[int, int] = {}  # type: ignore[assignment]

    def _note(self, number: int) -> None:
        self._noted[number] = self._noted.get(number, 0) + 1  # type: ignore[assignment]

    def counts(self) -> List[int]:
        """How often each of the noted functions was called, in the order of ``numbers``."""
        return list(self._noted.values())  # type: ignore[arg-type]


def begin(names: Names) -> Profile:
    """Always available."""
    return Profile(names)


def counted(names: Names) -> Counted:
    """Always available, and slower still."""
    return Counted(names)
