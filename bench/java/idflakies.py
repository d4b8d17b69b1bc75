"""iDFlakies, the field's reference tool: built from its source, run by Maven, its answer read.

Its plugin is not published in the version its documentation names, but its two modules that are
needed build with what is: `idflakies-core` and `idflakies-maven-plugin`.
"""

import json
import pathlib
import re
import subprocess
from typing import List, NamedTuple, Set

PLUGIN = "edu.illinois.cs:idflakies-maven-plugin"
MODULES = "idflakies-core,idflakies-maven-plugin"
TIME_MAX_S = 3600.0


class Answer(NamedTuple):
    """What came of it."""

    runs: int  # rounds, and what is run to verify; without the original order
    seconds: float  # of these
    dependent: Set[str]
    others: Set[str]

    def without(self, set_up: "Answer") -> "Answer":
        """What comes on top of starting up and running the original order."""
        runs, seconds = self.runs - set_up.runs, self.seconds - set_up.seconds
        return self._replace(runs=runs, seconds=seconds)


class Idflakies:
    """The plugin, in a Maven repository of its own."""

    def __init__(self, source: pathlib.Path, repository: pathlib.Path) -> None:
        self._maven = ["mvn", "-B", f"-Dmaven.repo.local={repository}"]
        self._call(source, ["-pl", MODULES, "-am", "-DskipTests", "-Dgpg.skip", "install"])
        pom = (source / "pom.xml").read_text()
        self.version = re.findall("<version>(.*?)</version>", pom)[0]

    def _call(self, folder: pathlib.Path, words: List[str]) -> str:
        done = subprocess.run(
            self._maven + words, cwd=str(folder), timeout=TIME_MAX_S, check=False,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )
        text = done.stdout.decode(errors="replace")
        if done.returncode != 0:
            raise RuntimeError(f"`mvn {' '.join(words)}` failed in `{folder}`:\n{text[-3000:]}")
        return text

    def detect(self, project: pathlib.Path, module: str, rounds: int) -> Answer:
        """Runs it on one module of a project."""
        if module != ".":
            # It takes the other modules from the repository.
            self._call(project, ["-pl", module, "-am", "-DskipTests", "install"])
        folder = project / module
        words = [
            f"{PLUGIN}:{self.version}:detect",
            "-Ddetector.detector_type=random-class-method",
            f"-Ddt.randomize.rounds={rounds}",
            "-Ddt.detector.original_order.all_must_pass=false",
        ]
        return _read(self._call(folder, words), folder / ".dtfixingtools", rounds)


def _read(log: str, folder: pathlib.Path, rounds: int) -> Answer:
    said = re.search(rf"in round {rounds} of {rounds} \(.*?\(([0-9.]+) total\)", log)
    if said is None:
        raise RuntimeError(f"no word of round {rounds}:\n{log[-3000:]}")
    lists = json.loads((folder / "detection-results" / "flaky-lists.json").read_text())
    kinds = {"OD": set(), "other": set()}
    for test in lists["dts"]:
        kinds["OD" if test["type"] == "OD" else "other"].add(test["name"])
    results = folder / "test-runs" / "results"
    n_original = len((folder / "detection-results" / "original-results-ids").read_text().split())
    runs = sum(1 for _ in results.iterdir()) - n_original
    return Answer(runs, float(said[1]), kinds["OD"], kinds["other"] - kinds["OD"])
