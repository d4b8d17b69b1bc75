"""Can a run begin in a process that is there already?

To fork a process takes a fifth of the time of a run of two tests. So in a cell that turned out to
be used again, the process for the next run is forked while one is under way, if a processor has
nothing else to do, does what is the same for all runs, and waits to be told what to run. It knows
nothing of its run before, and nothing of the one beside it can reach it but a signal: then it is
gone, and the next run is forked when it is asked for, as the first ones of a cell are.

It does no more than that ahead. To have it copy all the memory that every run writes to was tried:
the run is quicker then, and all of it together is not, because what was copied has left the caches
when it is used.
"""

from typing import Any, Optional

from .passing import send_with


class Spare:
    """The process that waits in a cell for its next run, if one does."""

    def __init__(self) -> None:
        self._pid = 0
        self._channel: Any = None

    def put_up(self, pid: int, channel: Any) -> None:
        """There is one."""
        self._pid, self._channel = pid, channel

    def give(self, wish: bytes, errors: int) -> Optional[int]:
        """Hands a run over as it was wished for; who has it now. None if nobody is there."""
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
        """It has its run, or leaves without one; or, in a new process: it is not for us."""
        if self._channel is not None:
            self._channel.close()
            self._channel = None

    @property
    def pid(self) -> Optional[int]:
        """Who waits, as far as is known."""
        return None if self._channel is None else self._pid
