"""What is perturbed around a run, and what could not be?

Loaded only if a run asks for it. Every factor is one function that draws what it does from the seed
of the run, does it to this process, and reports what it did: in words, and if the same can be set
for a plain runner, as environment variables or a shell statement. A factor that this system or this
process does not permit is refused, with the reason. Nothing is undone: everything ends with the
process, which is never used again.

Factors that are off are held fixed (``choices.hold``): otherwise each run would be a draw of them.
"""

from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence

from . import choices, clocks, company, delays, limits, places
from .draw import Draw, Refusal

Factor = Callable[[Draw, "Around"], Dict[str, Any]]


class Around(NamedTuple):
    """What factors may need to know about the run."""

    tree: str
    """The work tree: delays are put where its code waits, and nowhere else."""
    seeds_random: bool
    """Whether the project has seeded ``random`` itself, so that plain runs all draw the same."""
    seeds_numpy: bool
    neighbour: Optional[Callable[[Draw, Callable[[], bool]], None]]
    """Runs other tests of the suite for as long; None where a process cannot be forked."""


_FACTORS: Dict[str, Factor] = {
    "cpu": company.cpu,
    "memory": limits.memory,
    "disk": delays.disk,
    "network": delays.network,
    "waits": delays.waits,
    "switches": delays.switches,
    "clock": clocks.clock,
    "date": clocks.date,
    "time-zone": places.time_zone,
    "locale": places.locale,
    "hash-seed": choices.hash_seed,
    "listings": choices.listings,
    "random": choices.random_numbers,
    "recursion": limits.recursion,
    "descriptors": limits.descriptors,
    "umask": places.umask,
    "columns": places.columns,
    "neighbours": company.neighbours,
}

_LAST = ("date", "clock", "neighbours", "cpu", "memory", "descriptors", "recursion")
"""Clocks jump at looks of the test, not at ours. What forks comes before what limits, and both
after all that needs room."""


def _in_order(factors: Sequence[str]) -> List[str]:
    return sorted(factors, key=lambda factor: _LAST.index(factor) if factor in _LAST else -1)


def apply(perturb: Dict[str, Any], around: Around) -> Dict[str, Any]:
    """Perturbs the circumstances of this process; returns the body of the message about it."""
    seed, factors = perturb["seed"], perturb["factors"]
    applied: List[Dict[str, Any]] = []
    refused: List[Dict[str, str]] = []
    choices.hold(factors, around)
    for factor in _in_order(factors):
        try:
            if factor not in _FACTORS:
                raise Refusal("this agent does not know it")
            applied.append({"factor": factor, **_FACTORS[factor](Draw(seed, factor), around)})
        except Refusal as refusal:
            refused.append({"factor": factor, "why": str(refusal)})
        except (OSError, ValueError, AttributeError) as error:
            refused.append({"factor": factor, "why": f"{type(error).__name__}: {error}"})
    return {"applied": applied, "refused": refused}
