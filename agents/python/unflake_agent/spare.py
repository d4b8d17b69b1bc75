"""Can a run begin in a process that already exists?

Forking a process takes a fifth of the time of a run of two tests. So in a cell that has been reused
before, the process for the next run is forked while one is under way, if a processor is idle. It
does what is the same for all runs, and waits to be told what to run. It knows nothing about the run
before it, and the run beside it can reach it only by a signal: then it is gone, and the next run is
forked when it is requested, as the first ones of a cell are.

It does no more than that ahead. Copying in advance all the memory that every run writes to was
tried: then the run is quicker, but the total is not, because what was copied has left the caches
when it is used.
"""

from typing import Any, Optional

from .passing import send_with


class Spare:
    """The process that waits in a cell for its next run, if there is one."""

    def __init__(self) -> None:
        self._pid = 0
        self._channel: Any = None

    def put_up(self, pid: int, channel: Any) -> None:
        """Registers the waiting process."""
        self._pid, self._channel = pid, channel

    def give(self, wish: bytes, errors: int) -> Optional[int]:
        """Hands a run over, as it was requested; returns the process that has it. None if none is
        waiting."""
        if self._channel is None:
            return None
        try:
            send_with(self._channel, wish, [errors])
            return self._pid
        except OSError:
            # A test has ended it.
            return None
        finally:
            self.dismiss()

    def dismiss(self) -> None:
        """It has its run, or leaves without one; in a new process: forgets it."""
        if self._channel is not None:
            self._channel.close()
            self._channel = None

    @property
    def pid(self) -> Optional[int]:
        """The waiting process, as far as it is known."""
        return None if self._channel is None else self._pid
