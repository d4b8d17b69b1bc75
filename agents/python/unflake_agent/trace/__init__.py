"""Which functions did each test call?

A test that fails at random calls something that can come out differently: a clock, a generator, a
socket, a thread. So the set of functions that a test calls shows, after one run, whether it is
worth rerunning, and which code it reaches. Reported are Python functions and those written in C, on
all threads, from the call of the test function to its return: neither the fixtures nor the runner.

This happens at every single call, so the price is what counts; ``begin`` takes the cheapest way
there is.

=================  ==============================================================================
module             question it answers
=================  ==============================================================================
``names``          what is a function called, and which number does it have in this run?
``functions``      which functions in C are there, and which names do they go by?
``marks``          can this interpreter be read instead of asked? (3.12 and 3.13)
``native``         how are calls noted by code that is not Python? (3.8 and newer, if it loads)
``hook``           may that code put an evaluation hook into this interpreter? (3.11)
``monitor``        how are they noted by ``sys.monitoring``, from 3.12 on?
``profile``        how are they noted by ``sys.setprofile``? Slow, exact, and there always
=================  ==============================================================================

Each is a *means*: ``arm(function)`` begins to note calls when the function is called, ``disarm``
stops, ``numbers`` are the functions noted in between; native code makes the whole ``message`` about
them. A means that ``ends_by_itself`` costs nothing more once the code has returned, and need not be
disarmed before that. A means that ``is_over_with_message`` need not be disarmed at all.

Limits: C functions are seen when Python code calls them, not when C code does. Processes that a
test starts are not seen. Below 3.12, threads are seen if ``threading`` starts them in the test. A
test that installs its own profiler is traced until then.
"""

import functools
from inspect import CO_ASYNC_GENERATOR, CO_COROUTINE, CO_GENERATOR
from types import FunctionType, MethodType
from typing import Any, Optional

from ..wire import frame, framed
from . import draws, monitor, native, profile
from .names import Names

_SUSPENDS = CO_COROUTINE | CO_GENERATOR | CO_ASYNC_GENERATOR

_TRACED = '{"traced":{"position":%d,"attempt":%d,"functions":"%s","names":[%s]}}'

MEANS = {
    "native": native.begin,
    "told": native.told,
    "monitor": monitor.begin,
    "profile": profile.begin,
    "counted": profile.counted,
}
"""From the cheapest to the one that always works; behind it, the one that also counts."""


prepare = native.prepare
"""To be called before runs that are traced are forked: what takes time, once for all of them."""


class Trace:
    """Traces one run."""

    def __init__(self, wanted: Any) -> None:
        self._names = Names()
        self._means = _begin(wanted, self._names)
        self._is_armed = False
        self._has_run = False
        self.ends_by_itself: bool = self._means.ends_by_itself
        self._message = getattr(self._means, "message", self._written)
        if getattr(self._means, "is_over_with_message", False):
            # Nothing else is done after a test, and this is done after every one.
            self.take = self._message  # type: ignore[method-assign]
        self.announce: Any = getattr(self._means, "announce", None)
        """Arms before each call of a function, if the means can do so by itself."""
        self.looks_at_draws = draws.is_there()
        self._generator: Any = None
        self._has_drawn = False

    def arm(self, function: Any, otherwise: Any = None) -> bool:
        """The next call of ``function`` is the test; or that of ``otherwise``, if it can be
        suspended.

        If the call cannot be detected, everything counts from here on until ``disarm``, and the
        answer is False.
        """
        known = plain(function)
        if known is not None and known.__code__.co_flags & _SUSPENDS:
            known = plain(otherwise)
        self._is_armed = self._has_run = True
        self._means.arm(known)
        return known is not None

    def disarm(self) -> None:
        """The test function has returned."""
        if self._is_armed:
            self._is_armed = False
            self._means.disarm()

    def take(self, position: int, attempt: int) -> bytes:
        """A ``traced`` frame: what the test called, and the names that are new in this run."""
        if self._is_armed:
            self.disarm()
        message: bytes = self._message(position, attempt)
        return message

    def before_call(self) -> None:
        """A test is about to be called, and is not armed yet."""
        self._generator = draws.look()

    def after_call(self) -> None:
        """The test was called."""
        self._has_drawn = self._generator is not None and draws.look() != self._generator
        self._generator = None

    def unseen(self, position: int, attempt: int) -> bytes:
        """Another ``traced`` frame, with functions called unnoticed; empty if there are none."""
        if not self._has_drawn:
            return b""
        self._has_drawn = False
        body = dict(position=position, attempt=attempt, functions="", names=[])
        return frame("traced", dict(body, unseen=[draws.FUNCTION]))

    def _written(self, position: int, attempt: int) -> bytes:
        functions = self._means.numbers() if self._has_run else b""
        self._has_run = False
        # Writing a list of numbers, or a dictionary, would cost more than noting them.
        said = _TRACED % (position, attempt, functions.hex(), self._names.news())
        counts = getattr(self._means, "counts", None)
        if counts is not None and functions:
            said = said[:-2] + ',"counts":%s}}' % counts()
        return framed(said.encode("ascii"))


def _begin(wanted: Any, names: Names) -> Any:
    kinds = [str(wanted)] if wanted in MEANS else list(MEANS)
    for kind in kinds:
        means = MEANS[kind](names)
        if means is not None:
            return means
    raise ValueError(f"calls cannot be traced by {wanted}")


def plain(function: Any) -> Optional[FunctionType]:
    """The Python function that runs when it is called; None if that is unknown."""
    # By type and not by attribute, because the function may be an object of the tested program.
    while True:
        if type(function) is MethodType:
            function = function.__func__
        elif type(function) is functools.partial:
            function = function.func
        else:
            break
    return function if type(function) is FunctionType else None
