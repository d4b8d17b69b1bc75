"""Has each run of the agent leave behind, when it ends, the processor time it took.

Loaded by the Python of a suite when it starts, before anything else. The kernel tells others of it
in hundredths of a second only.
"""

import os
import time

_exit = os._exit


def _exit_on_the_clock(code: int) -> None:
    with open(os.path.join(os.environ["UNFLAKE_BENCH_CLOCK"], str(os.getppid())), "a") as file:
        file.write(f"{time.process_time_ns()}\n")
    _exit(code)


if "UNFLAKE_BENCH_CLOCK" in os.environ:
    os._exit = _exit_on_the_clock  # type: ignore[assignment]
