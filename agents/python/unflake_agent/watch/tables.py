"""Which tables of a changed SQLite file are different?

A private copy of the file is read, never the file itself: opening a database sometimes writes to
it. Python's ``sqlite3`` is used only if the program has loaded it; otherwise, and if a file is too
large, the file is reported and not its tables.
"""

import os
import sys
from typing import Any, Dict, List, Optional

from .change import Change
from .files import Place

_MAGIC = b"SQLite format 3\0"
_FILE_MAX = 16 << 20
_ROWS_MAX = 10_000
_ENDINGS = (".db", ".sqlite", ".sqlite3", ".db3")
_COMPANIONS = ("-journal", "-wal", "-shm")
_WALK_MAX = 5_000

Tables = Dict[str, Any]


class Databases:
    """What the tables of each file held at the last look."""

    kind = "sqlite"

    def __init__(self, place: Place) -> None:
        self._place = place
        self._copy = os.path.join(place.scratch, "sqlite-copy")
        self._known: Dict[str, Optional[Tables]] = {}
        for path in _candidates(place.tree):
            self._known[place.shown(path)] = self._tables(path)

    def refine(self, changes: List[Change]) -> List[Change]:
        """The same changes, with tables in place of the databases they are in."""
        refined: List[Change] = []
        for change in changes:
            path = self._place.true(change.where)
            if change.where.endswith(_COMPANIONS) and _is_database(path.rsplit("-", 1)[0]):
                continue
            refined += self._differences(change, path) if _is_database(path) else [change]
        return refined

    def _differences(self, change: Change, path: str) -> List[Change]:
        change.kind = self.kind
        before, after = self._known.get(change.where) or {}, self._tables(path)
        self._known[change.where] = after
        if after is None or (not before and change.before is not None):
            return [change]
        found = []
        for name in sorted({*before, *after}):
            old, new = before.get(name), after.get(name)
            if old != new:
                where = f"{change.where} table {name}"
                table = Change(where, _rows(old), _rows(new), change.undo)
                found.append(table.under("", self.kind, True))
        return found or [change]

    def _tables(self, path: str) -> Optional[Tables]:
        library = sys.modules.get("sqlite3")
        if library is None or not _is_database(path) or os.path.getsize(path) > _FILE_MAX:
            return None
        try:
            for ending in ("", "-wal"):
                _copy(path + ending, self._copy + ending)
            return _read(library, self._copy)
        except Exception:
            # It is broken, locked, or the library was tampered with.
            return None
        finally:
            for ending in ("", *_COMPANIONS):
                _remove(self._copy + ending)


def _rows(table: Any) -> Optional[str]:
    return None if table is None else f"{table[0]} rows"


def _candidates(tree: str) -> List[str]:
    found = []
    n_left = _WALK_MAX
    for folder, folders, files in os.walk(tree):
        folders[:] = [name for name in folders if not name.startswith(".")]
        found += [os.path.join(folder, name) for name in files if name.endswith(_ENDINGS)]
        n_left -= len(files) + 1
        if n_left < 0:
            break
    return found


def _is_database(path: str) -> bool:
    try:
        with open(path, "rb") as file:
            return file.read(len(_MAGIC)) == _MAGIC
    except OSError:
        return False


def _copy(source: str, target: str) -> None:
    try:
        with open(source, "rb") as file:
            data = file.read()
    except FileNotFoundError:
        return
    with open(target, "wb") as file:
        file.write(data)


def _remove(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        pass


def _read(library: Any, path: str) -> Tables:
    connection = library.connect(path)
    try:
        connection.text_factory = bytes
        names = connection.execute("select name from sqlite_master where type = 'table'")
        found: Tables = {}
        for (raw,) in names.fetchall():
            name = raw.decode("utf-8", "replace")
            quoted = '"' + name.replace('"', '""') + '"'
            (n_rows,) = connection.execute(f"select count(*) from {quoted}").fetchone()
            rows = connection.execute(f"select * from {quoted} limit {_ROWS_MAX}")
            found[name] = (n_rows, hash(tuple(rows.fetchall())))
        return found
    finally:
        connection.close()
