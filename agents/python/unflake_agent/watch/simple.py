"""How is state watched that is not an object of the program?

A watcher reads a mapping from names to small values; what differs between two readings has changed.
Each can put back what it read at the beginning, or says why it cannot.
"""

from typing import Any, Dict, List, Optional

from .change import Cannot, Change, Undo, clip, show_atom

Reading = Dict[str, Any]
"""Values by name; an absent name is a value of its own."""


class Watcher:
    """One kind of state."""

    kind = ""

    def __init__(self) -> None:
        self._last: Reading = {}
        self._last = self.read()
        self._first: Reading = {}

    # What each kind implements.

    def read(self) -> Reading:
        """The current state. Values are compared, so they are atoms."""
        raise NotImplementedError

    def show(self, value: Any) -> str:
        return show_atom(value)

    def keep(self) -> None:
        """Called before the first test of a run in which state will be put back."""

    def put_back(self, name: str, value: Optional[Any]) -> None:
        """Restores the value of the beginning; None if there was none."""
        raise Cannot("it cannot be put back")

    # What all kinds have in common.

    def look(self) -> List[Change]:
        """The changes since the last look."""
        before, self._last = self._last, self.read()
        is_same = before is self._last or before == self._last
        return [] if is_same else self._differences(before, self._last)

    def begin(self) -> None:
        """Remembers the current state as that of the beginning."""
        self._first = self._last
        self.keep()

    def since_begin(self) -> List[Change]:
        """The changes since the beginning, with the means to undo them."""
        now = self.read()
        return [] if now == self._first else self._differences(self._first, now)

    def _differences(self, before: Reading, after: Reading) -> List[Change]:
        changes = []
        for name in [*before, *(name for name in after if name not in before)]:
            old, new = before.get(name), after.get(name)
            if old != new:
                change = Change(name, self._shown(old), self._shown(new), self._undo(name, old))
                changes.append(change.under("", self.kind, True))
        return changes

    def _shown(self, value: Any) -> Optional[str]:
        return None if value is None else clip(self.show(value))

    def _undo(self, name: str, old: Any) -> Undo:
        return lambda: self.put_back(name, old)
