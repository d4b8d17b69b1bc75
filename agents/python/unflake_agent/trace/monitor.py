"""How are calls noted by ``sys.monitoring``, from 3.12 on?

The interpreter reports where a function begins and where one is called, for all threads. Each place
is reported only once in a test: what a loop calls a thousand times costs as much as what is called
once. If a place calls several C functions in turn, only the first is noted; functions in Python are
noted where they begin.
"""

import sys
from types import BuiltinFunctionType, CodeType, FunctionType
from typing import Any, Dict, Optional

from .names import BoundMethod, Method, Names, as_bytes, code_of

_monitoring: Any = getattr(sys, "monitoring", None)
_TOOL_IDS = (4, 3)
"""Those that belong to nobody: debuggers, coverage, profilers and optimisers have others."""

NAME = "unflake"
_N_TOOLS = 6
"""As many as there may be."""


def tool_id() -> Optional[int]:
    """Registers a tool and returns its number; None if none is free."""
    if _monitoring is None:
        return None
    for number in _TOOL_IDS:
        if _monitoring.get_tool(number) is None:
            _monitoring.use_tool_id(number, NAME)
            return number
    return None


def is_only_tool(tool: int) -> bool:
    """Whether there is no other tool."""
    return all(each == tool or _monitoring.get_tool(each) is None for each in range(_N_TOOLS))


class Monitor:
    """Notes calls in Python, each place once in a test."""

    ends_by_itself = False

    def __init__(self, names: Names, tool: int) -> None:
        self._names = names
        self._tool = tool
        self._noted: Dict[int, None] = {}
        self._target: Optional[CodeType] = None
        self._depth = 0
        self._is_open = False
        self._disable = _monitoring.DISABLE
        events = _monitoring.events
        self._events = events.PY_START | events.PY_RESUME | events.PY_THROW
        self._events |= events.PY_UNWIND | events.CALL
        self._return = events.PY_RETURN
        for event, callback in (
            (events.PY_START, self._begins),
            (events.PY_RESUME, self._begins),
            (events.PY_THROW, self._thrown),
            (events.PY_RETURN, self._ends),
            (events.PY_UNWIND, self._ends),
            (events.CALL, self._calls),
        ):
            _monitoring.register_callback(tool, event, callback)

    def arm(self, function: Optional[FunctionType]) -> None:
        """Waits for a call of ``function``; None if the call cannot be detected."""
        code = code_of(function)
        self._noted = {}
        self._target, self._depth = code, 0
        self._is_open = code is None
        if code is not None:
            _monitoring.set_local_events(self._tool, code, self._return)
        _monitoring.set_events(self._tool, self._events)
        _monitoring.restart_events()

    def disarm(self) -> None:
        """Stops noting calls."""
        _monitoring.set_events(self._tool, 0)
        if self._target is not None:
            _monitoring.set_local_events(self._tool, self._target, 0)
        self._is_open, self._target = False, None

    def numbers(self) -> bytes:
        """The numbers of the functions noted."""
        return as_bytes(self._noted)

    def _begins(self, code: CodeType, _: int) -> Any:
        if code is self._target:
            self._depth += 1
            self._is_open = True
        # What happens before the test must not switch off what happens in it.
        if not self._is_open:
            return None
        self._noted[self._names.of_code(code)] = None
        return None if code is self._target else self._disable

    def _thrown(self, code: CodeType, _: int, __: Any) -> None:
        self._begins(code, 0)

    def _ends(self, code: CodeType, _: int, __: Any) -> None:
        if code is self._target:
            self._depth -= 1
            self._is_open = self._depth > 0

    def _calls(self, _: CodeType, __: int, called: Any, ___: Any) -> Any:
        if not self._is_open:
            return None
        kind = type(called)
        if kind is BuiltinFunctionType or kind is Method or kind is BoundMethod:
            self._noted[self._names.of_c(called)] = None
        return self._disable


def begin(names: Names) -> Optional[Monitor]:
    """None before 3.12, or if no tool number is free."""
    tool = tool_id()
    return None if tool is None else Monitor(names, tool)
