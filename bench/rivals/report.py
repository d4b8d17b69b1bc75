"""What is printed: a row for each answer, a table of all, and what is demanded of unflake."""

import dataclasses
import os
import platform
import shutil
import subprocess
from typing import Any, Dict, List, Optional, Tuple

from answers import Grade, Judgement
from cases import CASES, Case
from overhead import Overhead
from tools import Tool

RATIO_TO_PYTHON_MAX = 1 / 3
RATIO_TO_RSPEC_MAX = 1.0
RATIO_TO_MAP_MAX = 1 / 50
OVERHEAD_SHARE_MAX = 0.03

MARKS = {Grade.RIGHT: "", Grade.INCOMPLETE: " part", Grade.WRONG: " WRONG", Grade.NONE: " none"}


@dataclasses.dataclass
class Cell:
    """What one tool did on one case, in all runs of it."""

    case: Case
    tool: Tool
    seconds: List[float]
    judgements: List[Judgement]

    @property
    def best_s(self) -> float:
        return min(self.seconds)

    @property
    def n_right(self) -> int:
        return sum(it.grade is Grade.RIGHT for it in self.judgements)

    @property
    def judgement(self) -> Judgement:
        """The least favourable one. Where chance is part of the truth, most of the runs decide: a
        95 % interval misses it 1 time in 20."""
        right_first = sorted(self.judgements, key=lambda it: it.grade is not Grade.RIGHT)
        return right_first[len(right_first) // 2 if self.case.rate is not None else -1]


Cells = Dict[Tuple[str, str], Cell]


def machine() -> str:
    parts = [f"{os.cpu_count()} processors", f"Python {platform.python_version()}"]
    if shutil.which("rspec"):
        rspec = subprocess.run(["rspec", "--version"], stdout=subprocess.PIPE, check=False)
        parts.append(rspec.stdout.decode().split("\n")[0])
    return ", ".join(parts)


def heading(case: Case) -> str:
    return f"\n{case.name}  {case.about} (load {os.getloadavg()[0]:.1f})"


def row(cell: Cell, ours: Optional[Cell]) -> str:
    n_runs = len(cell.seconds)
    ratio = f"{cell.best_s / ours.best_s:.2f} x" if ours else ""
    best_of = f"best of {n_runs}" if n_runs > 1 else ""
    differ = f" ({cell.n_right} of {n_runs} runs right)" if 0 < cell.n_right < n_runs else ""
    measured = f"{cell.best_s:7.2f} s  {best_of:9} {ratio:>9}"
    return f"  {cell.tool.name:31} {measured}  {cell.judgement}{differ}"


def table(cells: Cells, tools: List[Tool]) -> str:
    names = [case.name for case in CASES if any(name == case.name for _, name in cells)]
    lines = [f"{'seconds':31}" + "".join(f"{name:>12}" for name in names)]
    for tool in tools:
        found = [cells.get((tool.name, name)) for name in names]
        texts = [f"{it.best_s:.2f}{MARKS[it.judgement.grade]}" if it else "-" for it in found]
        lines.append(f"{tool.name:31}" + "".join(f"{text:>12}" for text in texts))
    return "\n".join(lines)


def overhead_row(overhead: Overhead) -> str:
    cold_start = f"cold pytest start {1000 * overhead.cold_start_s:.0f} ms"
    order = f"one more order {1000 * overhead.order_s:.2f} ms"
    return f"{cold_start}; {order} (mean of {overhead.n_runs}, one job)"


def demands(cells: Cells, overhead: Optional[Overhead]) -> List[Tuple[str, Optional[float], float]]:
    """What is demanded, what was measured, and at most how much it may be."""
    ours = {case: _best(cells, case, "Python", ours=True) for case in ("A", "C", "map")}
    python = _best(cells, "A", "Python")
    ruby = {case: _best(cells, case, "Ruby") for case in ("A", "C")}
    share = overhead.share if overhead else None
    return [
        ("A, of the best Python rival on A", _ratio(ours["A"], python), RATIO_TO_PYTHON_MAX),
        ("C, of the best Python rival on A", _ratio(ours["C"], python), RATIO_TO_PYTHON_MAX),
        ("A, of RSpec on A", _ratio(ours["A"], ruby["A"]), RATIO_TO_RSPEC_MAX),
        ("C, of RSpec on C", _ratio(ours["C"], ruby["C"]), RATIO_TO_RSPEC_MAX),
        (
            "complete map, of ipflakies",
            _ratio(ours["map"], _best(cells, "map", "Python")), RATIO_TO_MAP_MAX,
        ),
        ("an order, of a cold pytest start", share, OVERHEAD_SHARE_MAX),
    ]


def demand_row(demand: Tuple[str, Optional[float], float]) -> str:
    what, measured, limit = demand
    if measured is None:
        return f"  {what:34} not measured, or no right answer"
    met = "met" if measured <= limit else "NOT MET"
    return f"  {what:34} {measured:8.4f}, at most {limit:.4f}: {met}"


def as_json(cells: Cells, overhead: Optional[Overhead]) -> Dict[str, Any]:
    rows = [
        {
            "case": cell.case.name, "tool": cell.tool.name, "seconds": cell.seconds,
            "grade": cell.judgement.grade.value, "why": cell.judgement.why,
        }
        for cell in cells.values()
    ]
    wanted = [
        {"what": what, "measured": measured, "at_most": limit}
        for what, measured, limit in demands(cells, overhead)
    ]
    per_order = dict(overhead._asdict(), share=overhead.share) if overhead else None
    return {"machine": machine(), "answers": rows, "overhead": per_order, "demands": wanted}


def _best(cells: Cells, case: str, language: str, ours: bool = False) -> Optional[float]:
    """The time of the fastest right answer: others are not worth comparing."""
    seconds = [
        cell.best_s
        for (_, name), cell in cells.items()
        if name == case and cell.tool.ours == ours and cell.tool.language == language
        and cell.judgement.grade is Grade.RIGHT
    ]
    return min(seconds, default=None)


def _ratio(part: Optional[float], whole: Optional[float]) -> Optional[float]:
    return part / whole if part is not None and whole is not None else None
