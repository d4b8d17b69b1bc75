"""Two versions of unflake, in turn: is the second one slower?

    python3 bench/versions --before PROGRAM --after PROGRAM [--repeat 11] [--java]

Measured are `why` on the cases A and C of bench/rivals, what one more order costs (see there),
`detect` on `examples/shop`, and with `--java` rounds on the fixture project of `crates/junit`,
which needs Maven. Both versions are asked in turn, the one that goes first changes, and each gets a
history of its own that is new every time. Told are the least time and the median of each, and the
ratio of both: what others do on the machine makes times longer and never shorter.

Times decide nothing: the exit code is 1 only if a version gave no report.
"""

import argparse
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from typing import Callable, Dict, List, Tuple

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench" / "rivals"))

from cases import CASES  # noqa: E402
from tools import Unflake  # noqa: E402

ROUNDS = 20
Times = Dict[str, List[float]]


def main() -> int:
    args = parse_args()
    programs = {"before": args.before.resolve(), "after": args.after.resolve()}
    asker = Unflake("unflake", ["why"], ())
    os.environ["UNFLAKE"] = str(programs["after"])
    asker.prepare()
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores, {args.repeat} times in turn")
    print(f"{'':32}{'before':>16}{'after':>16}{'ratio':>15}")
    with tempfile.TemporaryDirectory(prefix="unflake-bench-") as folder:
        for case in CASES:
            if case.name not in ("A", "C"):
                continue
            project = pathlib.Path(folder, case.name)
            asker.set_up(case, project)
            words = ["why", case.victim.pytest_id, "--json"]
            tell(f"why, case {case.name}", in_turn(
                programs, args.repeat, lambda it: ask(it, words, project, asker.env)[0]))
            if case.name == "A":
                tell("one more order", in_turn(
                    programs, max(3, args.repeat // 3),
                    lambda it: an_order(it, case.victim.pytest_id, project, asker.env)))
        shop = pathlib.Path(shutil.copytree(ROOT / "examples/shop", pathlib.Path(folder, "shop")))
        tell("detect, examples/shop", in_turn(
            programs, max(3, args.repeat // 3),
            lambda it: ask(it, ["detect", "--json"], shop, asker.env)[0]))
        if args.java:
            java(programs, pathlib.Path(folder), max(3, args.repeat // 3))
    print(f"load {os.getloadavg()[0]:.1f} at the end")
    return 0


def parse_args() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench/versions", description=__doc__.split("\n")[0])
    parser.add_argument("--before", type=pathlib.Path, required=True, help="a binary")
    parser.add_argument("--after", type=pathlib.Path, required=True, help="another")
    parser.add_argument("--repeat", type=int, default=11, help="of what is quick; of the rest less")
    parser.add_argument("--java", action="store_true", help="rounds on a Maven project, too")
    return parser.parse_args()


def in_turn(
    programs: Dict[str, pathlib.Path], n_times: int, measure: Callable[[pathlib.Path], float]
) -> Times:
    times: Times = {version: [] for version in programs}
    for number in range(n_times):
        versions = list(programs) if number % 2 == 0 else list(reversed(programs))
        for version in versions:
            times[version].append(measure(programs[version]))
    return times


def ask(
    program: pathlib.Path, words: List[str], folder: pathlib.Path, env: Dict[str, str]
) -> Tuple[float, int]:
    """Seconds, and runs as the report counts them."""
    with tempfile.TemporaryDirectory() as state:
        own = dict(env, XDG_STATE_HOME=state, UNFLAKE_STORE=os.path.join(state, "store.sqlite"))
        start = time.perf_counter()
        done = subprocess.run(
            [str(program)] + words, cwd=str(folder), env=own, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False, universal_newlines=True,
        )
        seconds = time.perf_counter() - start
    try:
        return seconds, json.loads(done.stdout)["summary"]["cost"]["runs"]
    except (ValueError, KeyError):
        sys.exit(f"{program} {' '.join(words)} gave no report:\n{done.stderr}")


def an_order(
    program: pathlib.Path, test: str, folder: pathlib.Path, env: Dict[str, str]
) -> float:
    def cost(depth: str) -> Tuple[float, int]:
        return ask(program, ["why", test, "--jobs", "1", "--depth", depth, "--json"], folder, env)

    (few_s, few), (many_s, many) = cost("kind"), cost("one-by-one")
    return (many_s - few_s) / (many - few)


def java(programs: Dict[str, pathlib.Path], folder: pathlib.Path, n_times: int) -> None:
    project = folder / "java"
    shutil.copytree(
        str(ROOT / "crates/junit/tests/projects/shop"), str(project),
        ignore=shutil.ignore_patterns("target"),
    )
    words = ["detect", "--strategy", "random-class-method", "--rounds", str(ROUNDS)]
    words += ["--seed", "7", "--json", "--", "-pl", "old", "-am"]
    env = dict(os.environ, XDG_CACHE_HOME=str(folder / "cache"))
    for program in programs.values():
        # What is compiled once and kept.
        ask(program, words, project, env)
    times = in_turn(programs, n_times, lambda it: ask(it, words, project, env)[0])
    tell(f"{ROUNDS} rounds, JUnit 4 by Maven", times)


def tell(name: str, times: Times) -> None:
    cells = [f"{min(each):8.3f}{statistics.median(each):8.3f}" for each in times.values()]
    before, after = times["before"], times["after"]
    least, median = min(after) / min(before), statistics.median(after) / statistics.median(before)
    print(f"{name:32}{cells[0]}{cells[1]}{least:8.3f}{median:7.3f}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
