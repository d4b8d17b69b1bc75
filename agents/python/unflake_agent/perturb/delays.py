"""Which operations take longer than usual?

Not all of them: a test in which everything is slower by the same amount still passes. So the seed
decides for each place, a line of the project's code and what it calls there, whether it is slow in
this run, and by how much. The same seed slows the same places. A call that no line of the project
leads to is the runner's business and is left alone, unless a thread makes it: that may be a
library's server working for a test.

Only what Python code calls by name can be slowed: not writes to an open file, nor locks. For those,
and for races between threads, there is ``switches``: between two instructions of the project's
code, while more than one thread is alive, the seed decides whether to pause.
"""

import asyncio
import builtins
import io
import os
import queue
import socket
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Callable, Dict, List, Tuple

from .draw import Draw, Refusal, rebind

_sleep, _get_ident = time.sleep, threading.get_ident
_FRAMES_MAX = 25
_TOTAL_MAX = 3.0
"""Seconds by which one factor delays a run at most: it must not be mistaken for a hang."""

_TIMES_MAX = 3
"""How often one place is slow: who does it sixty times would spend all of them there."""

_WAITS = [0.05, 0.2, 0.6, 1.5]
_DISK = [0.02, 0.1, 0.4]
_NETWORK = [0.05, 0.2, 0.8]
_PAUSES = [0.0005, 0.002]
_PAUSES_MAX = 40
"""How often one place pauses: loops would otherwise take for ever."""


class _Delays:
    """The slow places of one factor."""

    def __init__(self, draw: Draw, spans: List[float], tree: str) -> None:
        self._draw = draw
        self._spans = spans
        self._tree = tree.rstrip(os.sep) + os.sep
        self._left = _TOTAL_MAX
        self._known: Dict[Tuple[Any, ...], float] = {}
        self._times: Dict[Tuple[Any, ...], int] = {}

    def span(self, what: str) -> float:
        """By how much this call is delayed."""
        place = self._place(sys._getframe(2))
        if place is None:
            return 0.0
        key = (what, *place)
        if key not in self._known:
            draw = self._draw.part(*key)
            self._known[key] = draw.one(self._spans) if draw.share() < 0.5 else 0.0
        span = min(self._known[key], self._left)
        if span:
            self._times[key] = self._times.get(key, 0) + 1
            if self._times[key] > _TIMES_MAX:
                return 0.0
        self._left -= span
        return span

    def _place(self, frame: Any) -> Any:
        """The line of the project that leads here; in a thread without one, the caller."""
        innermost = None
        for _ in range(_FRAMES_MAX):
            if frame is None:
                break
            file = frame.f_code.co_filename
            if innermost is None:
                innermost = (os.path.basename(file), frame.f_code.co_name)
            if self.is_ours(file):
                return file[len(self._tree) :], frame.f_lineno
            frame = frame.f_back
        is_main = _get_ident() == threading.main_thread().ident
        return None if is_main else innermost

    def is_ours(self, file: str) -> bool:
        """Whether a file is code of the project."""
        return file.startswith(self._tree) and "site-packages" not in file

    def before(self, what: str, call: Callable[..., Any]) -> Callable[..., Any]:
        """The same call, delayed."""

        def late(*arguments: Any, **named: Any) -> Any:
            span = self.span(what)
            if span:
                _sleep(span)
            return call(*arguments, **named)

        late.__name__ = late.__qualname__ = getattr(call, "__name__", what)
        late.__doc__ = call.__doc__
        return late


def _patch(owner: Any, delays: _Delays, names: List[str]) -> None:
    pairs = []
    for name in names:
        call = getattr(owner, name, None)
        if call is not None:
            late = delays.before(name, call)
            pairs.append((call, late))
            setattr(owner, name, late)
    rebind(pairs)


def disk(draw: Draw, around: Any) -> Dict[str, Any]:
    """Opening, making, renaming, removing and syncing files takes long at some places."""
    delays = _Delays(draw, _DISK, around.tree)
    names = ["open", "replace", "rename", "remove", "unlink", "mkdir", "rmdir", "fsync", "link"]
    _patch(os, delays, names)
    late = delays.before("open", builtins.open)
    rebind([(builtins.open, late)])
    builtins.open = io.open = late
    return {"how": "files are opened, renamed and removed late, here and there"}


def network(draw: Draw, around: Any) -> Dict[str, Any]:
    """Connections, and sending and receiving, take long at some places."""
    delays = _Delays(draw, _NETWORK, around.tree)
    _patch(socket.socket, delays, ["connect", "send", "sendall", "recv", "recv_into", "sendto"])
    _patch(socket, delays, ["getaddrinfo", "gethostbyname"])
    return {"how": "connections answer late, here and there"}


def waits(draw: Draw, around: Any) -> Dict[str, Any]:
    """Waits last longer, and threads and their work begin later, at some places."""
    delays = _Delays(draw, _WAITS, around.tree)
    _patch(time, delays, ["sleep"])
    _patch(threading.Event, delays, ["wait", "set"])
    _patch(threading.Condition, delays, ["notify", "notify_all"])
    _patch(queue.Queue, delays, ["get", "put"])
    _late_threads(delays)
    _late_tasks(delays)
    return {"how": "waits and threads take longer, here and there"}


def _late_threads(delays: _Delays) -> None:
    start, submit = threading.Thread.start, ThreadPoolExecutor.submit

    def late_start(self: Any) -> None:
        span = delays.span("start")
        if span:
            run = self.run

            def late_run() -> None:
                _sleep(span)
                run()

            self.run = late_run
        start(self)

    def late_submit(self: Any, fn: Any, *arguments: Any, **named: Any) -> Any:
        span = delays.span("submit")

        def late(*arguments: Any, **named: Any) -> Any:
            _sleep(span)
            return fn(*arguments, **named)

        return submit(self, late if span else fn, *arguments, **named)

    threading.Thread.start = late_start  # type: ignore[method-assign]
    ThreadPoolExecutor.submit = late_submit  # type: ignore[assignment,method-assign]


def _late_tasks(delays: _Delays) -> None:
    sleep = asyncio.sleep

    async def late_sleep(delay: float, *arguments: Any, **named: Any) -> Any:
        return await sleep(delay + delays.span("sleep"), *arguments, **named)

    asyncio.sleep = late_sleep
    asyncio.tasks.sleep = late_sleep
    rebind([(sleep, late_sleep)])


def switches(draw: Draw, around: Any) -> Dict[str, Any]:
    """Threads may take turns between any two instructions of the project's code."""
    if sys.gettrace() is not None:
        raise Refusal("something else traces this process")
    delays = _Delays(draw, _PAUSES, around.tree)
    left: Dict[Tuple[Any, int], int] = {}
    pause: Dict[Tuple[Any, int], float] = {}
    alive: Any = threading._active  # type: ignore[attr-defined]

    def step(frame: Any, event: str, _: Any) -> Any:
        if event == "opcode" and len(alive) > 1:
            code = frame.f_code
            key = (code, frame.f_lasti)
            if key not in pause:
                part = draw.part(code.co_name, code.co_firstlineno, frame.f_lasti)
                pause[key] = part.one(_PAUSES) if part.share() < 0.25 else 0.0
                left[key] = _PAUSES_MAX
            if pause[key] and left[key]:
                left[key] -= 1
                _sleep(pause[key])
        return step

    def enter(frame: Any, _: str, __: Any) -> Any:
        if not delays.is_ours(frame.f_code.co_filename):
            return None
        frame.f_trace_opcodes = True
        frame.f_trace_lines = False
        return step

    sys.setswitchinterval(1e-5)
    threading.settrace(enter)
    sys.settrace(enter)
    return {"how": "threads take turns between instructions"}
