"""How does the process that runs tests speak, when a message must cost next to nothing?

It puts frames into memory it shares with its guard, who stands outside the reach of the tests and
passes them on to the engine, every few milliseconds and once more when the process is gone. A test
can close every descriptor and kill itself; what was said before is in the memory. And there is no
system call and no switch of context between two tests: of a suite of a thousand quick tests, these
were a third of the time.

One writes, one reads. The reader sees a frame when the writer has moved the end behind it. It is
woken only when the writer leaves: the end of a process can be seen a millisecond later only, when
the kernel has cleared its memory away.
"""

import mmap
from os import _exit, getpid, pipe, read, write
from threading import Lock
from time import sleep
from typing import Any, List

from .linux import close_all_but, high
from .wire import STRAY, frame

_SIZE = 1 << 20
_NAP = 0.001
_BEGIN, _END = 0, 8
"""Which eight bytes are the marks, on cache lines of their own."""
_PID = 4
_DATA = 128
"""Where the data begins."""


class Ring:
    """Memory shared with the processes forked after it was made."""

    def __init__(self) -> None:
        self._memory = mmap.mmap(-1, _DATA + _SIZE)
        # An item of such a view is written and read at once. `struct` is no good here: it writes
        # zeroes first, which the other process may see.
        self._marks = memoryview(self._memory)[:_DATA].cast("Q")
        self._owner = -1
        self._fence = Lock()
        self._bell = -1

    def listen(self) -> int:
        """A descriptor for ``left``; to be called before those who speak are forked."""
        heard, self._bell = (high(fd) for fd in pipe())
        return heard

    def clear(self) -> None:
        """Forgets everything; nobody may be writing."""
        self._marks[_BEGIN] = 0
        self._marks[_END] = 0

    def adopt(self) -> None:
        """This process is the one that speaks from now on."""
        self._owner = getpid()

    def is_ours(self) -> bool:
        """Whether this process is the one."""
        return self._owner == getpid()

    def send(self, name: str, **body: Any) -> None:
        """Says one message."""
        self.forward(frame(name, body))

    def forward(self, data: bytes) -> None:
        """Passes frames on as they are; a process that a test forked and let run on ends here."""
        if not self.is_ours():
            _exit(STRAY)
        n_put = self._put(data)
        while n_put < len(data):
            n_put += self._put(data[n_put:])

    def _put(self, data: bytes) -> int:
        """Writes what there is room for; how much that was."""
        begin, end = self._marks[_BEGIN], self._marks[_END]
        place = end % _SIZE
        n = min(len(data), _SIZE - (end - begin), _SIZE - place)
        if n == 0:
            # The guard ends this process if it is gone itself.
            sleep(_NAP)
            return 0
        self._memory[_DATA + place : _DATA + place + n] = data[:n]
        with self._fence:
            # Not to keep others out: other processors must see the data before the mark.
            pass
        self._marks[_END] = end + n
        return n

    def leave(self) -> None:
        """This process has said all, and does nothing any more."""
        if self._bell < 0:
            return
        try:
            # What others would run into, ports and locks, is free before they begin.
            close_all_but(self._bell)
            write(self._bell, getpid().to_bytes(_PID, "little"))
        except OSError:
            # A test has closed it; that the process ends will be seen.
            pass

    @staticmethod
    def left(heard: int) -> List[int]:
        """Who has left."""
        pids = read(heard, 1 << 12)
        return [int.from_bytes(pids[at : at + _PID], "little") for at in range(0, len(pids), _PID)]

    def take(self) -> bytes:
        """All that was said since the last time."""
        begin, end = self._marks[_BEGIN], self._marks[_END]
        taken = bytearray()
        while begin < end:
            place = begin % _SIZE
            n = min(end - begin, _SIZE - place)
            taken += self._memory[_DATA + place : _DATA + place + n]
            begin += n
        self._marks[_BEGIN] = begin
        return bytes(taken)
