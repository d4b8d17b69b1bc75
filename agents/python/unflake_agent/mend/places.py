"""How is a state kept, or set, by a pytest fixture?

A state is named as the watchers name it: ``shop.config.SETTINGS['currency']``. If this is an
expression, Python's own parser takes it apart; which part of it is a module is determined from the
existing files, without importing any.
"""

import ast
import os
import sys
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple

NameOf = Callable[[str], str]
"""The expression for a module in the file that is written to; notes that it is needed."""


_NAMED = ("global", "class-attribute")
"""Kinds of state whose name is an expression that can be assigned to."""

_LINE_MAX = 84
"""Longer lines, without their indentation, are written as two."""


class Lines(NamedTuple):
    """The body of a fixture."""

    name: str
    """A word for what it is about."""
    before: List[str]
    after: List[str]
    uses_monkeypatch: bool
    within: str = ""
    """A statement that the test runs inside of."""


class State(NamedTuple):
    """A place that a test leaves changed."""

    where: str
    kind: str
    before: Optional[str]
    after: Optional[str]


class Path(NamedTuple):
    """An expression, taken apart."""

    module: str
    steps: List[Tuple[str, str]]
    """``("attr", name)`` or ``("item", key)``, the key as it is written."""


def take_apart(where: str, folders: Sequence[str]) -> Optional[Path]:
    """The module and the steps from there; None if it is not such an expression."""
    try:
        node: Any = ast.parse(where, mode="eval").body
    except SyntaxError:
        return None
    steps: List[Tuple[str, str]] = []
    while not isinstance(node, ast.Name):
        if isinstance(node, ast.Attribute):
            steps.append(("attr", node.attr))
        elif isinstance(node, ast.Subscript):
            key = ast.get_source_segment(where, _index(node))
            steps.append(("item", key or ""))
        else:
            return None
        node = node.value
    steps.append(("attr", node.id))
    steps.reverse()
    names = [name for kind, name in _leading_names(steps)]
    for n in range(len(names), 0, -1):
        if is_module(names[:n], folders):
            return Path(".".join(names[:n]), steps[n:]) if steps[n:] else None
    return None


def _index(node: Any) -> Any:
    # Python 3.8 wraps it.
    return getattr(node.slice, "value", node.slice) if _is_wrapped(node.slice) else node.slice


def _is_wrapped(index: Any) -> bool:
    return type(index).__name__ == "Index"


def _leading_names(steps: Sequence[Tuple[str, str]]) -> Iterator[Tuple[str, str]]:
    for step in steps:
        if step[0] != "attr":
            return
        yield step


def is_module(names: Sequence[str], folders: Sequence[str]) -> bool:
    """Whether there is a module of this name, as far as files tell."""
    if len(names) == 1 and names[0] in sys.builtin_module_names:
        return True
    return any(_file_of(names, folder) is not None for folder in folders)


def file_of(module: str, folders: Sequence[str]) -> Optional[str]:
    """The file of a module, if it has one in these folders."""
    found = (_file_of(module.split("."), folder) for folder in folders)
    return next((path for path in found if path), None)


def _file_of(names: Sequence[str], folder: str) -> Optional[str]:
    place = os.path.join(folder, *names)
    for path in (os.path.join(place, "__init__.py"), place + ".py"):
        if os.path.isfile(path):
            return path
    return "" if os.path.isdir(place) else None


def keep(state: State, name_of: NameOf, folders: Sequence[str]) -> Iterator[Lines]:
    """Ways to restore the state after a test, simplest first."""
    special = _KEEP.get(state.kind)
    if special is not None:
        yield from special(state, name_of, folders)
        return
    if state.kind in _NAMED:
        path = take_apart(state.where, folders)
        if path is not None:
            yield from _keep_by_monkeypatch(state, path, name_of)
            yield from _keep_in_place(state, path, name_of)


def _walk(path: Path, name_of: NameOf, n_steps: int) -> str:
    text = name_of(path.module)
    for kind, name in path.steps[:n_steps]:
        text += f".{name}" if kind == "attr" else f"[{name}]"
    return text


def _keep_by_monkeypatch(state: State, path: Path, name_of: NameOf) -> Iterator[Lines]:
    step = path.steps[-1]
    if step[0] == "item" and _is_number(step[1]):
        return
    copy = name_of("copy") if step[0] == "attr" and _container(state.before or "") else ""
    owner = _walk(path, name_of, len(path.steps) - 1)
    lines = _patched(owner, step, state.before is None, copy)
    if _LINE_MAX < max(map(len, lines)):
        lines = [f"owner = {owner}", *_patched("owner", step, state.before is None, copy)]
    yield Lines(_word(path), lines, [], True)


def _patched(owner: str, step: Tuple[str, str], is_new: bool, copy: str) -> List[str]:
    """Makes monkeypatch remember a part of an object, in a copy if ``copy`` names the module."""
    kind, name = step
    if kind == "item":
        if is_new:
            first = f"monkeypatch.setitem({owner}, {name}, None)"
            return [first, f"monkeypatch.delitem({owner}, {name})"]
        return [f"monkeypatch.setitem({owner}, {name}, {owner}[{name}])"]
    if is_new:
        first = f'monkeypatch.setattr({owner}, "{name}", None, raising=False)'
        return [first, f'monkeypatch.delattr({owner}, "{name}")']
    value = f"{copy}.copy({owner}.{name})" if copy else f"{owner}.{name}"
    return [f'monkeypatch.setattr({owner}, "{name}", {value})']


def _keep_in_place(state: State, path: Path, name_of: NameOf) -> Iterator[Lines]:
    """For objects that others refer to by another name: the object itself is restored."""
    whole = _walk(path, name_of, 1)
    if len(path.steps) == 1:
        container = _container(state.before or "")
    elif path.steps[1][0] == "attr":
        container = "object"
    else:
        container = "list" if _is_number(path.steps[1][1]) else "dict"
    deep = f"{name_of('copy')}.deepcopy" if container else ""
    restored = {
        "list": [f"{whole}[:] = saved"],
        "dict": [f"{whole}.clear()", f"{whole}.update(saved)"],
        "object": [f"vars({whole}).clear()", f"vars({whole}).update(saved)"],
    }
    if container:
        saved = f"vars({whole})" if container == "object" else whole
        word = _word(Path(path.module, path.steps[:1]))
        yield Lines(word, [f"saved = {deep}({saved})"], restored[container], False)


def _container(text: str) -> str:
    """The kind of container that a text shows, if any."""
    return {"[": "list", "{": "dict"}.get(text[:1], "")


def _is_number(key: str) -> bool:
    return key.lstrip("-").isdigit()


def _word(path: Path) -> str:
    names = [name for kind, name in path.steps if kind == "attr"]
    keys = [key[1:-1] for kind, key in path.steps[-1:] if kind == "item"]
    word = keys[0] if keys and keys[0].isidentifier() else names[-1]
    return word.strip("_").lower() or "state"


def _environment(state: State, name_of: NameOf, folders: Sequence[str]) -> Iterator[Lines]:
    del folders
    key = state.where[len("os.environ[") : -1]
    word = key.strip("'\"").lower()
    word = word if word.isidentifier() else "environment"
    if state.before is None:
        lines = [f'monkeypatch.setenv({key}, "")', f"monkeypatch.delenv({key})"]
    else:
        lines = [f"monkeypatch.setenv({key}, {name_of('os')}.environ[{key}])"]
    yield Lines(word, lines, [], True)


def _working_folder(state: State, name_of: NameOf, folders: Sequence[str]) -> Iterator[Lines]:
    del state, folders
    yield Lines("cwd", [f"monkeypatch.chdir({name_of('os')}.getcwd())"], [], True)


def _umask(state: State, name_of: NameOf, folders: Sequence[str]) -> Iterator[Lines]:
    del state, folders
    mask = f"{name_of('os')}.umask"
    yield Lines("umask", [f"saved = {mask}(0)", f"{mask}(saved)"], [f"{mask}(saved)"], False)


def _log(state: State, name_of: NameOf, folders: Sequence[str]) -> Iterator[Lines]:
    del folders
    logger, _, attribute = state.where.rpartition(".")
    logger = logger.replace("logging", name_of("logging"), 1)
    if attribute == "level":
        after = [f"{logger}.setLevel(saved)"]
        yield Lines("level", [f"saved = {logger}.level"], after, False)
    elif attribute in ("handlers", "filters"):
        after = [f"{logger}.{attribute}[:] = saved"]
        yield Lines(attribute, [f"saved = {logger}.{attribute}[:]"], after, False)
    elif attribute.isidentifier() and logger.endswith(")"):
        line = f'monkeypatch.setattr({logger}, "{attribute}", {logger}.{attribute})'
        yield Lines(attribute, [line], [], True)


def _warnings(state: State, name_of: NameOf, folders: Sequence[str]) -> Iterator[Lines]:
    del state, folders
    within = f"with {name_of('warnings')}.catch_warnings():"
    yield Lines("warnings", [], [], False, within)


def _random(state: State, name_of: NameOf, folders: Sequence[str]) -> Iterator[Lines]:
    del folders
    if state.where == "random.getstate()":
        module = name_of("random")
        after = [f"{module}.setstate(saved)"]
        yield Lines("random", [f"saved = {module}.getstate()"], after, False)


def _list_of_sys(state: State, name_of: NameOf, folders: Sequence[str]) -> Iterator[Lines]:
    del folders
    name = state.where.split(".")[-1]
    if state.where.startswith("sys.") and name.isidentifier():
        whole = f"{name_of('sys')}.{name}"
        yield Lines(name, [f"saved = {whole}[:]"], [f"{whole}[:] = saved"], False)


def _modules(state: State, name_of: NameOf, folders: Sequence[str]) -> Iterator[Lines]:
    del folders
    key = state.where[len("sys.modules[") : -1]
    modules = f"{name_of('sys')}.modules"
    after = [f"{modules}.pop({key}, None)"]
    if state.before is None:
        yield Lines("modules", [], after, False)
    else:
        yield Lines(
            "modules", [f"monkeypatch.setitem({modules}, {key}, {modules}[{key}])"], [], True
        )


def _locale(state: State, name_of: NameOf, folders: Sequence[str]) -> Iterator[Lines]:
    del folders
    category = state.where[len("locale.setlocale(locale.") : -1]
    if category.isidentifier():
        module = name_of("locale")
        call = f"{module}.setlocale({module}.{category}"
        yield Lines("locale", [f"saved = {call})"], [f"{call}, saved)"], False)


def _time_zone(state: State, name_of: NameOf, folders: Sequence[str]) -> Iterator[Lines]:
    del state, folders
    environ, time = f"{name_of('os')}.environ", name_of("time")
    after = [f'{environ}.pop("TZ", None)', "if saved is not None:"]
    after += [f'    {environ}["TZ"] = saved', f"{time}.tzset()"]
    yield Lines("timezone", [f'saved = {environ}.get("TZ")'], after, False)


def _signal(state: State, name_of: NameOf, folders: Sequence[str]) -> Iterator[Lines]:
    del folders
    number = state.where[len("signal.getsignal(signal.") : -1]
    if number.isidentifier():
        module = name_of("signal")
        after = [f"{module}.signal({module}.{number}, saved)"]
        yield Lines("signal", [f"saved = {module}.getsignal({module}.{number})"], after, False)


def _cache(state: State, name_of: NameOf, folders: Sequence[str]) -> Iterator[Lines]:
    path = take_apart(state.where.rsplit(".cache_info()", 1)[0], folders)
    if path is not None:
        clear = _walk(path, name_of, len(path.steps)) + ".cache_clear()"
        yield Lines(_word(path) + "_cache", [], [clear], False)


def _default_argument(state: State, name_of: NameOf, folders: Sequence[str]) -> Iterator[Lines]:
    path = take_apart(state.where.split("() default argument ")[0], folders)
    if path is not None:
        function = _walk(path, name_of, len(path.steps))
        copied = f"{name_of('copy')}.deepcopy({function}.__defaults__)"
        line = f'monkeypatch.setattr({function}, "__defaults__", {copied})'
        yield Lines(_word(path) + "_defaults", [line], [], True)


def _mock(state: State, name_of: NameOf, folders: Sequence[str]) -> Iterator[Lines]:
    del state, folders
    yield Lines("patches", [], [f"{name_of('unittest.mock')}.patch.stopall()"], False)


def _file(state: State, name_of: NameOf, folders: Sequence[str]) -> Iterator[Lines]:
    del folders
    if os.path.isabs(state.where) or state.where.startswith(("~", "$")):
        return
    before = [f"path = {name_of('pathlib')}.Path({json_like(state.where)})"]
    before.append("saved = path.read_bytes() if path.exists() else None")
    after = ["if saved is not None:", "    path.write_bytes(saved)"]
    after += ["elif path.exists():", "    path.unlink()"]
    yield Lines("file", before, after, False)


def json_like(text: str) -> str:
    """A string literal with double quotes."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _recursion(state: State, name_of: NameOf, folders: Sequence[str]) -> Iterator[Lines]:
    del folders
    if state.where == "sys.getrecursionlimit()":
        module = name_of("sys")
        after = [f"{module}.setrecursionlimit(saved)"]
        yield Lines("recursion", [f"saved = {module}.getrecursionlimit()"], after, False)


_Keep = Callable[[State, NameOf, Sequence[str]], Iterator[Lines]]
_KEEP: Dict[str, _Keep] = {
    "environment": _environment,
    "cwd": _working_folder,
    "umask": _umask,
    "logging": _log,
    "warnings": _warnings,
    "random": _random,
    "path": _list_of_sys,
    "modules": _modules,
    "locale": _locale,
    "timezone": _time_zone,
    "signal": _signal,
    "cache": _cache,
    "default-argument": _default_argument,
    "mock": _mock,
    "file": _file,
    "interpreter": _recursion,
}


def give(
    state: State, value: Optional[str], name_of: NameOf, folders: Sequence[str]
) -> Iterator[Lines]:
    """Ways to set this value before a test, and to restore the old one afterwards."""
    if state.kind == "environment":
        key = state.where[len("os.environ[") : -1]
        line = f"monkeypatch.delenv({key}, raising=False)"
        if value is not None and _is_literal(value):
            line = f"monkeypatch.setenv({key}, {value})"
        yield Lines("environment", [line], [], True)
        return
    if state.kind == "cache":
        for lines in _cache(state, name_of, folders):
            yield lines._replace(before=lines.after, after=[])
        return
    path = take_apart(state.where, folders)
    if state.kind not in _NAMED or path is None:
        return
    if value is not None and not _is_literal(value):
        return
    owner = _walk(path, name_of, len(path.steps) - 1)
    kind, name = path.steps[-1]
    if kind == "item" and _is_number(name):
        return
    action, target = ("item", name) if kind == "item" else ("attr", f'"{name}"')
    if value is None:
        line = f"monkeypatch.del{action}({owner}, {target}, raising=False)"
    else:
        is_new = kind == "attr" and state.before is None
        extra = ", raising=False" if is_new else ""
        line = f"monkeypatch.set{action}({owner}, {target}, {value}{extra})"
    yield Lines(_word(path), [line], [], True)


def _is_literal(text: str) -> bool:
    try:
        ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return False
    return True
