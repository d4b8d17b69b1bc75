"""Which fixture, at which test, would put things right?

For a victim, in this order:

1. the polluters use a fixture that puts the guilty state back: what is wrong is repaired where it
   is done, for all victims;
2. the same by a fixture that all tests of their files use, where there are many of them;
   a fixture whose value they share is made anew for each test;
3. the victim uses a fixture that sets the state to what it was before: other victims stay;
4. the victim uses a fixture that does what a cleaner does.

For a brittle, it is given the state-setter's value, or what the state-setter does.
"""

import ast
import builtins
import difflib
import os
import sys
import textwrap
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Sequence

from . import places
from .places import Lines, State
from .source import File, Fixture, NotFound

_MARKED_MAX = 6
"""More tests than this in a file do not get a mark each."""


class Request(NamedTuple):
    """A request for proposals."""

    rootdir: str
    top: str
    """Names in a patch are relative to this folder."""
    is_brittle: bool
    target: str
    culprits: List[str]
    """The polluters."""
    helpers: List[str]
    """Cleaners, or for a brittle its state-setters."""
    state: List[Dict[str, Any]]
    kept: Optional[List[int]] = None
    """Which statements of the first helper to take; all without."""


class Test(NamedTuple):
    """A test, taken apart."""

    path: str
    names: List[str]

    @classmethod
    def read(cls, rootdir: str, node_id: str) -> "Test":
        """``tests/test_a.py::TestX::test_y[1]``."""
        file, *names = node_id.split("[")[0].split("::")
        return cls(os.path.join(rootdir, file), names)


def propose(body: Dict[str, Any]) -> Dict[str, Any]:
    """All proposals for a request, best first, and why others could not be made."""
    request = Request(**body)
    reasons: List[str] = []
    patches: List[Dict[str, Any]] = []
    for proposal in _proposals(request):
        try:
            patch = proposal()
        except NotFound as error:
            reasons.append(f"`{error}` does not stand in its file as a function")
        except (OSError, SyntaxError, ValueError) as error:
            reasons.append(f"a test file cannot be read: {error}")
        except Cannot as error:
            reasons.append(str(error))
        else:
            if patch["diff"] and patch["diff"] not in [known["diff"] for known in patches]:
                patches.append(patch)
    return {"patches": patches, "reasons": list(dict.fromkeys(reasons))}


class Cannot(Exception):
    """A proposal that cannot be made, and why."""


def _proposals(request: Request) -> Iterator[Any]:
    ways = range(2)
    if request.kept is not None:
        yield lambda: _as_the_helper_does(request, request.helpers[0])
        return
    if not request.is_brittle:
        for is_for_all in (False, True):
            for way in ways:
                yield lambda w=way, a=is_for_all: _reset_after_polluters(request, w, a)
        yield lambda: _fixtures_made_anew(request)
    yield lambda: _set_before_target(request)
    for helper in request.helpers[:3]:
        yield lambda h=helper: _as_the_helper_does(request, h)


def _state(request: Request) -> List[State]:
    if not request.state:
        raise Cannot("the state they share is not known")
    return [
        State(it["where"], it["kind"], it.get("before"), it.get("after")) for it in request.state
    ]


def _reset_after_polluters(request: Request, way: int, is_for_all: bool) -> Dict[str, Any]:
    states = _state(request)
    tests: Dict[str, List[List[str]]] = {}
    for culprit in request.culprits:
        test = Test.read(request.rootdir, culprit)
        known = tests.setdefault(test.path, [])
        if test.names not in known:
            known.append(test.names)
    if not tests:
        raise Cannot("no polluter is known")
    files = []
    for path, names in tests.items():
        autouse = is_for_all or _MARKED_MAX < len(names)
        file = File(path, _folders(request, path))
        for state in states:
            lines = _way(state, file, way)
            sentence = f"Puts back {_quoted(state.where)}."
            file.add_fixture(Fixture(lines, sentence, autouse=autouse), names)
        files.append(file)
    many = "polluters put" if len(request.culprits) > 1 else "polluter puts"
    where = ", ".join(f"`{state.where}`" for state in states)
    title = f"the {many} back {where}"
    if is_for_all:
        title = f"all tests beside the polluters put back {where}"
    why = "the change is undone where it is made, for every test that would stumble over it"
    return _patch(request, files, "reset-polluter", title, why, True)


def _way(state: State, file: File, way: int) -> Lines:
    lines = None
    ways = places.keep(state, file.name_of, file.folders)
    for n in range(way + 1):
        file.forget()
        lines = next(ways, None)
        if lines is None and n == 0:
            raise Cannot(f"there is no recipe to put back `{state.where}` ({state.kind})")
    if lines is None:
        raise Cannot(f"there is one way only to put back `{state.where}`")
    return lines._replace(name="unchanged_" + lines.name)


def _fixtures_made_anew(request: Request) -> Dict[str, Any]:
    """For tests that change the value of a fixture that other tests get too."""
    target = Test.read(request.rootdir, request.target)
    file = File(target.path, _folders(request, target.path))
    shared = set(file.arguments(target.names))
    for culprit in request.culprits:
        test = Test.read(request.rootdir, culprit)
        theirs = File(test.path, _folders(request, test.path))
        shared &= set(theirs.arguments(test.names))
    home = os.path.dirname(target.path)
    candidates = [file]
    while os.path.commonpath([home, request.rootdir]) == request.rootdir:
        path = os.path.join(home, "conftest.py")
        if os.path.exists(path):
            candidates.append(File(path, _folders(request, path)))
        home = os.path.dirname(home)
    changed = []
    names: List[str] = []
    for candidate in candidates:
        found = candidate.narrow_fixtures(shared)
        names += found
        changed += [candidate] if found else []
    if not names:
        raise Cannot("they share no fixture of a wide scope")
    title = "each test gets its own " + " and ".join(f"`{name}`" for name in names)
    why = "fixtures of a wider scope hand one value to many tests; slower if it is dear to make"
    return _patch(request, changed, "narrow-fixture", title, why, True)


def _set_before_target(request: Request) -> Dict[str, Any]:
    test = Test.read(request.rootdir, request.target)
    file = File(test.path, _folders(request, test.path))
    for state in _state(request):
        value = state.after if request.is_brittle else state.before
        found = list(places.give(state, value, file.name_of, file.folders))
        if not found:
            raise Cannot(f"the value of `{state.where}` cannot be written down")
        lines = found[0]._replace(name="given_" + found[0].name)
        sentence = f"Sets {_quoted(state.where)}, which the test relies on."
        file.add_fixture(Fixture(lines, sentence), [test.names])
    where = ", ".join(f"`{state.where}`" for state in _state(request))
    title = f"the test gets its own {where}"
    why = "it no longer depends on what ran before it; tests like it still do"
    return _patch(request, [file], "set-before-target", title, why, request.is_brittle)


def _as_the_helper_does(request: Request, helper: str) -> Dict[str, Any]:
    test = Test.read(request.rootdir, request.target)
    source = Test.read(request.rootdir, helper)
    file = File(test.path, _folders(request, test.path))
    theirs = File(source.path, _folders(request, source.path))
    function = theirs.find(source.names)
    if not isinstance(function, ast.FunctionDef):
        raise NotFound(helper)
    statements = [node for node in function.body if not isinstance(node, ast.Assert)]
    statements = [node for node in statements if not _is_idle(node)]
    n_all = len(statements)
    if request.kept is not None:
        statements = [statements[n] for n in request.kept]
    if not statements:
        raise Cannot(f"`{helper}` does nothing that could be done before the test")
    is_near = source.path == test.path
    arguments = _arguments(function, statements, None if is_near else theirs)
    imports = [] if is_near else _imports(statements, theirs, source)
    body = [line for node in statements for line in _dedented(theirs, node)]
    name = "as_after_" + source.names[-1]
    lines = Lines(name, imports + body, [], False)
    sentence = f"Does what `{source.names[-1]}` does, which the test relies on."
    file.add_fixture(Fixture(lines, sentence, arguments=arguments), [test.names])
    role = "state-setter" if request.is_brittle else "cleaner"
    title = f"the test does first what its {role} `{helper}` does"
    why = f"statements of the {role} are repeated; tests like it stay as they are"
    patch = _patch(request, [file], "as-helper", title, why, False)
    return dict(patch, n_statements=n_all, helper=helper)


def _is_idle(node: Any) -> bool:
    return isinstance(node, (ast.Pass, ast.Return)) or (
        isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    )


def _names(statements: Sequence[Any]) -> List[str]:
    nodes = [node for statement in statements for node in ast.walk(statement)]
    return [node.id for node in nodes if isinstance(node, ast.Name)]


def _arguments(function: Any, statements: Sequence[Any], file: Optional[File]) -> List[str]:
    """The fixtures that the statements need; fixtures defined in another file cannot be used."""
    used = set(_names(statements))
    arguments = [argument.arg for argument in function.args.args if argument.arg in used]
    if "self" in arguments or "cls" in arguments:
        raise Cannot(f"`{function.name}` works on its own object")
    local = [name for name in arguments if file is not None and file.has_top_level(name)]
    if local:
        raise Cannot(f"`{function.name}` needs the fixture `{local[0]}` of its own file")
    return arguments


def _imports(statements: Sequence[Any], file: File, test: Test) -> List[str]:
    """The imports that the statements need from the file they come from."""
    needed = []
    for name in dict.fromkeys(_names(statements)):
        if hasattr(builtins, name):
            continue
        statement = file.import_of(name)
        if statement is None and file.has_top_level(name):
            statement = f"from {_module_name(test.path)} import {name}"
        if statement is not None:
            if statement.startswith("from ."):
                raise Cannot(f"`{name}` is imported relative to {os.path.basename(test.path)}")
            needed.append(statement)
    return needed


def _module_name(path: str) -> str:
    """The name under which pytest imports a test file."""
    folder, file = os.path.split(path)
    names = [file[: -len(".py")]]
    while os.path.exists(os.path.join(folder, "__init__.py")):
        folder, name = os.path.split(folder)
        names.insert(0, name)
    return ".".join(names)


def _dedented(file: File, node: Any) -> List[str]:
    text = textwrap.dedent(file.segment(node))
    return [line.replace("\t", "    ") for line in text.splitlines()]


def _quoted(where: str) -> str:
    return "`" + where.replace("\\", "\\\\").replace('"', '\\"') + "`"


def _folders(request: Request, path: str) -> List[str]:
    """The search path for modules of the project; nothing is imported."""
    folder = os.path.dirname(path)
    own = [folder]
    while os.path.exists(os.path.join(folder, "__init__.py")):
        folder = os.path.dirname(folder)
        own.append(folder)
    rest = [request.rootdir, os.path.join(request.rootdir, "src"), os.getcwd()]
    return list(dict.fromkeys([*own, *rest, *(entry for entry in sys.path if entry)]))


def _patch(
    request: Request, files: Sequence[File], how: str, title: str, why: str, is_safe: bool
) -> Dict[str, Any]:
    changed = []
    diff = ""
    for file in files:
        text = file.text()
        ast.parse(text)
        changed.append({"path": file.path, "old": file.old, "new": text, "encoding": file.encoding})
        diff += _diff(os.path.relpath(file.path, request.top), file.old, text)
    return dict(how=how, title=title, why=why, is_safe=is_safe, files=changed, diff=diff)


def _diff(name: str, old: str, new: str) -> str:
    """A diff in the format of `git diff`."""
    name = name.replace(os.sep, "/")
    lines = list(
        difflib.unified_diff(
            old.splitlines(keepends=True),
            new.splitlines(keepends=True),
            f"a/{name}",
            f"b/{name}",
        )
    )
    text = "".join(
        line if line.endswith("\n") else line + "\n\\ No newline at end of file\n" for line in lines
    )
    return f"diff --git a/{name} b/{name}\n{text}" if text else ""
