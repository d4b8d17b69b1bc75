"""How is a message written and read?

A frame is four bytes of length, big endian, then one JSON object with one key, the message's name.
The reader on the other side accepts strict UTF-8 only, while tests print and raise anything at all:
``text`` is the one gate through which foreign text passes.

A connection may be in a process that tests do what they like with (where forking is unsafe). Before
each write two things are checked that a test may have changed: that this is still the process the
connection belongs to (otherwise a test that forks and lets the child run on would speak twice), and
that the descriptor is still our socket (a test that closed it may have opened its own file under
the same number).
"""

import json
import struct
from _socket import AF_UNIX, SOCK_STREAM
from _socket import socket as _Socket
from os import _exit, close, fstat, getpid, read, write
from typing import Any, Callable, Dict, Iterator, Optional, Tuple

from .linux import high

VERSION = 1

TEXT_LIMIT = 64 * 1024
"""Bytes of one text field; failures that need more are not read by anyone."""

FRAME_LIMIT = 256 * 1024 * 1024
"""A longer frame is a fault of the writer, not a message (100,000 tests are about 20 MiB)."""

STRAY = 71
"""Exit status of a process that ran on after a test forked it."""

_encode = json.JSONEncoder(ensure_ascii=True, separators=(",", ":")).encode
_decode = json.JSONDecoder().decode
_length = struct.Struct(">I")

Message = Tuple[str, Dict[str, Any]]


class Gone(Exception):
    """The other side has hung up."""


def text(value: Any, limit: int = TEXT_LIMIT) -> str:
    """Foreign text as valid, bounded UTF-8: escapes for what is invalid, the middle cut out."""
    if type(value) is str and len(value) <= limit and value.isascii():
        return value
    if isinstance(value, bytes):
        data = value
    else:
        data = str(value).encode("utf-8", "backslashreplace")
    if len(data) > limit:
        half = limit // 2
        cut = f"\n[... {len(data) - 2 * half} bytes cut out ...]\n"
        return _utf8(data[:half]) + cut + _utf8(data[-half:])
    return _utf8(data)


def _utf8(data: bytes) -> str:
    return data.decode("utf-8", "backslashreplace")


def frame(name: str, body: Dict[str, Any]) -> bytes:
    """One message as bytes."""
    return framed(_encode({name: body}).encode("ascii"))


def framed(data: bytes) -> bytes:
    """A message that is already written, as bytes."""
    return _length.pack(len(data)) + data


def content(whole: bytes) -> Dict[str, Any]:
    """The contents of a frame: the message's name, and its body."""
    message: Dict[str, Any] = _decode(whole[_length.size :].decode("utf-8"))
    return message


def started(position: int, attempt: int) -> bytes:
    """``frame`` for the message before each test; built by hand, in a fifth of the time."""
    return framed(b'{"start":{"position":%d,"attempt":%d}}' % (position, attempt))


def passed(position: int, attempt: int, seconds: float) -> bytes:
    """The same for the message after most of them."""
    words = b'{"end":{"position":%d,"attempt":%d,"outcome":"passed","phase":"call","seconds":%r}}'
    return framed(words % (position, attempt, seconds))


def over(status: int, is_clean: bool) -> bytes:
    """The same for a guard's message after each run. Whatever a guard does between two forks makes
    the kernel copy pages for it."""
    words = b'{"ended":{"status":%d,"clean":%s}}'
    return framed(words % (status, b"true" if is_clean else b"false"))


class Stream:
    """Frames over a descriptor that nobody else uses."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._buffer = bytearray()

    def fileno(self) -> int:
        """The descriptor, for poll."""
        return self._fd

    def close(self) -> None:
        """Hangs up, in this process only."""
        close(self._fd)
        self._fd = -1

    def send(self, name: str, **body: Any) -> None:
        """Sends one message."""
        self.forward(frame(name, body))

    def forward(self, data: bytes) -> None:
        """Passes frames on as they are."""
        try:
            self._write(data)
        except OSError as error:
            raise Gone(str(error)) from None

    def _write(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            view = view[write(self._fd, view) :]

    def receive(self) -> Iterator[Message]:
        """Reads once, and yields the messages that are complete; ``Gone`` at the end of file."""
        return self._take(read(self._fd, 1 << 16))

    def _take(self, data: bytes) -> Iterator[Message]:
        for whole in self._frames(data):
            yield from content(whole).items()

    def _frames(self, data: bytes) -> Iterator[bytes]:
        """The frames that this reading completes, as they are."""
        if not data:
            raise Gone("end of file")
        self._buffer += data
        while len(self._buffer) >= _length.size:
            (size,) = _length.unpack_from(self._buffer)
            if size > FRAME_LIMIT:
                raise Gone(f"a frame of {size} bytes")
            end = _length.size + size
            if len(self._buffer) < end:
                return
            whole = bytes(self._buffer[:end])
            del self._buffer[:end]
            yield whole


class Connection(Stream):
    """One connection to the engine, which is restored if a test closes it."""

    def __init__(self, path: str, hello: Dict[str, Any]) -> None:
        super().__init__(-1)
        self._path = path
        self._hello = hello
        self._owner = getpid()
        self._identity: Optional[Tuple[int, int]] = None
        self._connect()

    def _connect(self) -> None:
        sock = _Socket(AF_UNIX, SOCK_STREAM, 0)
        sock.connect(self._path)
        self._fd = high(sock.detach())
        status = fstat(self._fd)
        self._identity = (status.st_dev, status.st_ino)
        self._write(frame("hello", self._hello))

    def close(self) -> None:
        """Hangs up, in this process only."""
        if self._is_ours():
            super().close()
        self._identity = None

    def _is_ours(self) -> bool:
        try:
            status = fstat(self._fd)
        except OSError:
            return False
        return (status.st_dev, status.st_ino) == self._identity

    def forward(self, data: bytes) -> None:
        """Passes frames on as they are; a process that does not own the connection ends here."""
        if getpid() != self._owner:
            _exit(STRAY)
        try:
            if self._is_ours():
                self._write(data)
                return
        except OSError:
            pass
        # A frame that was cut off by a hang-up is lost with its connection: send it again.
        try:
            self._connect()
            self._write(data)
        except OSError as error:
            raise Gone(str(error)) from None


Connect = Callable[[Dict[str, Any]], Connection]
"""Opens a connection that introduces itself with these keys besides version and token."""


def connector(path: str, token: str) -> Connect:
    """Knows where the engine listens and which message it expects first."""

    def connect(keys: Dict[str, Any]) -> Connection:
        return Connection(path, dict({"version": VERSION, "token": token}, **keys))

    return connect
