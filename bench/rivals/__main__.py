"""unflake beside its rivals, on the same suites, in one run: answers, times and ratios.

    python3 bench/rivals [--cases A,C] [--tools unflake,RSpec] [--repeat 5] [--slow] [--json]

Exit code 1 if an answer of unflake is wrong or a tool could not be run; times decide nothing.
"""

import argparse
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
from typing import List, Optional, TextIO

import overhead
import report
from answers import Grade, judge
from cases import CASES, Case
from tools import TOOLS, Tool

# Asked as often as was said only if it is quick, or if ratios are built on it.
QUICK_S = 5.0
IN_RATIOS = ("A", "C")


def main() -> int:
    args = parse_args()
    out = sys.stderr if args.json else sys.stdout
    cases = [case for case in CASES if args.cases is None or case.name in args.cases]
    tools = [tool for tool in TOOLS if args.tools is None or is_chosen(tool, args.tools)]
    ready = [tool for tool in tools if is_ready(tool)]
    print(report.machine(), file=out, flush=True)
    cells: report.Cells = {}
    for together in side_by_side(cases):
        pairs = [(case, tool) for case in together for tool in ready]
        asked = [(case, tool) for case, tool in pairs if is_asked(tool, case, args.slow)]
        measured = measure([report.Cell(case, tool, [], []) for case, tool in asked], args.repeat)
        for case in together:
            print(report.heading(case), file=out, flush=True)
            of_case = [cell for cell in measured if cell.case is case]
            for cell in of_case:
                cells[cell.tool.name, case.name] = cell
                print(report.row(cell, ours(of_case)), file=out, flush=True)
    per_order = overhead.measure() if args.overhead and any(it.ours for it in ready) else None
    print_summary(cells, ready, per_order, out)
    if args.json:
        json.dump(report.as_json(cells, per_order), sys.stdout, indent=2)
        print()
    return 1 if len(ready) < len(tools) or any(map(is_our_fault, cells.values())) else 0


def parse_args() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench/rivals", description=__doc__.split("\n")[0])
    names = ", ".join(case.name for case in CASES)
    parser.add_argument("--cases", type=split, help="only these, of " + names)
    parser.add_argument("--tools", type=split, help="only those whose names begin so")
    parser.add_argument("--repeat", type=int, default=5, metavar="N", help="take the best of N")
    parser.add_argument("--slow", action="store_true", help="ipflakies' complete map: 10 minutes")
    parser.add_argument("--no-overhead", dest="overhead", action="store_false")
    parser.add_argument("--json", action="store_true", help="JSON on stdout, tables on stderr")
    return parser.parse_args()


def split(text: str) -> List[str]:
    return text.split(",")


def is_chosen(tool: Tool, beginnings: List[str]) -> bool:
    return any(tool.name.lower().startswith(it.lower()) for it in beginnings)


def is_asked(tool: Tool, case: Case, slow: bool) -> bool:
    return case.name in tool.cases and (slow or case.name not in tool.slow)


def is_ready(tool: Tool) -> bool:
    try:
        tool.prepare()
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"{tool.name} could not be installed: {error}", file=sys.stderr)
        return False
    return True


def side_by_side(cases: List[Case]) -> List[List[Case]]:
    """Cases that are held against each other are measured in the same minutes."""
    together = [case for case in cases if case.name in IN_RATIOS]
    alone = [[case] for case in cases if case.name not in IN_RATIOS]
    return [together] * bool(together) + alone


def measure(cells: List[report.Cell], repeat: int) -> List[report.Cell]:
    """The tools take turns, so that a noisy minute does not hit one of them alone."""
    with tempfile.TemporaryDirectory(prefix="unflake-bench-") as parent:
        folders = [pathlib.Path(parent, str(i), "project") for i in range(len(cells))]
        for cell, folder in zip(cells, folders):
            cell.tool.set_up(cell.case, folder)
        for _ in range(repeat):
            for cell, folder in zip(cells, folders):
                if not is_settled(cell):
                    ask(cell, folder)
    return cells


def ask(cell: report.Cell, folder: pathlib.Path) -> None:
    finished, answer = cell.tool.ask(cell.case, folder)
    forget(folder)
    if finished.code is None:
        answer.words = f"stopped after {finished.seconds:.0f} s"
    cell.seconds.append(finished.seconds)
    cell.judgements.append(judge(cell.case, answer))


def is_settled(cell: report.Cell) -> bool:
    if cell.case.name in IN_RATIOS or sum(cell.seconds) <= QUICK_S:
        return False
    # Chance may have been against us.
    return cell.case.rate is None or not is_our_fault(cell)


def forget(folder: pathlib.Path) -> None:
    """Removes what a run left beside the suite."""
    for entry in folder.iterdir():
        if entry.name in ("tests", "spec"):
            continue
        if entry.is_dir():
            shutil.rmtree(str(entry))
        else:
            entry.unlink()


def ours(cells: List[report.Cell]) -> Optional[report.Cell]:
    return next((cell for cell in cells if cell.tool.ours), None)


def is_our_fault(cell: report.Cell) -> bool:
    return cell.tool.ours and cell.judgement.grade is not Grade.RIGHT


def print_summary(
    cells: report.Cells, tools: List[Tool], per_order: Optional[overhead.Overhead], out: TextIO
) -> None:
    print("\n" + report.table(cells, tools), file=out)
    if per_order:
        print("\n" + report.overhead_row(per_order), file=out)
    print("\ndemanded:", file=out)
    for demand in report.demands(cells, per_order):
        print(report.demand_row(demand), file=out)


sys.exit(main())
