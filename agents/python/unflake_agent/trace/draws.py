"""Were numbers drawn from numpy's own generator?

It is compiled by Cython: the interpreter does not report its functions, and they have no definition
that could be watched. But there is one generator behind ``numpy.random.rand`` and all the others,
and one can see whether it has moved. A generator that a test makes for itself asks the system for a
seed, which is noticed, or is given one.
"""

import sys
from typing import Any, Dict, Optional

FUNCTION: Dict[str, str] = {"module": "numpy.random", "name": "RandomState"}
"""What is told."""


_UNUSED = "as entropy left it"
_N_WORDS = 624
_BY_ENTROPY = 0x80000000


def is_there() -> bool:
    """Whether numpy is loaded; it loads its generators when they are first used."""
    return "numpy" in sys.modules


def look() -> Optional[Any]:
    """A value that differs once the generator has moved; None if that cannot be seen."""
    module = sys.modules.get("numpy.random.mtrand")
    if module is None:
        return _UNUSED
    try:
        state = module._rand.get_state(legacy=False)
        inner = state["state"]
        at, key = inner["pos"], inner["key"]
        if at >= _N_WORDS - 1 and len(key) and int(key[0]) == _BY_ENTROPY:
            return _UNUSED
        return at, key.tobytes(), state["has_gauss"], state["gauss"]
    except Exception:
        return None
