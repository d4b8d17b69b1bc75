"""What one more order costs, beside a cold start of pytest.

The marginal cost: the same question is asked without roles and with a process for every single
test, and the difference in wall time is shared among the difference in runs. Each of those runs is
an order of two or three tests that do nothing. One job, so that runs side by side do not flatter
it. Cold starts are measured before and after, because the machine is not equally quick at all times.
"""

import json
import pathlib
import statistics
import tempfile
from typing import List, NamedTuple, Optional

import process
from cases import A, Place
from tools import LIMIT_S, Unflake

N_COLD_STARTS = 5
"""Before, and as many after."""


class Overhead(NamedTuple):
    cold_start_s: float
    order_s: float
    n_runs: int

    @property
    def share(self) -> float:
        return self.order_s / self.cold_start_s


class Cost(NamedTuple):
    seconds: float
    n_runs: int


def measure() -> Optional[Overhead]:
    """None if unflake did not come to an end."""
    with tempfile.TemporaryDirectory() as folder:
        project = pathlib.Path(folder) / "A"
        kind, one_by_one = (
            Unflake("unflake", ["why", "--jobs", "1", "--depth", depth], ())
            for depth in ("kind", "one-by-one")
        )
        for tool in kind, one_by_one:
            tool.prepare()
        kind.set_up(A, project)
        before = _cold_starts(kind, project)
        few, many = _cost(kind, project), _cost(one_by_one, project)
        cold_start_s = statistics.median(before + _cold_starts(kind, project))
    if few is None or many is None:
        return None
    n_runs = many.n_runs - few.n_runs
    return Overhead(cold_start_s, (many.seconds - few.seconds) / n_runs, n_runs)


def _cold_starts(tool: Unflake, project: pathlib.Path) -> List[float]:
    command = [tool.program("python"), "-m", "pytest", "-q", Place(0, 0).pytest_id]
    runs = [process.run(command, project, tool.env, LIMIT_S) for _ in range(N_COLD_STARTS)]
    return [run.seconds for run in runs]


def _cost(tool: Unflake, project: pathlib.Path) -> Optional[Cost]:
    finished, _ = tool.ask(A, project)
    if finished.code is None:
        return None
    return Cost(finished.seconds, json.loads(finished.stdout)["summary"]["cost"]["runs"])
