"""What did each test leave changed, and what if it had not?

A test that passes alone and fails after another one met something that the other left behind. Here
all places are watched where such a thing can be, each kind by its own part that can be switched on
separately: they are read once before the first test, and once after each test. The difference
between two readings is what that test changed, reported with the name by which the program knows
it.

If a run asks for it, state is put back between two tests: all that was asked for, or all but that.
Then the beginning is remembered with everything it held, and not only its fingerprint.

=================  ==============================================================================
module             question it answers
=================  ==============================================================================
``change``         what is a change, and how is a value shown without asking the value?
``shapes``         how can an object be taken apart unnoticed?
``nodes``          what did an object hold when we last looked, and what is different now?
``containers``     how do dictionaries, lists, sets and objects hold what they hold?
``stamps``         which objects change without holding anything?
``functions``      what can a function hold from one call to the next?
``code``           what do modules, classes and functions hold?
``heap``           which objects of this process are the program's?
``quick``          is everything as it was?
``simple``         how is the state watched that is not an object of the program?
``process``        what does the system know about this process?
``interpreter``    what does the interpreter itself remember?
``logs``           how is logging set up?
``files``          which files did a test leave behind, change or delete?
``tables``         which tables of a changed SQLite file are different?
=================  ==============================================================================

No code of the tested program is called for this: no ``==``, ``hash``, ``repr``, property or
``__getattr__`` of its classes. (Putting things back may call it.)
"""

from typing import Any, Callable, Dict, FrozenSet, List, NamedTuple, Optional

from . import change, heap, interpreter, logs, process
from .change import Cannot, Change, clip, concerns, merged
from .files import Files, Leftovers, Place
from .simple import Watcher
from .tables import Databases

N_CHANGES_MAX = 50
"""Changes that are told of one attempt; of the rest the number."""

FIXTURES = "fixtures"
"""Asked for with the kinds: what fixtures that outlive a test change is told as theirs."""


class Wish(NamedTuple):
    """What the engine wants to have put back, and when."""

    before: int
    items: List[str]
    all_but: bool
    again: bool
    """Whether it is to be done after every so many tests."""


def wish(body: Optional[Dict[str, Any]]) -> Optional[Wish]:
    """Reads the body of a message."""
    if body is None:
        return None
    all_but, again = (bool(body.get(key, False)) for key in ("all_but", "again"))
    return Wish(body["before"], list(body["items"]), all_but, again)


class Watch:
    """Watches one run."""

    def __init__(self, kinds: Optional[List[str]], wanted: Optional[Wish], place: Place) -> None:
        change.learn_atoms()
        self._tells = kinds is not None
        self._wanted = wanted
        is_all = kinds is None or "all" in kinds
        self._kinds = chosen = frozenset([*(kinds or ()), *(ALL if is_all else ())])
        self._first_heap = None
        self._heap = None
        if wanted is not None:
            self._first_heap = heap.Heap(chosen, place.tree, True, place.items)
        if self._tells and chosen.intersection(heap.KINDS) - {"random"}:
            self._heap = heap.Heap(chosen, place.tree, False)
        self._watchers = _watchers(chosen, place)
        self._databases = Databases(place) if "sqlite" in chosen else None
        self._noted: List[Change] = []
        for watcher in self._watchers if wanted else ():
            watcher.begin()

    def look(self, test_seconds: float) -> Dict[str, Any]:
        """The changes since the last look, as ``end`` reports them."""
        if not self._tells:
            return {}
        changes, self._noted = merged(self._noted + self._found(test_seconds)), []
        told: Dict[str, Any] = {"changes": [each.said() for each in changes[:N_CHANGES_MAX]]}
        if len(changes) > N_CHANGES_MAX:
            told["more"] = len(changes) - N_CHANGES_MAX
        return told

    @property
    def tells_fixtures(self) -> bool:
        """Whether the watch needs to know what was changed by fixtures that outlive a test."""
        return self._tells and FIXTURES in self._kinds

    def note(self, fixture: Optional[str]) -> None:
        """Attributes the changes since the last look to this fixture; to none, if None."""
        found = self._found(float("inf"))
        for each in found:
            each.by = fixture
        self._noted += found

    def _found(self, test_seconds: float) -> List[Change]:
        changes = self._heap.look(test_seconds) if self._heap else []
        for watcher in self._watchers:
            try:
                found = watcher.look()
                changes += self._refined(found) if found else []
            except Exception:
                # A test left something there that Python does not put there.
                continue
        return [each for each in _once(changes) if each.kind in self._kinds]

    def is_due(self, position: int) -> bool:
        """Whether something must be put back before the test at this position."""
        if self._wanted is None or position == 0:
            return False
        before = self._wanted.before
        return position % before == 0 if self._wanted.again else position == before

    def restore(self) -> Dict[str, Any]:
        """Puts back what was asked for; returns what was, and what could not be."""
        wanted = self._wanted
        assert wanted is not None and self._first_heap is not None
        changes = self._first_heap.look(float("inf"))
        for watcher in self._watchers:
            try:
                changes += self._refined(watcher.since_begin())
            except Exception:
                continue
        done: List[str] = []
        failed: List[Dict[str, str]] = []
        # The latest changes go first, but the time zone follows the environment.
        for each in sorted(reversed(_once(changes)), key=lambda each: each.kind == "timezone"):
            where = clip(each.where)
            if any(concerns(item, where) for item in wanted.items) == wanted.all_but:
                continue
            why = _undone(each)
            if why is None:
                done.append(each.said()["where"])
            else:
                failed.append({"where": each.said()["where"], "why": why})
        touched = [*done, *(each["where"] for each in failed)]
        for item in wanted.items if not wanted.all_but else ():
            if not any(concerns(item, where) for where in touched):
                failed.append({"where": item, "why": "it had not changed"})
        self.look(float("inf"))
        if wanted.again and done:
            # What is as it was at the beginning must not be undone the next time.
            self._first_heap.look(float("inf"))
        return {"items": done[::-1][:N_RESTORED_MAX], "failed": failed[:N_RESTORED_MAX]}

    def _refined(self, changes: List[Change]) -> List[Change]:
        is_files = self._databases is not None and changes and changes[0].kind == "file"
        return self._databases.refine(changes) if is_files else changes  # type: ignore[union-attr]

    def last_words(self) -> Dict[str, bool]:
        """What ``done`` reports: whether something was too large to be watched completely."""
        return {"in_part": True} if self._heap is not None and self._heap.is_in_part else {}


N_RESTORED_MAX = 1_000


def _undone(change: Change) -> Optional[str]:
    try:
        change.undo()
        return None
    except Cannot as error:
        return str(error)
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def _once(changes: List[Change]) -> List[Change]:
    """Each change once: a patch left behind is also a changed global, and says more."""
    patched = {change.where for change in changes if change.kind == "mock"}
    return [c for c in changes if c.kind == "mock" or c.where not in patched]


_PLACED: Dict[str, Callable[[Place], Watcher]] = {
    "file": Files,
    "tempfile": Leftovers,
    "descriptor": lambda place: process.Descriptors({fd for fd, _ in place.uppers}),
}

_SIMPLE: Dict[str, Callable[[], Watcher]] = {
    **process.SIMPLE,
    **interpreter.SIMPLE,
    "logging": logs.Logging,
}

ALL = (*heap.KINDS, *(kind for kind in _SIMPLE if kind not in heap.KINDS), *_PLACED, "sqlite")
"""All kinds of state there are."""


def _watchers(kinds: FrozenSet[str], place: Place) -> List[Watcher]:
    chosen = [make() for kind, make in _SIMPLE.items() if kind in kinds]
    for kind, make in _PLACED.items():
        if kind in kinds or (kind == "file" and "sqlite" in kinds):
            chosen.append(make(place))
    return chosen
