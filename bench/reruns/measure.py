"""Run times of real tests, and whether they call a function through which chance comes in.

    python3 bench/reruns/measure.py --python VENV/bin/python OUT.csv PROJECT...

Each project's tests are run twice with plain pytest: once for the times of whole tests (set-up,
call and tear-down), once with ``sys.setprofile`` for the functions they call, judged by the
published manual set. The output has numbers only: ``microseconds,exposed``, one test a line.
"""

import argparse
import csv
import json
import os
import subprocess
import sys
import tempfile
import threading
import time

NAMES = {"start_new_thread", "create_connection", "open", "now", "utcnow", "today"}
CLASSES = {"Random", "RandomState", "socket"}


def _is_chance(owner, name, file):
    if owner in CLASSES:
        return owner != "socket" or name == "__init__"
    if name == "wait" and file.endswith("threading.py"):
        return True
    return name in NAMES and (not file or name == "create_connection" or "pathlib" in file)


class Measure:
    """A pytest plugin: what each test took, or whether it is exposed."""

    def __init__(self):
        self.is_tracing = bool(os.environ.get("MEASURE_TRACE"))
        self.tests = {}
        self.is_exposed = False

    def _profile(self, frame, event, arg):
        if self.is_exposed:
            return
        if event == "c_call":
            owner = getattr(arg, "__self__", None)
            owner = owner if isinstance(owner, type) else type(owner)
            self.is_exposed = _is_chance(owner.__name__, arg.__name__, "")
        elif event == "call":
            code = frame.f_code
            owner = type(frame.f_locals.get("self")).__name__
            self.is_exposed = _is_chance(owner, code.co_name, code.co_filename)

    def pytest_runtest_call(self, item):
        if self.is_tracing:
            self.is_exposed = False
            sys.setprofile(self._profile)
            threading.setprofile(self._profile)

    def pytest_runtest_teardown(self, item):
        if self.is_tracing:
            sys.setprofile(None)
            threading.setprofile(None)
            self.tests[item.nodeid] = int(self.is_exposed)

    def pytest_runtest_logstart(self, nodeid):
        self.began = time.perf_counter()

    def pytest_runtest_logfinish(self, nodeid):
        if not self.is_tracing:
            self.tests[nodeid] = round(1e6 * (time.perf_counter() - self.began))

    def pytest_sessionfinish(self):
        with open(os.environ["MEASURE_OUT"], "w") as out:
            json.dump(self.tests, out)


def pytest_configure(config):
    if "MEASURE_OUT" in os.environ:
        config.pluginmanager.register(Measure())


def _run(python, project, trace):
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "out.json")
        own = os.path.dirname(os.path.abspath(__file__))
        path = os.pathsep.join([own, project, os.path.join(project, "src")])
        env = dict(os.environ, MEASURE_OUT=out, PYTHONPATH=path)
        env["MEASURE_TRACE"] = "1" if trace else ""
        command = [python, "-m", "pytest", "-q", "-p", "measure"]
        subprocess.run(command, cwd=project, env=env, stdout=subprocess.DEVNULL, timeout=900)
        try:
            with open(out) as file:
                return json.load(file)
        except FileNotFoundError:
            return {}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("out")
    parser.add_argument("projects", nargs="+")
    args = parser.parse_args()
    with open(args.out, "w", newline="") as out:
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(["microseconds", "exposed"])
        for project in args.projects:
            times = _run(args.python, project, trace=False)
            exposed = _run(args.python, project, trace=True)
            both = [test for test in times if test in exposed]
            writer.writerows([times[test], exposed[test]] for test in both)
            share = sum(exposed[test] for test in both) / max(len(both), 1)
            seconds = sum(times[test] for test in both) / 1e6
            name = os.path.basename(os.path.abspath(project))
            print(f"{name}: {len(both)} tests, {seconds:.1f} s, {share:.1%} exposed")


if __name__ == "__main__":
    main()
