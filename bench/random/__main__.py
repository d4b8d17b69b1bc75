"""What `unflake detect` costs on tests that fail at random: two versions of it, in turn.

    python3 bench/random --before PROGRAM --after PROGRAM --python PYTHON [--repeat 3]

Each version is asked about eleven small tests that fail at random, at rates from 50 down to 2 %,
and about `examples/shop`, with default budgets, without a history and with the same seeds. PYTHON
has pytest. Executions are those of tests, by the report's own count, so plain runs of the project's
runner are not among them; seconds are wall time of the whole command, and those are. The verdicts
stand beside the cost, because a cheaper answer that is a worse one would be none.

Times decide nothing: the exit code is 1 only if a version gave no report.
"""

import argparse
import collections
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from typing import Any, Dict, List, NamedTuple

ROOT = pathlib.Path(__file__).resolve().parents[2]
RATES = [0.5, 0.4, 0.3, 0.25, 0.2, 0.15, 0.1, 0.1, 0.05, 0.05, 0.02]
ASKED_AT_LEAST = 5.0


class Cost(NamedTuple):
    """What one campaign took, and what it said."""

    executions: int
    runs: int
    seconds: float
    verdicts: str


def main() -> int:
    args = parse_args()
    # Not resolved: a virtual environment is known by the link in it.
    args.python = os.path.abspath(args.python)
    programs = {"before": args.before.resolve(), "after": args.after.resolve()}
    with tempfile.TemporaryDirectory() as folder:
        suites = {
            "eleven random tests": random_suite(pathlib.Path(folder, "random")),
            "examples/shop": shutil.copytree(ROOT / "examples/shop", pathlib.Path(folder, "shop")),
        }
        for name, suite in suites.items():
            costs: Dict[str, List[Cost]] = {version: [] for version in programs}
            for seed in range(args.repeat):
                for version, program in programs.items():
                    costs[version].append(detect(program, args.python, suite, seed))
            tell(name, costs)
    load = " ".join(f"{each:.1f}" for each in os.getloadavg())
    print(f"asked for: {ASKED_AT_LEAST:.0f} times fewer executions of random tests; "
          f"load {load} on {os.cpu_count()} cores")  # fmt: skip
    return 0


def parse_args() -> Any:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--before", type=pathlib.Path, required=True, help="a binary")
    parser.add_argument("--after", type=pathlib.Path, required=True, help="another")
    parser.add_argument("--python", default=sys.executable, help="an interpreter with pytest")
    parser.add_argument("--repeat", type=int, default=3, help="campaigns of each, seeds 0, 1, …")
    return parser.parse_args()


def random_suite(folder: pathlib.Path) -> pathlib.Path:
    """Chance is the system's: no seed of ours, and no order, has a part in it."""
    lines = ["import random", "", "CHANCE = random.SystemRandom()", ""]
    for number, rate in enumerate(RATES):
        name = f"test_{number:02}_fails_in_{rate * 100:.0f}_percent"
        lines += ["", f"def {name}():", f"    assert CHANCE.random() >= {rate}", ""]
    folder.mkdir()
    (folder / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    (folder / "test_random.py").write_text("\n".join(lines), encoding="utf-8")
    return folder


def detect(program: pathlib.Path, python: str, suite: pathlib.Path, seed: int) -> Cost:
    command = [str(program), "detect", "--json", "--no-store", "--seed", str(seed)]
    begun = time.monotonic()
    done = subprocess.run(
        [*command, "--python", python],
        cwd=suite,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    seconds = time.monotonic() - begun
    if done.returncode > 1:
        sys.exit(f"{program} ended with {done.returncode}:\n{done.stderr}")
    report = json.loads(done.stdout)
    kinds = collections.Counter(finding["verdict"] for finding in report["findings"])
    verdicts = ", ".join(f"{kind} {count}" for kind, count in sorted(kinds.items()))
    cost = report["summary"]["cost"]
    return Cost(cost["attempts"], cost["runs"], seconds, verdicts)


def tell(name: str, costs: Dict[str, List[Cost]]) -> None:
    print(name)
    for version, several in costs.items():
        for seed, cost in enumerate(several):
            print(f"  {version:<8}seed {seed}{cost.executions:>9} executions{cost.runs:>8} runs"
                  f"{cost.seconds:>8.1f} s  {cost.verdicts}")  # fmt: skip
    executions, seconds = ratio(costs, "executions"), ratio(costs, "seconds")
    print(f"  {executions:.1f} times fewer executions, {seconds:.1f} times less time (medians)",
          flush=True)  # fmt: skip


def ratio(costs: Dict[str, List[Cost]], field: str) -> float:
    before, after = (
        statistics.median(getattr(cost, field) for cost in costs[version])
        for version in ("before", "after")
    )
    return before / after


if __name__ == "__main__":
    sys.exit(main())
