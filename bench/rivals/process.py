"""Runs a program to its end, or to its time limit, and says how long it took."""

import os
import pathlib
import pty
import signal
import struct
import subprocess
import termios
import threading
import time
from fcntl import ioctl
from typing import Dict, List, NamedTuple, Optional


class Finished(NamedTuple):
    seconds: float
    code: Optional[int]  # None: stopped at its time limit
    stdout: str
    stderr: str

    @property
    def text(self) -> str:
        return self.stdout + self.stderr


def run(
    command: List[str], folder: pathlib.Path, env: Dict[str, str], limit_s: float
) -> Finished:
    start = time.perf_counter()
    process = subprocess.Popen(
        command, cwd=str(folder), env=env, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
    )
    code: Optional[int]
    try:
        stdout, stderr = process.communicate(timeout=limit_s)
        code = process.returncode
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        stdout, stderr = process.communicate()
        code = None
    seconds = time.perf_counter() - start
    return Finished(seconds, code, stdout.decode(errors="replace"), stderr.decode(errors="replace"))


def run_in_terminal(
    command: List[str], folder: pathlib.Path, env: Dict[str, str], limit_s: float
) -> Finished:
    """The same for programs that die without a terminal."""
    ours, theirs = pty.openpty()
    ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 100, 0, 0))
    start = time.perf_counter()
    process = subprocess.Popen(
        command, cwd=str(folder), env=env,
        stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True,
    )
    os.close(theirs)
    overdue = threading.Event()

    def stop() -> None:
        overdue.set()
        os.killpg(process.pid, signal.SIGKILL)

    timer = threading.Timer(limit_s, stop)
    timer.start()
    text = _read_all(ours)
    code = process.wait()
    timer.cancel()
    seconds = time.perf_counter() - start
    return Finished(seconds, None if overdue.is_set() else code, text, "")


def _read_all(terminal: int) -> str:
    chunks: List[bytes] = []
    while True:
        try:
            chunk = os.read(terminal, 65536)
        except OSError:  # how Linux says that the other end is closed
            chunk = b""
        if not chunk:
            os.close(terminal)
            return b"".join(chunks).decode(errors="replace")
        chunks.append(chunk)
