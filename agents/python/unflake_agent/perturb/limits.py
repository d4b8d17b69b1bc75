"""Less room: for memory, open files and nested calls. Only soft limits, and only downwards."""

import os
import resource
import sys
from typing import Any, Dict

from .draw import Draw, Refusal

_MEGABYTES = [64, 128, 256]
_DESCRIPTORS = [12, 24, 48]
_DEPTHS = [250, 350, 500]


def memory(draw: Draw, _: Any) -> Dict[str, Any]:
    """Limits how much can be allocated beyond what is in use."""
    megabytes = draw.one(_MEGABYTES)
    with open("/proc/self/status", encoding="ascii", errors="replace") as status:
        used = [line.split()[1] for line in status if line.startswith("VmData:")]
    if not used:
        raise Refusal("the system does not say how much memory is in use")
    kilobytes = int(used[0]) + megabytes * 1024
    _lower(resource.RLIMIT_DATA, kilobytes * 1024)
    return {"how": f"{megabytes} MB left to allocate", "before": f"ulimit -S -d {kilobytes}"}


def descriptors(draw: Draw, _: Any) -> Dict[str, Any]:
    """Limits how many files can be opened beyond those that are open."""
    n_free = draw.one(_DESCRIPTORS)
    taken = set(map(int, os.listdir("/proc/self/fd")))
    limit = 0
    while n_free:
        n_free -= limit not in taken
        limit += 1
    _lower(resource.RLIMIT_NOFILE, limit)
    return {"how": f"ulimit -n {limit}", "before": f"ulimit -S -n {limit}"}


def recursion(draw: Draw, _: Any) -> Dict[str, Any]:
    """Limits how deeply calls can nest from here."""
    depth, frame = 0, sys._getframe()
    while frame.f_back is not None:
        depth, frame = depth + 1, frame.f_back
    limit = depth + draw.one(_DEPTHS)
    if sys.getrecursionlimit() <= limit:
        raise Refusal(f"the limit is {sys.getrecursionlimit()} already")
    sys.setrecursionlimit(limit)
    return {"how": f"at most {limit} nested calls"}


def _lower(which: int, limit: int) -> None:
    soft, hard = resource.getrlimit(which)
    if soft != resource.RLIM_INFINITY and soft <= limit:
        raise Refusal(f"the limit is {soft} already")
    resource.setrlimit(which, (limit, hard))
