"""What a tool answered, and how it stands beside the truth.

One rule for all tools: it knows no names. A tool is not blamed for what it does not claim: whether
it says which tests act together, or of what kind the test is, counts only if it says so.
"""

import dataclasses
import enum
from typing import FrozenSet, List, Optional, Tuple

from cases import Case, Place


class Grade(enum.Enum):
    RIGHT = "right"
    INCOMPLETE = "incomplete"
    WRONG = "wrong"
    NONE = "no answer"


@dataclasses.dataclass
class Answer:
    culprits: FrozenSet[Place] = frozenset()
    groups: Optional[FrozenSet[FrozenSet[Place]]] = None
    cleaners: FrozenSet[Place] = frozenset()
    # Tests other than the one asked about that are called flaky.
    accused: FrozenSet[Place] = frozenset()
    kind: Optional[str] = None
    rate: Optional[Tuple[float, float]] = None
    # The tool's own words, shown when it names nothing.
    words: str = ""


@dataclasses.dataclass
class Judgement:
    grade: Grade
    why: str

    def __str__(self) -> str:
        return f"{self.grade.value}: {self.why}" if self.why else self.grade.value


def judge(case: Case, answer: Answer) -> Judgement:
    wrong = _wrong(case, answer)
    if wrong:
        return Judgement(Grade.WRONG, wrong)
    missing = _missing(case, answer)
    if not missing:
        return Judgement(Grade.RIGHT, _spell(case, answer))
    says_something = answer.culprits or answer.kind
    if says_something:
        return Judgement(Grade.INCOMPLETE, ", ".join(missing))
    return Judgement(Grade.NONE, answer.words)


def _wrong(case: Case, answer: Answer) -> str:
    named = answer.culprits | answer.cleaners | answer.accused
    n_innocent = len(answer.culprits - case.culprits)
    n_innocent += len(answer.cleaners - case.cleaners) + len(answer.accused)
    if n_innocent:
        return f"of {len(named)} it names, {n_innocent} innocent"
    if answer.kind not in (None, case.kind):
        return f"calls it `{answer.kind}`"
    complete = answer.culprits == case.culprits
    if answer.groups is not None and complete and answer.groups != case.groups:
        return "says otherwise which tests act together"
    if answer.rate and case.rate and not answer.rate[0] <= case.rate <= answer.rate[1]:
        return _spell_rate(answer.rate)
    return ""


def _missing(case: Case, answer: Answer) -> List[str]:
    missing = []
    if answer.culprits != case.culprits:
        missing.append(f"names {len(answer.culprits)} of {len(case.culprits)}")
    if answer.cleaners != case.cleaners:
        missing.append("does not name the cleaner")
    if case.rate is not None and answer.rate is None:
        missing.append("no failure rate")
    return missing


def _spell(case: Case, answer: Answer) -> str:
    parts = [str(place) for place in sorted(answer.culprits)]
    parts += [f"cleaner {place}" for place in sorted(answer.cleaners)]
    if case.rate is not None and answer.rate:
        parts.append(_spell_rate(answer.rate))
    return ", ".join(parts)


def _spell_rate(rate: Tuple[float, float]) -> str:
    return f"rate {100 * rate[0]:.0f} to {100 * rate[1]:.0f} %"
