"""Put at the end of a copy of the agent's `child.py`: has each run leave behind, when its last test
is over, how much processor time it took until its first test, and each of its tests took, in
nanoseconds."""

import os
import time
from typing import Any, Iterator

_untimed_plan = _plan  # type: ignore[name-defined]  # noqa: F821


def _plan(*args: Any) -> Iterator[Any]:
    """The next test is asked for when one is over."""
    begun = time.process_time_ns()
    told = [begun]
    for each in _untimed_plan(*args):
        yield each
        now = time.process_time_ns()
        told.append(now - begun)
        begun = now
    with open(os.path.join(os.environ["UNFLAKE_BENCH_CLOCK"], str(os.getppid())), "w") as file:
        file.write(" ".join(map(str, told)))
