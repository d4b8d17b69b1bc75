"""Where do the numbers come from?

From our own generator for each factor and purpose: what one of them draws does not affect the
others, and what the tests do with their generators does not affect ours. Python promises that a
text used as a seed gives the same numbers in every version.
"""

import os
import random
import sys
from typing import Any, List, Sequence, TypeVar

T = TypeVar("T")

_Random = random.Random
_seed = random.Random.seed


class Refusal(Exception):
    """This factor cannot be perturbed here; says why."""


class Draw:
    """The random numbers of one factor."""

    def __init__(self, seed: int, *labels: Any) -> None:
        self._name = "/".join(map(str, (seed, *labels)))
        self._random = _Random()
        _seed(self._random, self._name)

    def one(self, items: Sequence[T]) -> T:
        """One of the items."""
        return items[int(self._random.random() * len(items))]

    def share(self) -> float:
        """A number from 0 to 1."""
        return self._random.random()

    def shuffled(self, items: Sequence[T]) -> List[T]:
        """All items, in some order."""
        keyed = [(self._random.random(), place) for place in range(len(items))]
        return [items[place] for _, place in sorted(keyed)]

    def bits(self, n_bits: int) -> int:
        """A number with this many bits."""
        return self._random.getrandbits(n_bits)

    def part(self, *labels: Any) -> "Draw":
        """The numbers for one purpose, whatever was drawn before."""
        return Draw(0, self._name, *labels)


def rebind(pairs: Sequence[Any]) -> None:
    """Makes modules that imported a function by name (``from time import sleep``) use the new one.

    Except those of the standard library and of the runner, whose behaviour is not in question.
    """
    new = {id(old): fresh for old, fresh in pairs}
    for name, module in list(sys.modules.items()):
        if name.split(".")[0] in _NOT_IN_QUESTION or not _is_visited(module):
            continue
        space = vars(module)
        for key in [key for key, value in list(space.items()) if id(value) in new]:
            space[key] = new[id(space[key])]


def _is_visited(module: Any) -> bool:
    file = getattr(module, "__file__", None)
    if not isinstance(file, str) or not isinstance(getattr(module, "__dict__", None), dict):
        return False
    return not file.startswith(_LIBRARY) or "site-packages" in file


_LIBRARY = os.path.dirname(os.__file__) + os.sep
_NOT_IN_QUESTION = {"_pytest", "pytest", "pluggy", "_unflake_agent", "unflake_agent", "coverage"}
