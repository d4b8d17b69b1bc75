"""What tracing costs: passes untraced, traced, and by `sys.setprofile`, over the same real suites.

    python3 bench/tracing [--suites attrs,click] [--repeat 3] [--processes 3]
    python3 bench/tracing --project FOLDER --python PROGRAM [--kinds untraced,traced] [-- OPTIONS]

A pass is what the engine asks the agent for: all tests in their original order, in one process
forked after collection. Passes of the three kinds are made in turns that are dealt. Seconds are
processor time, all that a pass costs but collection: of each test, with what is done before and
after it, the least of all passes of a kind, and so of what is done before the first; others use the
machine, too. The ratio is to the untraced passes. Where in memory things lie is another for each
process that collects, and changes the ratio by up to 0.03; so there are several, and told are the
mean of their ratios, the least and the greatest. `of plain` is traced passes over what plain pytest
takes for the same tests, collection left out: the agent runs quick tests in less time than pytest.

The native library is built by `rustc`, as the build of unflake does; without it, a row says so.
The first run fetches the suites and makes a Python environment for each under `target/bench`.
Times decide nothing: the exit code is 1 only if a suite could not be run.
"""

import argparse
import os
import pathlib
import random
import resource
import statistics
import subprocess
import sys
import tempfile
from typing import Any, Dict, List, Optional

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "bench"), str(ROOT / "agents" / "python" / "tests")]

from watching import __main__ as watching  # noqa: E402

KINDS: Dict[str, Dict[str, Any]] = {
    "untraced": {},
    "traced": {"trace": True},
    "setprofile": {"trace": "profile"},
}
CLOCK = pathlib.Path(__file__).resolve().parent / "clock.py"
MEMORY = "/dev/shm"
NANO = 1e-9


def main() -> int:
    args = parse_args()
    print(f"{'suite':<24}{'Python':>8}{'tests':>7}{'untraced s':>12}{'traced':>20}"
          f"{'setprofile':>20}{'of plain':>10}  functions of a test, by what",
          flush=True)  # fmt: skip
    failed = False
    for name, folder, python, options in watching.chosen(args):
        inner = [str(python), str(pathlib.Path(__file__)), "--inside", str(folder)]
        inner += ["--repeat", str(args.repeat), "--processes", str(args.processes)]
        inner += ["--kinds", args.kinds, "--name", name]
        inner += ["--", *options]
        done = subprocess.run(inner, env={**watching.variables(folder), **in_memory()})
        failed = failed or done.returncode != 0
    load = " ".join(f"{each:.1f}" for each in os.getloadavg())
    print(f"load {load} on {os.cpu_count()} cores")
    return int(failed)


def in_memory() -> Dict[str, str]:
    """Where temporary files are to be. To make one on a disk takes longer when many were deleted
    just before: more than tracing does, and another time in every pass."""
    return {"TMPDIR": MEMORY} if os.access(MEMORY, os.W_OK) else {}


def parse_args() -> Any:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    names = ",".join(suite.name for suite in watching.SUITES)
    parser.add_argument("--suites", help="some of " + names)
    parser.add_argument("--project", type=pathlib.Path, help="a project of yours instead")
    parser.add_argument("--python", default=sys.executable, help="the Python of that project")
    parser.add_argument("--repeat", type=int, default=3, help="passes of each kind by a process")
    parser.add_argument("--processes", type=int, default=3, help="so many collect")
    parser.add_argument("--kinds", default=",".join(KINDS), help="kinds of passes")
    parser.add_argument("--inside", type=pathlib.Path, help=argparse.SUPPRESS)
    parser.add_argument("--name", help=argparse.SUPPRESS)
    parser.add_argument("options", nargs="*", help="options of pytest, after --")
    return parser.parse_args()


def inside(args: Any) -> int:
    """In the Python of the suite: all passes over it, and its row."""
    import engine
    import test_trace

    engine.PATIENCE = 600
    with tempfile.TemporaryDirectory(prefix="unflake-tracing-") as place:
        means = "native code" if test_trace.build(place) else "Python"
        agent = pathlib.Path(place) / "unflake_agent"
        engine.AGENT = str(agent / "__main__.py")
        with open(agent / "child.py", "a") as file:
            file.write(CLOCK.read_text())
        clock = pathlib.Path(place) / "clock"
        clock.mkdir()
        sources = os.environ["UNFLAKE_BENCH_PATH"]
        env = {"PYTHONPATH": sources, "UNFLAKE_BENCH_CLOCK": str(clock)}
        options = ["-p", "no:cacheprovider", *args.options]
        rows = []
        for _ in range(args.processes):
            with engine.Engine(str(args.inside), options, env=env) as asked:
                is_ready = asked.said[0][0] == "collected"
                kinds = args.kinds.split(",")
                rows.append(measured(asked, args.repeat, kinds, clock) if is_ready else None)
                n_tests = len(asked.ids) if is_ready else 0
    if None in rows:
        print(f"{args.name:<24} could not be run")
        return 1
    command = [sys.executable, "-m", "pytest", "-q", *options]
    env = {**os.environ, "PYTHONPATH": sources}
    plain, collecting = (
        min(used_by([*command, *more], args.inside, env) for _ in range(args.repeat))
        for more in ([], ["--collect-only"])
    )
    untraced, traced = (min(least(row[kind]) for row in rows) for kind in ("untraced", "traced"))
    ratio = {kind: ratios(rows, kind) for kind in KINDS}
    python = "{}.{}.{}".format(*sys.version_info)
    print(f"{args.name:<24}{python:>8}{n_tests:>7}{untraced:>12.2f}"
          f"{ratio['traced']:>20}{ratio['setprofile']:>20}{traced / (plain - collecting):>10.2f}"
          f"  {rows[0]['functions'][0]:.0f}, {means}", flush=True)  # fmt: skip
    return 0


def ratios(rows: List[Any], kind: str) -> str:
    """Of each process: the mean, the least and the greatest."""
    if kind not in rows[0]:
        return ""
    found = [least(row[kind]) / least(row["untraced"]) for row in rows]
    return f"{statistics.mean(found):.3f} {min(found):.3f}-{max(found):.3f}"


def least(passes: List[List[int]]) -> float:
    """Seconds that passes over the same tests take at least, test by test."""
    return sum(map(min, zip(*passes))) * NANO


def measured(
    agent: Any, repeat: int, kinds: List[str], clock: pathlib.Path
) -> Optional[Dict[str, List[Any]]]:
    """Times by kind of pass; and, as `functions`, how many a test calls in the mean."""
    row: Dict[str, List[Any]] = {kind: [] for kind in kinds}
    # What is done once for all traced runs slows down untraced ones, too: by as much for all.
    warm = [agent.whole(**KINDS[kind]) for kind in kinds]
    if not all(run.is_done for run in warm):
        return None
    for run in warm:
        told = [len(each["functions"]) // 8 for each in run.all("traced")]
        if told:
            row["functions"] = [statistics.mean(told)]
    (clock / str(run.forked["pid"])).unlink()
    dealt = random.Random(0)
    for _ in range(repeat):
        for kind in dealt.sample(kinds, len(kinds)):
            run = agent.whole(**KINDS[kind])
            row[kind].append(of_last_run(clock / str(run.forked["pid"])))
    return row


def used_by(command: List[str], folder: pathlib.Path, env: Dict[str, str]) -> float:
    """Processor time of a command."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, cwd=folder, env=env, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def of_last_run(told: pathlib.Path) -> List[int]:
    """Nanoseconds of the run that the guard of a cell has seen to its end since this was asked:
    before its first test, and of each test."""
    times = [int(each) for each in told.read_text().split()]
    told.unlink()
    return times


if __name__ == "__main__":
    arguments = parse_args()
    sys.exit(inside(arguments) if arguments.inside else main())
