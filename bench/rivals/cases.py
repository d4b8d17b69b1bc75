"""The suites, with planted faults: what is asked of every tool, and what the right answer is.

Each case is 1,000 tests in 20 files, of which all but a few do nothing. The same suite is written
for pytest and for RSpec. A test is known by its place, so that answers in either spelling can be
held against one truth.
"""

import dataclasses
import pathlib
import re
from typing import Dict, FrozenSet, NamedTuple, Optional, Set

N_FILES = 20
N_TESTS_PER_FILE = 50


class Place(NamedTuple):
    """Where a test stands: the number of its file, and its number in it, both from 0."""

    file: int
    test: int

    @property
    def pytest_id(self) -> str:
        return f"tests/test_{self.file:02}.py::test_{self.test:03}"

    def __str__(self) -> str:
        return f"{self.file:02}::{self.test:03}"


class Body(NamedTuple):
    """What a test does, in both languages."""

    python: str
    ruby: str


SET_A = Body("state.a = 1", "$state[:a] = 1")
SET_B = Body("state.b = 1", "$state[:b] = 1")
RESET_A = Body("state.a = 0", "$state[:a] = 0")
NEED_CLEAN = Body("assert state.a == 0", "expect($state[:a]).to eq 0")
NEED_SET = Body("assert state.a == 1", "expect($state[:a]).to eq 1")
NEED_NOT_BOTH = Body("assert not (state.a and state.b)", "expect($state.values.sum).to be < 2")
FAIL_AT_TIMES = Body("assert random.random() > 0.2", "expect(rand).to be > 0.2")
NOTHING = Body("assert True", "expect(true).to be true")

EARLY = Place(3, 10)
MIDDLE = Place(9, 30)
LATE = Place(15, 20)


@dataclasses.dataclass(frozen=True)
class Case:
    """A suite, the test that is asked about, and the truth about it."""

    name: str
    about: str
    victim: Place
    kind: str
    bodies: Dict[Place, Body]
    # Tests of one group act together; each group is enough by itself.
    groups: FrozenSet[FrozenSet[Place]] = frozenset()
    cleaners: FrozenSet[Place] = frozenset()
    rate: Optional[float] = None

    @property
    def culprits(self) -> FrozenSet[Place]:
        return frozenset(place for group in self.groups for place in group)


def groups(*members: Set[Place]) -> FrozenSet[FrozenSet[Place]]:
    return frozenset(frozenset(group) for group in members)


A = Case(
    "A", "one polluter", LATE, "victim",
    {EARLY: SET_A, LATE: NEED_CLEAN}, groups({EARLY}),
)
B = Case(
    "B", "two polluters, each enough by itself", LATE, "victim",
    {EARLY: SET_A, MIDDLE: SET_A, LATE: NEED_CLEAN}, groups({EARLY}, {MIDDLE}),
)
C = Case(
    "C", "two polluters that act only together", LATE, "victim",
    {EARLY: SET_A, MIDDLE: SET_B, LATE: NEED_NOT_BOTH}, groups({EARLY, MIDDLE}),
)
D = Case(
    "D", "brittle: passes only after a state-setter", LATE, "brittle",
    {EARLY: SET_A, LATE: NEED_SET}, groups({EARLY}),
)
E = Case(
    "E", "polluter, cleaner, victim: the original order is green", LATE, "victim",
    {EARLY: SET_A, MIDDLE: RESET_A, LATE: NEED_CLEAN}, groups({EARLY}), frozenset({MIDDLE}),
)
F = Case(
    "F", "fails at random, 1 time in 5", LATE, "random", {LATE: FAIL_AT_TIMES}, rate=0.2,
)
G = Case(
    "G", "the victim stands before its polluter", EARLY, "victim",
    {EARLY: NEED_CLEAN, LATE: SET_A}, groups({LATE}),
)
# Not a suite of its own: A again, but every single test is to be tried as polluter and as cleaner.
MAP = dataclasses.replace(A, name="map", about="A again, every single test tried in both roles")

CASES = (A, B, C, D, E, F, G, MAP)


def write_for_pytest(case: Case, folder: pathlib.Path) -> None:
    """The tests are in a subfolder because ipflakies breaks on a path without one."""
    tests = folder / "tests"
    tests.mkdir(parents=True)
    (tests / "state.py").write_text("a = 0\nb = 0\n")
    for file in range(N_FILES):
        lines = ["import random", "import state", ""]
        for test in range(N_TESTS_PER_FILE):
            body = case.bodies.get(Place(file, test), NOTHING).python
            lines += [f"def test_{test:03}():", f"    {body}", ""]
        (tests / f"test_{file:02}.py").write_text("\n".join(lines))


def pin_failing_order(case: Case, folder: pathlib.Path) -> None:
    """For tools that only look into a failing order: the cleaners go first, where they clean up
    nothing. Where there are none, a bisecter finds a failing order by itself."""
    if not case.cleaners:
        return
    first = sorted(place.pytest_id for place in case.cleaners)
    (folder / "tests" / "conftest.py").write_text(
        "def pytest_collection_modifyitems(items):\n"
        f"    items.sort(key=lambda item: item.nodeid not in {first})\n"
    )


def write_for_rspec(case: Case, folder: pathlib.Path) -> None:
    spec = folder / "spec"
    spec.mkdir(parents=True)
    (spec / "state.rb").write_text("$state ||= { a: 0, b: 0 }\n")
    for file in range(N_FILES):
        lines = ["require_relative 'state'", f"RSpec.describe 'file {file:02}' do"]
        for test in range(N_TESTS_PER_FILE):
            body = case.bodies.get(Place(file, test), NOTHING).ruby
            lines.append(f"  it('{test:03}') {{ {body} }}")
        lines.append("end\n")
        (spec / f"{file:02}_spec.rb").write_text("\n".join(lines))


def pytest_places(text: str) -> Set[Place]:
    """All tests named in a text, as pytest spells them."""
    found = re.findall(r"tests/test_(\d\d)\.py::test_(\d\d\d)\b", text)
    return {Place(int(file), int(test)) for file, test in found}


def rspec_places(text: str) -> Set[Place]:
    """All tests named in a text, as RSpec spells them: `./spec/03_spec.rb[1:11,1:12]`."""
    places = set()
    for file, ids in re.findall(r"(\d\d)_spec\.rb\[([\d:,]+)\]", text):
        places |= {Place(int(file), int(id.split(":")[1]) - 1) for id in ids.split(",")}
    return places
