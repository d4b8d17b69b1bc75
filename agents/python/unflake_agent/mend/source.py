"""How is something added to a test file as if its authors had written it?

Lines are inserted at places that Python's own parser determines, and none is changed except the
scope of a fixture; indentation, quotes and line ends are those of the file.
"""

import ast
import io
import os
import tokenize
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Set, Tuple

from .places import Lines, file_of

_LIBRARY = {"copy", "os", "sys", "logging", "warnings", "random", "locale", "time", "signal"}
_LIBRARY |= {"pathlib", "unittest.mock"}
"""Modules that may be imported at the top of a file: nothing happens when they are."""


_WIDE = ("class", "module", "package", "session")


class NotFound(Exception):
    """The file does not define the test as a function or method."""


class Fixture(NamedTuple):
    """A fixture to add."""

    lines: Lines
    sentence: str
    arguments: Sequence[str] = ()
    autouse: bool = False


class File:
    """A test file to which something is added."""

    def __init__(self, path: str, folders: Sequence[str]) -> None:
        self.path = path
        self.folders = folders
        self.exists = os.path.exists(path)
        data = b""
        if self.exists:
            with open(path, "rb") as file:
                data = file.read()
        self.encoding = tokenize.detect_encoding(io.BytesIO(data).readline)[0]
        self.old = data.decode(self.encoding)
        self._newline = "\r\n" if "\r\n" in self.old else "\n"
        self._lines = self.old.splitlines(keepends=True)
        self.tree: Any = ast.parse(self.old)
        self._indent = self._usual_indent()
        self._quote = '"' if self.old.count("'") <= self.old.count('"') else "'"
        self._inserted: Dict[int, List[str]] = {}
        self._needed: Set[str] = set()
        self._spoken_of: Set[str] = set()
        self._inner: List[str] = []
        self._names = {getattr(node, "name", "") for node in ast.walk(self.tree)}

    def _usual_indent(self) -> str:
        for node in ast.walk(self.tree):
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and node.col_offset == 0:
                first = node.body[0]
                line = self._lines[first.lineno - 1]
                indent = line[: len(line) - len(line.lstrip())]
                if indent:
                    return indent
        return "    "

    # Names.

    def name_of(self, module: str) -> str:
        """The name of a module in this file; the next fixture imports it if necessary."""
        if file_of(module, self.folders) == self.path:
            return f"{self.name_of('sys')}.modules[__name__]"
        if self._is_shadowed(module):
            return f'{self.name_of("sys")}.modules["{module}"]'
        for node in self.tree.body:
            name = _bound(node, module)
            if name is not None:
                return name
        if module in _LIBRARY:
            self._spoken_of.add(module)
        elif f"import {module}" not in self._inner:
            self._inner.append(f"import {module}")
        return module

    def forget(self) -> None:
        """Forgets the names given out, because other lines are tried."""
        self._spoken_of = set()
        self._inner = []

    def _is_shadowed(self, module: str) -> bool:
        """Whether a package binds the name of its module to something else."""
        package, _, name = module.rpartition(".")
        place = file_of(package, self.folders) if package else None
        if not place:
            return False
        with open(place, "rb") as file:
            tree = ast.parse(file.read())
        froms = [node for node in tree.body if isinstance(node, ast.ImportFrom) and node.module]
        imported = [alias.asname or alias.name for node in froms for alias in node.names]
        # What a star import binds is unknown; the other way to reach a module always works.
        return name in imported or "*" in imported or _has_top_level(tree, name)

    def has_top_level(self, name: str) -> bool:
        """Whether a function, class or variable of this name is defined at the top level."""
        return _has_top_level(self.tree, name)

    def import_of(self, name: str) -> Optional[str]:
        """The statement that binds a name, if it is an import at the top level."""
        for node in self.tree.body:
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                for alias in node.names:
                    if (alias.asname or alias.name.split(".")[0]) == name:
                        return _import(node, alias)
        return None

    # Tests.

    def find(self, names: Sequence[str]) -> Any:
        """The function or class at the end of this path of names; None if it is not here."""
        nodes: Sequence[Any] = self.tree.body
        found = None
        for name in names:
            kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
            named = [n for n in _flat(nodes) if isinstance(n, kinds) and n.name == name]
            if not named:
                return None
            found = named[-1]
            nodes = found.body
        return found

    def segment(self, node: Any) -> str:
        """The lines of a statement, from the beginning of its first line."""
        return "".join(self._lines[node.lineno - 1 : node.end_lineno])

    def arguments(self, names: Sequence[str]) -> List[str]:
        """The fixtures that a test takes, and those that these take, as far as they are defined
        here."""
        found: List[str] = []
        open_: List[Any] = [self.find(names)]
        while open_:
            node = open_.pop()
            arguments = getattr(node, "args", None)
            for name in [a.arg for a in arguments.args] if arguments is not None else []:
                if name not in found:
                    found.append(name)
                    open_.append(self.find([name]))
        return found

    def narrow_fixtures(self, names: Set[str]) -> List[str]:
        """Narrows the scope of shared fixtures that are defined here to single tests."""
        narrowed = []
        for name in sorted(names):
            node = self.find([name])
            for mark in getattr(node, "decorator_list", ()):
                for keyword in getattr(mark, "keywords", ()):
                    if keyword.arg == "scope" and _scope(keyword) in _WIDE:
                        self._rewrite(keyword.value, f"{self._quote}function{self._quote}")
                        narrowed.append(name)
        return narrowed

    def _rewrite(self, node: Any, text: str) -> None:
        if node.lineno == node.end_lineno:
            line = self._lines[node.lineno - 1].encode("utf-8")
            line = line[: node.col_offset] + text.encode("utf-8") + line[node.end_col_offset :]
            self._lines[node.lineno - 1] = line.decode("utf-8")

    # Additions.

    def add_fixture(self, fixture: Fixture, tests: Sequence[Sequence[str]]) -> None:
        """Adds a fixture above the first of these tests, and makes them use it."""
        name = self._free_name(fixture.lines.name)
        nodes = [self._test(names) for names in tests]
        tops = [self.find(names[:1]) for names in tests]
        place = min((_first_line(top) for top in tops), default=len(self._lines) + 1)
        place = self._above_comments(place)
        self._insert(place, [*self._written(fixture, name), *self._gap_above(place)])
        for node in nodes if not fixture.autouse else []:
            first = _first_line(node)
            indent = self._lines[first - 1][: node.col_offset]
            mark = f"@pytest.mark.usefixtures({self._quote}{name}{self._quote})"
            self._insert(first, [indent + mark])
        self._needed |= {"pytest", *self._spoken_of}
        self.forget()

    def _test(self, names: Sequence[str]) -> Any:
        """Where to declare that a test uses a fixture: at the test, or at a class that inherits
        it."""
        node = self.find(names) or (self.find(names[:-1]) if len(names) > 1 else None)
        if node is None:
            raise NotFound("::".join(names))
        return node

    def _free_name(self, word: str) -> str:
        name, n = word, 1
        while name in self._names:
            n += 1
            name = f"{word}_{n}"
        self._names.add(name)
        return name

    def _written(self, fixture: Fixture, name: str) -> List[str]:
        lines, tab = fixture.lines, self._indent
        arguments = list(fixture.arguments)
        if lines.uses_monkeypatch and "monkeypatch" not in arguments:
            arguments.append("monkeypatch")
        body = [f'"""{fixture.sentence}"""', *self._inner, *lines.before]
        if lines.within:
            body += [lines.within, "    yield"]
        elif lines.after:
            body += ["yield", *lines.after]
        mark = "@pytest.fixture(autouse=True)" if fixture.autouse else "@pytest.fixture"
        written = [mark, f"def {name}({', '.join(arguments)}):"]
        for line in body:
            inner = len(line) - len(line.lstrip(" "))
            written.append(tab + tab * (inner // 4) + line.lstrip(" "))
        return written

    def _gap_above(self, line: int) -> List[str]:
        """The same number of empty lines as above this line: one or two, by the style of the
        file."""
        n = 0
        while n < 2 and n < line - 1 and not self._lines[line - 2 - n].strip():
            n += 1
        return [""] * max(1, n)

    def _above_comments(self, line: int) -> int:
        while 1 < line and self._lines[line - 2].startswith("#"):
            line -= 1
        return line

    def _insert(self, line: int, added: Sequence[str]) -> None:
        self._inserted.setdefault(line, []).extend(added)

    def text(self) -> str:
        """The file with all additions."""
        self._insert_imports()
        end = self._newline
        result: List[str] = []
        for number in range(1, len(self._lines) + 2):
            result += [line + end for line in self._inserted.get(number, ())]
            if number <= len(self._lines):
                result.append(self._lines[number - 1])
            if number == len(self._lines) and result and not result[-1].endswith("\n"):
                if len(self._lines) + 1 in self._inserted:
                    result[-1] += end
        self._inserted = {}
        return "".join(result)

    def _insert_imports(self) -> None:
        needed = sorted(m for m in self._needed if _bound_in(self.tree, m) is None)
        self._needed = set()
        library = [f"import {module}" for module in needed if module != "pytest"]
        first, last = self._import_block()
        if "pytest" in needed and last is None:
            gap = [""] if library else []
            self._insert_first(first, [*library, *gap, "import pytest"])
            return
        if "pytest" in needed and last is not None:
            self._insert_first(last, ["import pytest"])
        if library:
            self._inserted.setdefault(first, [])[:0] = library

    def _insert_first(self, line: int, added: List[str]) -> None:
        """Inserts before all other additions there, with a gap if code would follow directly."""
        is_close = line in self._inserted or "".join(self._lines[line - 1 : line]).strip()
        gap = ["", ""] if is_close else []
        self._inserted.setdefault(line, [])[:0] = added + gap

    def _import_block(self) -> Tuple[int, Optional[int]]:
        """The line of the first import, and the line after the last one of the first block."""
        body = list(self.tree.body)
        line = 1
        if body and _is_text(body[0]):
            line = body.pop(0).end_lineno + 1
        while body and isinstance(body[0], ast.ImportFrom) and body[0].module == "__future__":
            line = body.pop(0).end_lineno + 1
        imports = [n for n in body if isinstance(n, (ast.Import, ast.ImportFrom))]
        if not imports:
            return line, None
        first = last = imports[0]
        for node in body[body.index(first) + 1 :]:
            if not isinstance(node, (ast.Import, ast.ImportFrom)):
                break
            last = node
        return first.lineno, (last.end_lineno or last.lineno) + 1


def _scope(keyword: Any) -> Any:
    return getattr(keyword.value, "value", None)


def _has_top_level(tree: Any, name: str) -> bool:
    for node in tree.body:
        if getattr(node, "name", None) == name:
            return True
        targets = getattr(node, "targets", [getattr(node, "target", None)])
        if any(isinstance(t, ast.Name) and t.id == name for t in targets):
            return True
    return False


def _flat(nodes: Sequence[Any]) -> List[Any]:
    """These nodes, and those under an `if` or a `try` at the top level."""
    flat: List[Any] = []
    for node in nodes:
        flat.append(node)
        if isinstance(node, (ast.If, ast.Try)):
            flat += _flat([*node.body, *node.orelse])
    return flat


def _first_line(node: Any) -> int:
    decorators = [d.lineno for d in getattr(node, "decorator_list", ())]
    return int(min([node.lineno, *decorators]))


def _is_text(node: Any) -> bool:
    value = getattr(node, "value", None)
    return isinstance(node, ast.Expr) and isinstance(getattr(value, "value", None), str)


def _bound_in(tree: Any, module: str) -> Optional[str]:
    names = (_bound(node, module) for node in tree.body)
    return next((name for name in names if name is not None), None)


def _bound(node: Any, module: str) -> Optional[str]:
    """The name to which this statement binds a module, if it imports it."""
    if isinstance(node, ast.Import):
        for alias in node.names:
            if alias.name == module:
                return alias.asname or module
    if isinstance(node, ast.ImportFrom) and node.level == 0:
        for alias in node.names:
            if f"{node.module}.{alias.name}" == module:
                return alias.asname or alias.name
    return None


def _import(node: Any, alias: Any) -> str:
    as_name = f" as {alias.asname}" if alias.asname else ""
    if isinstance(node, ast.Import):
        return f"import {alias.name}{as_name}"
    return f"from {'.' * node.level}{node.module or ''} import {alias.name}{as_name}"
