"""unflake beside iDFlakies on the same Java projects, in one run: rounds a minute, tests found.

    python3 bench/java --idflakies CLONE [--rounds 10] [--jobs N] [FOLDER[:MODULE] ...]

`CLONE` is a clone of iDFlakies' repository. Without a folder, the fixture project of `crates/junit`
is taken (its JUnit 4 module). Each tool works on a copy of its own. Both make the same rounds of
the same kind, and put each test that came out otherwise to the test in the same way; then unflake
makes as many rounds as fit into the time that iDFlakies took.

Seconds are those of the rounds with what verifies them, for both. iDFlakies writes them down; ours
are what the rounds add to a call without a round, which starts up and runs the original order.
`UNFLAKE=PATH` takes a binary instead of building one.

Exit code 1 if a tool could not be run, or if unflake misses an order-dependent test that iDFlakies
finds in the same time; times decide nothing.
"""

import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
from typing import List, Tuple

from idflakies import Answer, Idflakies

ROOT = pathlib.Path(__file__).resolve().parents[2]
FIXTURE = f"{ROOT / 'crates/junit/tests/projects/shop'}:old"
SEED = "7"
LEFT_OUT = shutil.ignore_patterns(".git", "target", ".dtfixingtools")


def main() -> int:
    args = parse_args()
    ours = build_ours()
    work = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"), "bench", "java")
    theirs = Idflakies(args.idflakies, (args.repository or work / "m2").resolve())
    print(f"{os.cpu_count()} processors, iDFlakies {theirs.version}, {args.rounds} rounds", end="")
    print(f", unflake with {args.jobs} at once", flush=True)
    is_complete = [compare(ours, theirs, project, args) for project in args.projects]
    return 0 if all(is_complete) else 1


def parse_args() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench/java", description=__doc__.split("\n")[0])
    parser.add_argument("--idflakies", type=pathlib.Path, required=True, metavar="CLONE")
    parser.add_argument("--repository", type=pathlib.Path, help="of Maven, for iDFlakies")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("projects", nargs="*", default=[FIXTURE], metavar="FOLDER[:MODULE]")
    return parser.parse_args()


def build_ours() -> pathlib.Path:
    given = os.environ.get("UNFLAKE")
    if given:
        return pathlib.Path(given).resolve()
    subprocess.run(["cargo", "build", "--release", "-p", "unflake"], cwd=str(ROOT), check=True)
    target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    return target.resolve() / "release" / "unflake"


def compare(
    program: pathlib.Path, theirs: Idflakies, project: str, args: argparse.Namespace
) -> bool:
    """Whether all that they find is found by us in the same time."""
    folder, _, module = project.partition(":")
    module = module or "."
    print(f"\n{pathlib.Path(folder).name} {module} (load {os.getloadavg()[0]:.1f})", flush=True)
    with tempfile.TemporaryDirectory(prefix="unflake-bench-") as parent:
        copies = [pathlib.Path(parent, name) for name in ("ours", "theirs")]
        for copy in copies:
            shutil.copytree(folder, str(copy), ignore=LEFT_OUT)
        cache = pathlib.Path(parent, "cache")
        set_up = run_ours(program, (copies[0], cache), module, (0, args.jobs))
        first = run_ours(program, (copies[0], cache), module, (args.rounds, args.jobs))
        first = first.without(set_up)
        answer = theirs.detect(copies[1], module, args.rounds)
        n_more = max(args.rounds, int(args.rounds * answer.seconds / first.seconds))
        more = run_ours(program, (copies[0], cache), module, (n_more, args.jobs)).without(set_up)
    their_rate = per_minute(args.rounds, answer)
    row("iDFlakies", args.rounds, answer, their_rate)
    row("unflake", args.rounds, first, their_rate)
    row("unflake, as long", n_more, more, their_rate)
    otherwise = sorted(answer.dependent & more.others)
    missed = sorted(answer.dependent - more.dependent - more.others)
    print(f"  OD to iDFlakies, random to us: {', '.join(otherwise) or 'none'}")
    print(f"  OD to iDFlakies, not found by us: {', '.join(missed) or 'none'}", flush=True)
    return not missed


def run_ours(
    program: pathlib.Path,
    folders: Tuple[pathlib.Path, pathlib.Path],
    module: str,
    amount: Tuple[int, int],
) -> Answer:
    rounds, jobs = amount
    folder, cache = folders
    words: List[str] = [str(program), "detect", "--strategy", "random-class-method"]
    words += ["--rounds", str(rounds), "--seed", SEED, "--jobs", str(jobs)]
    words += ["--no-store", "--json"]
    words += [] if module == "." else ["--", "-pl", module, "-am"]
    done = subprocess.run(
        words, cwd=str(folder), env={**os.environ, "XDG_CACHE_HOME": str(cache.resolve())},
        stdout=subprocess.PIPE, check=False,
    )
    if done.returncode not in (0, 1):
        raise RuntimeError(f"`{' '.join(words)}` ended with {done.returncode}")
    said = json.loads(done.stdout)
    # Without Maven's build.
    summary = said["summary"]
    kinds = {"od": set(), "nod": set()}
    for finding in said["findings"]:
        kinds[finding["verdict"]].add(finding["test"].replace("#", "."))
    return Answer(summary["cost"]["runs"], summary["wall_seconds"], kinds["od"], kinds["nod"])


def row(name: str, rounds: int, answer: Answer, their_rate: float) -> None:
    rate = per_minute(rounds, answer)
    print(
        f"  {name:17} {rounds:4} rounds in {answer.seconds:6.1f} s, {rate:6.1f} a minute"
        f" ({rate / their_rate:4.1f} x), {answer.seconds / answer.runs:5.2f} s for each of"
        f" {answer.runs} runs: {len(answer.dependent)} OD, {len(answer.others)} other",
        flush=True,
    )


def per_minute(rounds: int, answer: Answer) -> float:
    return 60 * rounds / answer.seconds


sys.exit(main())
