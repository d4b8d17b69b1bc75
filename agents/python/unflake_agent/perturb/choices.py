"""Choices left open: the order in which a folder is listed, the seed of a generator.

Off, they are made the same way every time; on, in another way for each seed. The hash seed must be
set before Python starts: the engine starts an interpreter for it.
"""

import os
import pathlib
import random
import sys
from typing import Any, Callable, Dict, Iterator, List, Sequence

from .draw import Draw, Refusal, rebind

_listdir, _scandir, _urandom = os.listdir, os.scandir, os.urandom
_seed = random.Random.seed
_FIXED = Draw(0, "fixed")


def hold(factors: Sequence[str], around: Any) -> None:
    """Fixes the choices that must not vary."""
    if "listings" not in factors:
        _list_by(lambda name: name)
    if "random" not in factors:
        _seed_by(_FIXED, around)


def hash_seed(_: Draw, __: Any) -> Dict[str, Any]:
    """The engine has set it, or has not."""
    seed = os.environ.get("PYTHONHASHSEED", "")
    if not seed.isdigit():
        raise Refusal("this interpreter was not started with a hash seed")
    return {"how": f"PYTHONHASHSEED={seed}", "env": {"PYTHONHASHSEED": seed}}


def listings(draw: Draw, _: Any) -> Dict[str, Any]:
    """Folders are listed in an order that follows from names and seed, the same throughout the
    run."""
    _list_by(lambda name: (draw.part(name).share(), name))
    return {"how": "folders are listed in another order"}


def random_numbers(draw: Draw, around: Any) -> Dict[str, Any]:
    """Generators that are not seeded get another seed."""
    first = _seed_by(draw, around)
    told = {"first": "; ".join(first)} if first else {}
    return {"how": "random numbers start elsewhere", **told}


class _Entries:
    """What ``os.scandir`` returns, in our order."""

    def __init__(self, entries: List[Any]) -> None:
        self._entries = iter(entries)

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        return next(self._entries)

    def __enter__(self) -> "_Entries":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def close(self) -> None:
        """Does nothing, because nothing is open."""
        self._entries = iter(())


def _list_by(key: Callable[[Any], Any]) -> None:
    def listdir(*arguments: Any, **named: Any) -> List[Any]:
        return sorted(_listdir(*arguments, **named), key=key)

    def scandir(*arguments: Any, **named: Any) -> _Entries:
        with _scandir(*arguments, **named) as entries:
            return _Entries(sorted(entries, key=lambda entry: key(entry.name)))

    old = [(os.listdir, listdir), (os.scandir, scandir)]
    os.listdir, os.scandir = listdir, scandir  # type: ignore[assignment]
    # Before 3.11 pathlib has functions of its own.
    accessor: Any = getattr(pathlib, "_NormalAccessor", None)
    if accessor is not None:
        accessor.listdir, accessor.scandir = staticmethod(listdir), staticmethod(scandir)
    rebind(old)


def _seed_by(draw: Draw, around: Any) -> List[str]:
    """Makes every source of random numbers that Python code can see draw from ours. Returns the
    statements that would seed the existing ones in a plain run.
    """
    said: List[str] = []

    def seed(self: Any, a: Any = None, version: int = 2) -> None:
        _seed(self, draw.bits(64) if a is None else a, version)

    def urandom(size: int) -> bytes:
        return draw.bits(8 * size).to_bytes(size, "little") if size else b""

    random.Random.seed = seed  # type: ignore[method-assign]
    random.seed = random._inst.seed
    rebind([(os.urandom, urandom)])
    os.urandom = urandom
    random._urandom = urandom  # type: ignore[attr-defined]
    if not around.seeds_random:
        start = draw.bits(64)
        random.seed(start)
        said.append(f"import random; random.seed({start})")
    numpy = sys.modules.get("numpy.random")
    if numpy is not None and not around.seeds_numpy:
        start = draw.bits(32)
        numpy.seed(start)
        said.append(f"import numpy; numpy.random.seed({start})")
    return said
