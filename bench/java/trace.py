"""What tracing costs on Java suites: processor time of one run of all tests, with it and without.

    python3 bench/java/trace.py [--passes 5] FOLDER ...

`FOLDER` is a Maven or Gradle project that was fetched for it; each of its modules is a row. The
agent is started as the engine starts it, once for each run, without the archive of classes, and
asked for a run of all tests in their order. Runs with and without tracing are made in turn; told is
the least of each, of the whole process: Java's start and JUnit's are in both, changing classes is
in the traced one. `UNFLAKE=PATH` takes a binary instead of building one. Times decide nothing.
"""

import argparse
import json
import os
import pathlib
import shlex
import struct
import subprocess
import sys
import tempfile
import threading
from typing import Dict, List, Tuple

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOKEN = "0" * 32


def main() -> int:
    parser = argparse.ArgumentParser(prog="bench/java/trace.py", description=__doc__.split("\n")[0])
    parser.add_argument("--passes", type=int, default=5)
    parser.add_argument("folders", nargs="+", type=pathlib.Path, metavar="FOLDER")
    args = parser.parse_args()
    print(f"{'module':40} {'tests':>6} {'plain':>8} {'traced':>8} {'ratio':>6} {'functions':>9}")
    for folder in args.folders:
        with tempfile.TemporaryDirectory() as cache:
            measure(folder.resolve(), pathlib.Path(cache), args.passes)
    return 0


def measure(folder: pathlib.Path, cache: pathlib.Path, n_passes: int) -> None:
    """Has the project built and everything made that is needed, and prints a row a module."""
    environ = {**os.environ, "XDG_CACHE_HOME": str(cache)}
    ours = os.environ.get("UNFLAKE") or ROOT / "target/release/unflake"
    subprocess.run([ours, "trace", "--json"], cwd=folder, env=environ, check=True,
                   stdout=subprocess.DEVNULL)
    (trace,) = (cache / "unflake/java/trace").iterdir()
    (asm,) = trace.glob("asm-*.jar")
    flag = f"-javaagent:{trace}/trace.jar={trace}/instrumenter/:{asm}"
    for home in sorted((cache / "unflake/java/module").iterdir()):
        plan = json.loads((home / "plan.json").read_text())
        if not (home / "collected.json").exists():
            continue
        least: Dict[bool, float] = {}
        answers: Dict[bool, Tuple[int, int]] = {}
        for _ in range(n_passes):
            for is_traced in (False, True):
                seconds, answers[is_traced] = run(home, [flag] if is_traced else [], is_traced)
                least[is_traced] = min(seconds, least.get(is_traced, seconds))
        (n_tests, _), (n_traced, n_functions) = answers[False], answers[True]
        if n_tests != n_traced:
            print(f"not the same tests ended: {n_tests} and {n_traced}", file=sys.stderr)
        ratio = least[True] / least[False]
        print(f"{plan['rootdir'][-40:]:40} {n_tests:6} {least[False]:6.2f} s {least[True]:6.2f} s"
              f" {ratio:6.2f} {n_functions:9}", flush=True)


def run(home: pathlib.Path, flags: List[str], is_traced: bool) -> Tuple[float, Tuple[int, int]]:
    """One run of all tests: seconds of processor time, how many ended, how many functions."""
    words = shlex.split((home / "java.args").read_text())
    words = words[: words.index("unflake.agent.Main") + 1]
    n_tests = len(json.loads((home / "collected.json").read_text())["collected"]["tests"])
    to_agent, from_agent, from_run = os.pipe(), os.pipe(), os.pipe()
    inherited = (to_agent[0], from_agent[1], from_run[1])
    address = "fd:" + ",".join(map(str, inherited))
    folder = json.loads((home / "plan.json").read_text())["rootdir"]
    with tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(
            ["java", *flags, *words, str(home / "plan.json"), address, TOKEN],
            pass_fds=inherited, cwd=folder, stdout=errors, stderr=errors, stdin=subprocess.DEVNULL)
        for descriptor in inherited:
            os.close(descriptor)
        order = {"run": 0, "order": list(range(n_tests)), "twice": False, "isolation": [],
                 "scratch": "/tmp", "in_place": True, "brief": [], "trace": is_traced}
        body = json.dumps({"run": order}).encode()
        os.write(to_agent[1], struct.pack(">I", len(body)) + body)
        # What it has collected is more than a pipe holds.
        threading.Thread(target=os.fdopen(from_agent[0], "rb").read, daemon=True).start()
        n_ended = n_functions = 0
        with os.fdopen(from_run[0], "rb") as frames:
            while len(head := frames.read(4)) == 4:
                message = json.loads(frames.read(struct.unpack(">I", head)[0]))
                n_ended += "end" in message
                n_functions += len(message.get("traced", {}).get("names", ()))
        _, _, usage = os.wait4(process.pid, 0)
    os.close(to_agent[1])
    return usage.ru_utime + usage.ru_stime, (n_ended, n_functions)


if __name__ == "__main__":
    sys.exit(main())
