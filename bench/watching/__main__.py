"""What watching costs: a plain pass and a watched one over the same real suites, in turn.

    python3 bench/watching [--suites attrs,click] [--repeat 3] [--kinds all,fixtures]
    python3 bench/watching --project FOLDER --python PROGRAM [-- OPTIONS OF PYTEST]

A pass is what the engine asks the agent for: all tests in their original order, in one process
forked after collection, isolated as far as the system permits. Seconds are the best of all passes
of a kind, which are made in turn, because others use the machine, too.

The first run fetches the suites and makes a Python environment for each under `target/bench`.
Times decide nothing: the exit code is 1 only if a suite could not be run.
"""

import argparse
import os
import pathlib
import subprocess
import sys
import tarfile
import time
from typing import Any, Iterator, List, NamedTuple, Optional, Tuple

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "bench" / "rivals"), str(ROOT / "agents" / "python" / "tests")]

import environments  # noqa: E402

SOURCES = environments.TARGET / "bench" / "sources"
ASKED_AT_MOST = 2.0


class Suite(NamedTuple):
    """A release whose sources bring their tests."""

    name: str
    version: str
    needs: List[str]
    options: List[str] = []


SUITES = [
    Suite("attrs", "24.2.0", ["hypothesis==6.112.1"], ["tests"]),
    Suite("more-itertools", "10.5.0", []),
    Suite("click", "8.1.7", []),
    Suite("jinja2", "3.1.4", ["MarkupSafe==2.1.5"]),
    Suite("marshmallow", "3.22.0", ["pytz==2024.2", "simplejson==3.19.3"]),
    Suite("parso", "0.8.4", []),
    Suite("sqlparse", "0.5.1", []),
    Suite("networkx", "3.3", [], ["networkx/algorithms/centrality", "networkx/algorithms/flow"]),
]


class Passes(NamedTuple):
    """How long each pass took, and what the last watched one had to say."""

    n_tests: int
    plain: List[float]
    watched: List[float]
    n_dirty: int
    in_part: bool


def main() -> int:
    args = parse_args()
    print(f"{'suite':<24}{'tests':>7}{'plain s':>9}{'watched s':>11}{'ratio':>7}  "
          f"tests that changed something", flush=True)  # fmt: skip
    failed = False
    for name, folder, python, options in chosen(args):
        inner = [str(python), str(pathlib.Path(__file__)), "--inside", str(folder)]
        inner += ["--repeat", str(args.repeat), "--kinds", args.kinds, "--name", name]
        done = subprocess.run([*inner, "--", *options], env=variables(folder))
        failed = failed or done.returncode != 0
    load = " ".join(f"{each:.1f}" for each in os.getloadavg())
    print(f"asked for: a ratio of at most {ASKED_AT_MOST}; load {load} on {os.cpu_count()} cores")
    return int(failed)


def parse_args() -> Any:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--suites", help="some of " + ",".join(suite.name for suite in SUITES))
    parser.add_argument("--project", type=pathlib.Path, help="a project of yours instead")
    parser.add_argument("--python", default=sys.executable, help="the Python of that project")
    parser.add_argument("--repeat", type=int, default=3, help="passes of each kind")
    parser.add_argument("--kinds", default="all,fixtures", help="kinds of state to watch")
    parser.add_argument("--inside", type=pathlib.Path, help=argparse.SUPPRESS)
    parser.add_argument("--name", help=argparse.SUPPRESS)
    parser.add_argument("options", nargs="*", help="options of pytest, after --")
    return parser.parse_args()


def chosen(args: Any) -> Iterator[Tuple[str, pathlib.Path, pathlib.Path, List[str]]]:
    if args.project is not None:
        folder = args.project.resolve()
        yield folder.name, folder, pathlib.Path(args.python), args.options
        return
    wanted = args.suites.split(",") if args.suites else [suite.name for suite in SUITES]
    yield from (prepared(suite) for suite in SUITES if suite.name in wanted)


def prepared(suite: Suite) -> Tuple[str, pathlib.Path, pathlib.Path, List[str]]:
    """A suite with its sources unpacked and its Python made, if they are not there yet."""
    folder = SOURCES / f"{suite.name}-{suite.version}"
    packages = [*environments.pytest_packages(), *suite.needs]
    # With what it says about itself, but from the sources beside the tests.
    release = f"{suite.name}=={suite.version}"
    python = environments.make(f"watching-{suite.name}", [*packages, release]) / "bin" / "python"
    if not folder.is_dir():
        fetch(release, python, folder)
    return f"{suite.name} {suite.version}", folder, python, suite.options


def fetch(release: str, python: pathlib.Path, folder: pathlib.Path) -> None:
    archives = SOURCES / "archives"
    command = [str(python), "-m", "pip", "download", "--quiet", "--disable-pip-version-check"]
    command += ["--no-deps", "--no-binary", ":all:", "--dest", str(archives / folder.name), release]
    subprocess.run(command, check=True, stdout=sys.stderr)
    (archive,) = (archives / folder.name).iterdir()
    unpacked = folder.with_name(folder.name + ".unpacked")
    with tarfile.open(str(archive)) as tar:
        tar.extractall(str(unpacked))
    (top,) = unpacked.iterdir()
    top.rename(folder)
    unpacked.rmdir()


def variables(folder: pathlib.Path) -> dict:
    env = {key: value for key, value in os.environ.items() if not key.startswith("PYTEST")}
    env["UNFLAKE_BENCH_PATH"] = str(folder / "src")
    return env


def inside(args: Any) -> int:
    """In the Python of the suite: all passes over it, and its row."""
    passes = measured(args.inside, args.options, args.repeat, args.kinds.split(","))
    if passes is None:
        print(f"{args.name:<24} could not be run")
        return 1
    plain, watched = min(passes.plain), min(passes.watched)
    part = ", something watched in part" if passes.in_part else ""
    print(f"{args.name:<24}{passes.n_tests:>7}{plain:>9.2f}{watched:>11.2f}"
          f"{watched / plain:>7.2f}  {passes.n_dirty}{part}", flush=True)  # fmt: skip
    return 0


def measured(
    folder: pathlib.Path, options: List[str], repeat: int, kinds: List[str]
) -> Optional[Passes]:
    import engine

    engine.PATIENCE = 600
    env = {"PYTHONPATH": os.environ["UNFLAKE_BENCH_PATH"]}
    options = ["-p", "no:cacheprovider", *options]
    with engine.Engine(str(folder), options, env=env) as agent:
        if agent.said[0][0] != "collected":
            print(agent.failed["text"], file=sys.stderr)
            return None
        plain: List[float] = []
        watched: List[float] = []
        for _ in range(repeat):
            for seconds, how in ((plain, {}), (watched, {"watch": kinds})):
                begun = time.perf_counter()
                run = agent.whole(isolation=engine.ALL, **how)
                seconds.append(time.perf_counter() - begun)
                if not run.is_done:
                    return None
        n_dirty = sum(1 for end in run.ends if end.get("changes"))
        in_part = run.all("done")[0].get("in_part", False)
        return Passes(len(agent.ids), plain, watched, n_dirty, in_part)


if __name__ == "__main__":
    arguments = parse_args()
    sys.exit(inside(arguments) if arguments.inside else main())
