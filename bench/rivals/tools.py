"""The tools: how each is installed, asked and understood, and where it is peculiar.

Every rival gets its friendliest invocation. Bisecters look into one failing order; where the
original order is green, they are given a failing one (a conftest.py that pins it, or a seed).
Nothing is remembered between two runs of a tool but compiled bytecode.
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
from typing import Any, Dict, FrozenSet, Iterable, List, Tuple

import environments
import process
from answers import Answer
from cases import Case, Place, pin_failing_order, pytest_places, rspec_places
from cases import write_for_pytest, write_for_rspec
from process import Finished

LIMIT_S = 300.0
LIMIT_MAP_S = 3600.0
RSPEC_SEEDS_MAX = 100

BISECTED = ("A", "B", "C", "D", "E", "F", "G")


class Tool:
    """Something that can be asked about a case. The default is a pytest tool in its own venv."""

    name = ""
    packages: Tuple[str, ...] = ()
    brings_pytest = False
    cases: Tuple[str, ...] = BISECTED
    language = "Python"
    ours = False
    slow: Tuple[str, ...] = ()

    def prepare(self) -> None:
        """Installs the tool."""
        packages = [] if self.brings_pytest else environments.pytest_packages()
        self.venv = environments.make(self.name.replace(" ", "-"), packages + list(self.packages))
        self.env = environments.environment(self.venv)

    def set_up(self, case: Case, folder: pathlib.Path) -> None:
        """Writes the suite, and has its bytecode compiled, as in a project that is in use."""
        write_for_pytest(case, folder)
        if not self.ours:
            pin_failing_order(case, folder)
        process.run(self.warm_up(), folder, self.env, LIMIT_S)

    def warm_up(self) -> List[str]:
        return [str(self.venv / "bin" / "python"), "-m", "pytest", "-q", "--collect-only"]

    def ask(self, case: Case, folder: pathlib.Path) -> Tuple[Finished, Answer]:
        finished = process.run(self.command(case), folder, self.env, LIMIT_S)
        return finished, self.read(finished, case, folder)

    def program(self, name: str) -> str:
        return str(self.venv / "bin" / name)

    def command(self, case: Case) -> List[str]:
        raise NotImplementedError

    def read(self, finished: Finished, case: Case, folder: pathlib.Path) -> Answer:
        raise NotImplementedError


class Unflake(Tool):
    """Exit code 1 means that the test is flaky. The store is a new file for each run."""

    ours = True
    kinds = {"od-victim": "victim", "od-brittle": "brittle", "nod": "random", "ndoi": "random"}

    def __init__(self, name: str, question: List[str], cases: Tuple[str, ...]) -> None:
        self.name, self.question, self.cases = name, question, cases

    def prepare(self) -> None:
        self.venv = environments.make("unflake", environments.pytest_packages())
        self.env = environments.environment(self.venv)
        self.binary = unflake_binary()

    def ask(self, case: Case, folder: pathlib.Path) -> Tuple[Finished, Answer]:
        with tempfile.TemporaryDirectory() as state:
            fresh = {"XDG_STATE_HOME": state, "UNFLAKE_STORE": os.path.join(state, "store.sqlite")}
            env = dict(self.env, **fresh)
            finished = process.run(self.command(case), folder, env, LIMIT_S)
        return finished, self.read(finished, case, folder)

    def command(self, case: Case) -> List[str]:
        target = [case.victim.pytest_id] if self.question[0] == "why" else []
        return [self.binary] + self.question + target + ["--json"]

    def read(self, finished: Finished, case: Case, folder: pathlib.Path) -> Answer:
        try:
            findings = json.loads(finished.stdout)["findings"]
        except ValueError:
            return Answer(words=last_line(finished.text))
        ids = {finding["test"] for finding in findings}
        mine = [finding for finding in findings if finding["test"] == case.victim.pytest_id]
        if not mine:
            return Answer(words="nothing about the test", accused=places(ids))
        finding = mine[0]
        groups = [places(group) for group in finding["polluters"] + finding["state_setters"]]
        cleaners = [places(row["cleaners"]) for row in finding["cleaners"]]
        rate = finding["failure_rate"]
        return Answer(
            culprits=frozenset().union(*groups), groups=frozenset(groups),
            cleaners=frozenset().union(*cleaners),
            accused=places(ids - {case.victim.pytest_id}),
            kind=self.kinds.get(finding["verdict"], finding["verdict"]),
            rate=(rate["low"], rate["high"]),
        )


class DetectTestPollution(Tool):
    """Starts pytest anew for each question. Takes it for granted that there is one polluter: two
    that act together end in `unreachable? unexpected pass? report a bug?`."""

    name = "detect-test-pollution 1.2.0"
    packages = ("detect-test-pollution==1.2.0",)

    def command(self, case: Case) -> List[str]:
        program = self.program("detect-test-pollution")
        return [program, "--failing-test", case.victim.pytest_id, "--tests", "tests"]

    def read(self, finished: Finished, case: Case, folder: pathlib.Path) -> Answer:
        named = re.findall(r"the polluting test is: (.*)", finished.stdout)
        return Answer(culprits=places(named), words=last_line(finished.text))


class BisectTests(Tool):
    """Does not check that its first order fails, so it can answer from a green one by luck."""

    name = "pytest-bisect-tests 0.3.0"
    packages = ("pytest-bisect-tests==0.3.0",)

    def command(self, case: Case) -> List[str]:
        return [self.program("pytest-bisect-tests"), "--failing-test", case.victim.pytest_id]

    def read(self, finished: Finished, case: Case, folder: pathlib.Path) -> Answer:
        named = re.findall(r"Faulty test: (.*)", finished.stdout)
        return Answer(culprits=places(named), words=last_line(finished.text))


class FindDependencies(Tool):
    """Cannot be asked about one test: it looks at all that fail forwards or backwards. Needs
    pytest's cache plugin, and prints the output of its inner runs before its own."""

    name = "pytest-find-dependencies 0.6.0"
    packages = ("pytest-find-dependencies==0.6.0",)

    def command(self, case: Case) -> List[str]:
        return [self.program("pytest"), "--find-dependencies", "-q"]

    def read(self, finished: Finished, case: Case, folder: pathlib.Path) -> Answer:
        victim = re.escape(case.victim.pytest_id)
        named = re.findall(victim + r" depends on (.*)", finished.stdout)
        words = re.findall(r"No dependent tests found|Tests failing permanently", finished.stdout)
        return Answer(culprits=places(named), words=(words or [last_line(finished.text)])[-1])


class Rstest(Tool):
    """Carries a pytest 9 of its own, needs Python 3.10, and stops at a budget of runs."""

    name = "rstest 0.9.0"
    packages = ("rstest==0.9.0",)
    brings_pytest = True
    report = "bisect.json"

    def warm_up(self) -> List[str]:
        return [self.program("rstest"), "-n", "0", "-q"]

    def command(self, case: Case) -> List[str]:
        program = self.program("rstest")
        return [program, "bisect", case.victim.pytest_id, "--bisect-json", self.report]

    def read(self, finished: Finished, case: Case, folder: pathlib.Path) -> Answer:
        report = folder / self.report
        if not report.is_file():
            return Answer(words=last_line(finished.text))
        named = json.loads(report.read_text())["culprits"]
        words = re.findall(r"this is a plain failure|likely parallel-only", finished.text)
        return Answer(culprits=places(named), words=(words or [last_line(finished.stdout)])[0])


class Ipflakies(Tool):
    """Dies without a terminal; brings the pytest of 2021; its patcher dies on tests without a
    folder; asks by starting pytest for each test, so that a complete map takes many minutes."""

    name = "ipflakies 1.1.1"
    packages = ("ipflakies==1.1.1",)
    brings_pytest = True
    cases = ("F", "map")
    slow = ("map",)

    def ask(self, case: Case, folder: pathlib.Path) -> Tuple[Finished, Answer]:
        limit_s = LIMIT_MAP_S if case.name in self.slow else LIMIT_S
        finished = process.run_in_terminal(self.command(case), folder, self.env, limit_s)
        return finished, self.read(finished, case, folder)

    def command(self, case: Case) -> List[str]:
        question = ["-i", "10"] if case.rate is not None else ["-t", case.victim.pytest_id]
        return [self.program("python"), "-m", "ipflakies"] + question

    def read(self, finished: Finished, case: Case, folder: pathlib.Path) -> Answer:
        results = folder / "ipflakies_result"
        for report in results.glob("flakies.json"):
            return self.read_detected(json.loads(report.read_text()), case)
        for report in results.glob("*/minimized.json"):
            return self.read_map(json.loads(report.read_text()))
        return Answer(words=last_line(finished.text))

    @staticmethod
    def read_detected(report: Dict[str, Any], case: Case) -> Answer:
        kinds = {test: row["type"] for test, row in report.items() if test != "time"}
        kind = kinds.pop(case.victim.pytest_id, None)
        words = "" if kind else "not seen to be flaky"
        return Answer(kind={"NOD": "random"}.get(kind, kind), accused=places(kinds), words=words)

    @staticmethod
    def read_map(report: Dict[str, Any]) -> Answer:
        polluters = report.get("polluter", {})
        cleaners = [row["cleaner"] for rows in polluters.values() for row in rows]
        culprits = places(polluters) | places(report.get("state-setter", {}))
        return Answer(culprits=culprits, cleaners=places(cleaners), kind=report["type"])


class Rspec(Tool):
    """The same suites in Ruby. Forks a loaded process for each question. Looks only into a failing
    order: the defined one if it fails, else that of the first seed that does."""

    name = "RSpec --bisect"
    cases = ("A", "B", "C", "D", "E", "G")
    language = "Ruby"

    def prepare(self) -> None:
        if shutil.which("rspec") is None:
            install = ["apt-get", "install", "--yes", "--quiet", "ruby-rspec"]
            subprocess.run(install, check=True, stdout=subprocess.DEVNULL)
        self.env = dict(os.environ)

    def set_up(self, case: Case, folder: pathlib.Path) -> None:
        """Looks for the seed, which a user has from the failure in question: not timed."""
        write_for_rspec(case, folder)
        seeds = [["--seed", str(seed)] for seed in range(1, RSPEC_SEEDS_MAX)]
        for order in [["--order", "defined"]] + seeds:
            self.order = order
            if process.run(["rspec"] + order, folder, self.env, LIMIT_S).code != 0:
                return
        raise RuntimeError(f"no seed up to {RSPEC_SEEDS_MAX} fails on case {case.name}")

    def command(self, case: Case) -> List[str]:
        return ["rspec", "--bisect"] + self.order

    def read(self, finished: Finished, case: Case, folder: pathlib.Path) -> Answer:
        _, _, minimal = finished.stdout.partition("The minimal reproduction command is:")
        culprits = frozenset(rspec_places(minimal) - {case.victim})
        words = re.findall(r"Reduced necessary non-failing examples .* to \d+", finished.stdout)
        return Answer(culprits=culprits, words=(words or [last_line(finished.text)])[0])


WHY = Unflake("unflake why", ["why"], BISECTED)
DETECT = Unflake("unflake detect", ["detect"], ("F",))
WHY_MAP = Unflake("unflake why --depth exhaustive", ["why", "--depth", "exhaustive"], ("map",))

RIVALS = [
    DetectTestPollution(), BisectTests(), FindDependencies(), Rstest(), Ipflakies(), Rspec(),
]
TOOLS: List[Tool] = [DETECT, WHY, WHY_MAP, *RIVALS]


def unflake_binary() -> str:
    """`UNFLAKE` names one that is already built."""
    built = os.environ.get("UNFLAKE")
    if built:
        return built
    build = ["cargo", "build", "--quiet", "--release", "--package", "unflake"]
    subprocess.run(build, cwd=str(environments.ROOT), check=True)
    return str(environments.TARGET / "release" / "unflake")


def places(ids: Iterable[str]) -> FrozenSet[Place]:
    return frozenset(pytest_places("\n".join(ids)))


def last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip(" =.-")]
    return lines[-1] if lines else "nothing"
