"""How is logging set up?

Levels, handlers, filters and switches of all loggers. A logger's defaults are not recorded, so that
merely requesting a logger is not a change.
"""

import sys
from typing import Any, Dict, List, Optional, Tuple

from .change import Opaque, name_of
from .simple import Reading, Watcher

_DEFAULTS = (("level", 0), ("propagate", True), ("disabled", False))
_LISTS = ("handlers", "filters")


class Logging(Watcher):
    """All loggers, the root, and ``logging.disable``."""

    kind = "logging"

    def __init__(self) -> None:
        self._kept: Dict[str, Any] = {}
        super().__init__()

    def read(self) -> Reading:
        found: Reading = {}
        for name, state in _loggers():
            for attribute, default in _DEFAULTS:
                value = state.get(attribute, default)
                if value != default:
                    found[f"{name}.{attribute}"] = value
            for attribute in _LISTS:
                held = state.get(attribute)
                if held:
                    found[f"{name}.{attribute}"] = tuple(map(_labelled, held))
        manager = _manager()
        if manager:
            found["logging.root.manager.disable"] = manager.get("_disable", manager.get("disable"))
        return found

    def show(self, value: Any) -> str:
        if type(value) is tuple:
            return "[{}]".format(", ".join(text for _, _, text in value))
        return str(value)

    def _differences(self, before: Reading, after: Reading) -> List[Any]:
        changes = super()._differences(before, after)
        for change in changes:
            default = _default(change.where)
            change.before, change.after = change.before or default, change.after or default
        return changes

    def keep(self) -> None:
        for name, state in _loggers():
            for attribute, default in _DEFAULTS:
                self._kept[f"{name}.{attribute}"] = state.get(attribute, default)
            for attribute in _LISTS:
                self._kept[f"{name}.{attribute}"] = list(state.get(attribute) or ())
        self._kept["logging.root.manager.disable"] = _manager().get("_disable", 0)

    def put_back(self, name: str, value: Optional[Any]) -> None:
        attribute = name.rpartition(".")[2]
        if name == "logging.root.manager.disable":
            sys.modules["logging"].disable(self._kept[name])
            return
        state = dict(_loggers())[name[: -len(attribute) - 1]]
        if attribute in _LISTS:
            state[attribute][:] = self._kept.get(name, [])
        else:
            state[attribute] = self._kept.get(name, dict(_DEFAULTS)[attribute])
            _forget_levels()


def _default(where: str) -> str:
    attribute = where.rpartition(".")[2]
    return "[]" if attribute in _LISTS else str(dict(_DEFAULTS).get(attribute, 0))


def _labelled(value: Any) -> Tuple[int, Any, str]:
    opaque = Opaque(value)
    try:
        level = object.__getattribute__(value, "__dict__").get("level")
    except AttributeError:
        level = None
    level = level if type(level) is int else None
    text = opaque.text if not level else f"<{name_of(type(value))} from level {level}>"
    return id(value), level, text


def _manager() -> Dict[str, Any]:
    root = getattr(sys.modules.get("logging"), "root", None)
    return getattr(getattr(root, "manager", None), "__dict__", {})


def _loggers() -> List[Tuple[str, Dict[str, Any]]]:
    """The real attributes of all loggers, by the expression that returns each."""
    root = getattr(sys.modules.get("logging"), "root", None)
    if root is None:
        return []
    found = [("logging.getLogger()", root.__dict__)]
    for name, logger in list(_manager().get("loggerDict", {}).items()):
        state = object.__getattribute__(logger, "__dict__")
        # Placeholders for parents of loggers have no level.
        if "level" in state:
            found.append((f"logging.getLogger({name!r})", state))
    return found


def _forget_levels() -> None:
    """Clears the enabled levels that loggers have cached."""
    manager = getattr(sys.modules["logging"].root, "manager")
    manager._clear_cache()
