"""How are descriptors passed with a message?

A run has a connection and a file that were opened where paths have their usual meaning; the process
that runs it is in a cell, where they may not. So both are passed through a socket, with the
request.
"""

import array
from _socket import AF_UNIX, SCM_RIGHTS, SOCK_STREAM, SOL_SOCKET
from _socket import socket as _Socket
from _socket import socketpair as _socketpair
from typing import Any, List, Sequence, Tuple

from .linux import high
from .wire import Stream

try:
    # The tested program may have set SIGPIPE to its default, which kills.
    from _socket import MSG_NOSIGNAL as _QUIETLY
except ImportError:
    _QUIETLY = 0

_N_PASSED = 2
"""Descriptors that come with a run, at most: its connection to the engine, the file for errors."""


class Wishes(Stream):
    """The end of a channel at which requests arrive, with descriptors."""

    def __init__(self, sock: Any) -> None:
        super().__init__(sock.fileno())
        self._sock = sock
        self._passed: List[int] = []

    def next(self) -> Tuple[bytes, List[int]]:
        """The next request, as a frame, with its descriptors."""
        while True:
            size = _N_PASSED * array.array("i").itemsize
            data, extra, _, _ = self._sock.recvmsg(1 << 16, 64 + size)
            for level, kind, packed in extra:
                if (level, kind) == (SOL_SOCKET, SCM_RIGHTS):
                    self._passed += array.array("i", packed).tolist()
            for wish in self._frames(data):
                passed, self._passed = self._passed, []
                return wish, [high(fd) for fd in passed]


def pair() -> Tuple[Any, Any]:
    """A channel: the sending end and the receiving end."""
    ours, theirs = _socketpair(AF_UNIX, SOCK_STREAM)
    return _raised(ours), _raised(theirs)


def _raised(sock: Any) -> Any:
    return _Socket(AF_UNIX, SOCK_STREAM, 0, high(sock.detach()))


def send_with(sock: Any, data: bytes, descriptors: Sequence[int]) -> None:
    """Sends a request and its descriptors."""
    packed = array.array("i", descriptors)
    sent = sock.sendmsg([data], [(SOL_SOCKET, SCM_RIGHTS, packed)], _QUIETLY)
    if sent < len(data):
        # Never send nothing: a receiver that has everything may have hung up already.
        sock.sendall(data[sent:], _QUIETLY)
