"""What tracing costs: passes untraced, traced, and by `sys.setprofile`, over the same real suites.

    python3 bench/tracing [--suites attrs,click] [--repeat 3]
    python3 bench/tracing --project FOLDER --python PROGRAM [--kinds untraced,traced] [-- OPTIONS]

A pass is what the engine asks the agent for: all tests in their original order, in one process
forked after collection. Passes of the three kinds are made in turn. Seconds are processor time of
that process, all that a pass costs but collection, the best of all passes of a kind: others use the
machine, too. The ratio is to the untraced pass, of the best ones; behind it is the median of the
ratios of passes made one after the other, which is surer where the machine's speed changes. `of
plain` is a traced pass over what plain pytest takes for the same tests, collection left out: the
agent runs quick tests in less time than pytest.

The native library is built by `rustc`, as the build of unflake does; without it, a row says so.
The first run fetches the suites and makes a Python environment for each under `target/bench`.
Times decide nothing: the exit code is 1 only if a suite could not be run.
"""

import argparse
import os
import pathlib
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
CLOCK = pathlib.Path(__file__).resolve().parent / "clock"
MEMORY = "/dev/shm"
NANO = 1e-9


def main() -> int:
    args = parse_args()
    print(f"{'suite':<24}{'Python':>8}{'tests':>7}{'untraced s':>12}{'traced':>15}"
          f"{'setprofile':>15}{'of plain':>10}  functions of a test, by what",
          flush=True)  # fmt: skip
    failed = False
    for name, folder, python, options in watching.chosen(args):
        inner = [str(python), str(pathlib.Path(__file__)), "--inside", str(folder)]
        inner += ["--repeat", str(args.repeat), "--kinds", args.kinds, "--name", name]
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
    parser.add_argument("--repeat", type=int, default=3, help="passes of each kind")
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
        engine.AGENT = os.path.join(place, "unflake_agent", "__main__.py")
        clock = pathlib.Path(place) / "clock"
        clock.mkdir()
        sources = os.environ["UNFLAKE_BENCH_PATH"]
        env = {
            "PYTHONPATH": os.pathsep.join([str(CLOCK), sources]),
            "UNFLAKE_BENCH_CLOCK": str(clock),
        }
        options = ["-p", "no:cacheprovider", *args.options]
        with engine.Engine(str(args.inside), options, env=env) as agent:
            is_ready = agent.said[0][0] == "collected"
            kinds = args.kinds.split(",")
            row = measured(agent, args.repeat, kinds, clock) if is_ready else None
            n_tests = len(agent.ids) if row else 0
    if row is not None:
        command = [sys.executable, "-m", "pytest", "-q", *options]
        env = {**os.environ, "PYTHONPATH": sources}
        for _ in range(args.repeat):
            for kind, more in (("plain", []), ("collecting", ["--collect-only"])):
                row.setdefault(kind, []).append(used_by([*command, *more], args.inside, env))
    if row is None:
        print(f"{args.name:<24} could not be run")
        return 1
    untraced = min(row["untraced"])
    ratio = {kind: ratios(row, kind) for kind in KINDS}
    of_plain = min(row["traced"]) / (min(row["plain"]) - min(row["collecting"]))
    python = "{}.{}.{}".format(*sys.version_info)
    print(f"{args.name:<24}{python:>8}{n_tests:>7}{untraced:>12.2f}"
          f"{ratio['traced']:>15}{ratio['setprofile']:>15}{of_plain:>10.2f}"
          f"  {row['functions'][0]:.0f}, {means}", flush=True)  # fmt: skip
    return 0


def ratios(row: Dict[str, List[float]], kind: str) -> str:
    """Of the best passes, and the median of those made one after the other."""
    if kind not in row:
        return ""
    best = min(row[kind]) / min(row["untraced"])
    median = statistics.median(one / base for one, base in zip(row[kind], row["untraced"]))
    return f"{best:.3f} {median:.3f}"


def measured(
    agent: Any, repeat: int, kinds: List[str], clock: pathlib.Path
) -> Optional[Dict[str, List[float]]]:
    """Seconds by kind of pass; and, as `functions`, how many a test calls in the mean."""
    row: Dict[str, List[float]] = {kind: [] for kind in kinds}
    of_last_run(clock / str(agent.whole().forked["pid"]))
    for _ in range(repeat):
        for kind in kinds:
            run = agent.whole(**KINDS[kind])
            if not run.is_done:
                return None
            row[kind].append(of_last_run(clock / str(run.forked["pid"])))
            if kind == "traced":
                told = [len(each["functions"]) // 8 for each in run.all("traced")]
                row["functions"] = [sum(told) / max(1, len(told))]
    return row


def used_by(command: List[str], folder: pathlib.Path, env: Dict[str, str]) -> float:
    """Processor time of a command."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, cwd=folder, env=env, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def of_last_run(told: pathlib.Path) -> float:
    """Processor time of the run that the guard of a cell has seen to its end since this was asked.

    A process that waited for a run and got none tells of itself, too: of next to nothing.
    """
    longest = max(map(int, told.read_text().split()))
    told.unlink()
    return longest * NANO


if __name__ == "__main__":
    arguments = parse_args()
    sys.exit(inside(arguments) if arguments.inside else main())
