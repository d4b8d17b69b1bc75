"""Which plugins and options of the project must be switched off?

We choose the order, the number of attempts and the process; so anything else that reorders,
repeats, retries or distributes tests must be off. And the work tree must stay the same, so anything
that writes a report into it must be off as well.

Plugins are not blocked (``-p no:x``): options in the project's ``addopts`` would then be unknown
and pytest would refuse to start; marks would be unknown under ``--strict-markers``; and fixtures
such as xdist's ``worker_id`` would be missing. Instead the command line is read with all plugins
present. Then options are set to *off*, and plugins without such an option are removed before any of
their other hooks is called, with their marks declared in their stead.
"""

import os
from typing import Any, Dict, List, Tuple

_TAKEN_OUT: Dict[str, Tuple[str, Tuple[str, ...]]] = {
    # The first part of the plugin's module, its name for `-p no:`, and the marks it declares.
    "pytest_randomly": ("randomly", ()),
    "random_order": ("random_order", ("random_order",)),
    "pytest_rerunfailures": ("rerunfailures", ("flaky",)),
    "flaky": ("flaky", ("flaky",)),
    "pytest_retry": ("pytest-retry", ("flaky",)),
    "pytest_flakefinder": ("flakefinder", ()),
    "pytest_repeat": ("repeat", ("repeat",)),
    "pytest_unflakable": ("unflakable", ()),
    "pytest_quarantine": ("quarantine", ()),
    "pytest_testmon": ("testmon", ()),
    "pytest_bisect_tests": ("bisect_tests", ()),
    "find_dependencies": ("find_dependencies", ()),
}

_OFF: Dict[str, Dict[str, Any]] = {
    "xdist": {"numprocesses": None, "dist": "no", "distload": False, "tx": [], "looponfail": False},
    "cov": {"no_cov": True},
    # pytest's own: stopping early, waiting for a debugger, selecting by earlier results.
    "": {
        "maxfail": 0,
        "usepdb": False,
        "trace": False,
        "stepwise": False,
        "stepwise_skip": False,
        "lf": False,
        "failedfirst": False,
        "collectonly": False,
        "report_log": None,
        "resultlog": None,
        "allure_report_dir": None,
        "log_file": os.devnull,
    },
}


def before_conftests(early_config: Any) -> None:
    """pytest-cov starts measuring before other plugins are called."""
    options = early_config.known_args_namespace
    if hasattr(options, "no_cov"):
        options.no_cov = True


def stand_back(config: Any) -> List[str]:
    """Switches plugins off after the command line was read; returns which were affected."""
    concerned = _take_out(config)
    if config.pluginmanager.hasplugin("_cov"):
        # It is not measuring, and fails at its own marks if it does not.
        config.pluginmanager.unregister(name="_cov")
    for plugin, options in _OFF.items():
        changed = [_set(config.option, name, value) for name, value in options.items()]
        if plugin and any(changed):
            concerned.append(plugin)
    return sorted(set(concerned))


def _take_out(config: Any) -> List[str]:
    manager = config.pluginmanager
    concerned = []
    for plugin in list(manager.get_plugins()):
        module = getattr(plugin, "__name__", None) or type(plugin).__module__
        name, marks = _TAKEN_OUT.get(module.split(".")[0], ("", ()))
        if name:
            manager.unregister(plugin)
            concerned.append(name)
            for mark in marks:
                config.addinivalue_line("markers", mark + ": of a plugin that stands back")
    return concerned


def _set(options: Any, name: str, value: Any) -> bool:
    """Whether that option exists and had another value."""
    if not hasattr(options, name):
        return False
    before = getattr(options, name)
    setattr(options, name, value)
    return bool(before) and before != value
