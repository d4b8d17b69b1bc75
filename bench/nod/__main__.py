"""How long until a known flaky test is seen to flake: `unflake detect --reruns` beside plain pytest.

    python3 bench/nod FOLDER PYTHON TEST [--repeat 3] [--flake-runs 50] [--time 60] [--paths …]

FOLDER is a project that is ready to be tested by PYTHON, which has pytest and pytest-flakefinder;
TEST is the known test as pytest names it, from FOLDER. Neither tool is told of TEST: both look at
all tests (or at those of some paths). Each is stopped when TEST was seen to pass and to fail, or when the time is
up. Both are run in turn, with other seeds. Seconds are wall time from the start of the command,
with start and collection; `-` is not found in time. The ratio is of the medians, a run that did not
find it counting as the whole time.

`--flake-finder` runs each test so often, one test after the other, in one process; where that ends
without the test having done both, it is started again.
"""

import argparse
import os
import pathlib
import re
import statistics
import subprocess
import sys
import threading
import time
from typing import Any, Callable, List, Optional

ROOT = pathlib.Path(__file__).resolve().parents[2]


def main() -> int:
    args = parse_args()
    ours: List[Optional[float]] = []
    theirs: List[Optional[float]] = []
    for number in range(args.repeat):
        theirs.append(flake_finder(args))
        ours.append(unflake(args, number))
    print(f"{args.folder.name}  {args.test}")
    for name, seconds in (("unflake", ours), ("flake-finder", theirs)):
        told = "  ".join("-" if each is None else f"{each:.1f}" for each in seconds)
        print(f"  {name:<14}{told}")
    ratio = median(theirs, args.time) / median(ours, args.time)
    load = " ".join(f"{each:.1f}" for each in os.getloadavg())
    print(f"  flake-finder takes {ratio:.2f} times as long (load {load})", flush=True)
    return 0


def parse_args() -> Any:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("python")
    parser.add_argument("test")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--flake-runs", type=int, default=50, help="its own default")
    parser.add_argument("--time", type=float, default=60, help="seconds for each run")
    parser.add_argument("--unflake", default=str(ROOT / "target" / "release" / "unflake"))
    parser.add_argument("--paths", nargs="*", default=[], help="only these files")
    return parser.parse_args()


def median(seconds: List[Optional[float]], at_most: float) -> float:
    return statistics.median(at_most if each is None else each for each in seconds)


def unflake(args: Any, seed: int) -> Optional[float]:
    """It tells on its standard error when it has seen a test do both."""
    command = [args.unflake, "detect", "--reruns", "--no-store", "--seed", str(seed)]
    command += ["--time", f"{args.time:.0f}s", "--python", args.python, *args.paths]
    said = f"suspected  {args.test} "
    return until(command, args, lambda line: (line + " ").startswith(said))


def flake_finder(args: Any) -> Optional[float]:
    """Copies of a test have a number in their brackets."""
    command = [args.python, "-u", "-m", "pytest", "-v", "-p", "no:cacheprovider", "--color=no"]
    command += ["--flake-finder", f"--flake-runs={args.flake_runs}", *args.paths]
    name = re.escape(args.test.rstrip("]"))
    said = re.compile(rf"^{name}([\[-]\S*)? (PASSED|FAILED|ERROR)")
    seen = set()

    def is_done(line: str) -> bool:
        match = said.match(line)
        seen.update([match.group(2) == "PASSED"] if match else [])
        return len(seen) == 2

    return until(command, args, is_done)


def until(command: List[str], args: Any, is_done: Callable[[str], bool]) -> Optional[float]:
    """Seconds until the program has said it; started again if it ends before."""
    begun = time.monotonic()
    while time.monotonic() - begun < args.time:
        left = args.time - (time.monotonic() - begun)
        if once(command, args.folder, is_done, left):
            return time.monotonic() - begun
    return None


def once(
    command: List[str], folder: pathlib.Path, is_done: Callable[[str], bool], at_most: float
) -> bool:
    """Whether the program has said it; it is stopped then."""
    process = subprocess.Popen(
        command,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )
    watch = threading.Timer(at_most, process.terminate)
    watch.start()
    is_said = False
    assert process.stdout is not None
    for line in process.stdout:
        if not is_said and is_done(line.rstrip()):
            is_said = True
            process.terminate()
    process.wait()
    watch.cancel()
    return is_said


if __name__ == "__main__":
    sys.exit(main())
