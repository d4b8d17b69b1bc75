"""Is it safe to fork this process at all?

A forked child has only the thread that forked. Locks held by other threads stay locked forever, and
devices do not survive the copy. So after collection we look for threads that Python knows, threads
that only the kernel knows, and open devices. The answer is a reason not to fork, or none.

Some libraries keep threads and are safe all the same: OpenBLAS, which every ``import numpy`` loads,
ends its threads in a fork handler and starts them again when needed. We need not know their names:
a trial fork tells. Threads that are gone after it were prepared for forking; threads that are still
there were not.
"""

import os
import sys
import threading
from typing import Optional

_DEVICES = ("/dev/nvidia", "/dev/kfd", "/dev/dri/", "/dev/accel", "/dev/infiniband/")


def why_not() -> Optional[str]:
    """The reason why this process must not be forked, or None."""
    if not hasattr(os, "fork"):
        return "this system has no fork"
    known = [t.name for t in threading.enumerate() if t is not threading.main_thread()]
    if known:
        return "threads are alive after collection: {}".format(", ".join(sorted(known)))
    device = _open_device()
    if device:
        return f"a device is open after collection: {device}"
    if _kernel_threads() > 1:
        _trial_fork()
        left = _kernel_threads() - 1
        if left:
            return f"{left} native thread(s) are alive after collection"
    return None


def _kernel_threads() -> int:
    try:
        return len(os.listdir("/proc/self/task"))
    except OSError:
        # Without /proc (macOS), Python's own list is all there is.
        return 1


def _open_device() -> Optional[str]:
    try:
        names = os.listdir("/proc/self/fd")
    except OSError:
        return None
    for name in names:
        try:
            target = os.readlink("/proc/self/fd/" + name)
        except OSError:
            continue
        if target.startswith(_DEVICES):
            return target
    return None


def _trial_fork() -> None:
    import warnings

    sys.stdout.flush()
    with warnings.catch_warnings():
        # 3.12 warns about the very threads that we are looking at.
        warnings.simplefilter("ignore")
        pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)
