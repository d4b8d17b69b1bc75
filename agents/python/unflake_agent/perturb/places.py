"""Another time zone, locale, umask or terminal: what can be set for a plain runner as well."""

import locale as _locale
import os
import sys
import time
from typing import Any, Dict

from .draw import Draw, Refusal

_ZONES = [
    # Each with a form for C libraries without a time zone database.
    ("Pacific/Kiritimati", "<+14>-14"),
    ("Pacific/Pago_Pago", "<-11>11"),
    ("Asia/Kathmandu", "<+0545>-5:45"),
    ("Asia/Tokyo", "JST-9"),
    ("America/New_York", "EST5EDT,M3.2.0,M11.1.0"),
    ("Europe/Berlin", "CET-1CEST,M3.5.0,M10.5.0/3"),
    ("Australia/Lord_Howe", "<+1030>-10:30<+11>-11,M10.1.0,M4.1.0"),
]
_DATABASE = "/usr/share/zoneinfo"
_LOCALES = ["C", "tr_TR.UTF-8", "de_DE.UTF-8", "de_DE.ISO-8859-1", "ja_JP.eucJP", "fr_FR"]
_UMASKS = [0o077, 0o027, 0o002, 0o000]
_COLUMNS = [20, 40, 60, 132, 300]


def time_zone(draw: Draw, _: Any) -> Dict[str, Any]:
    """Local time is that of another place."""
    if not hasattr(time, "tzset"):
        raise Refusal("this system has no tzset")
    now = time.time()
    here = time.localtime(now).tm_gmtoff
    for name, rule in draw.shuffled(_ZONES):
        zone = name if os.path.exists(f"{_DATABASE}/{name}") else rule
        os.environ["TZ"] = zone
        time.tzset()
        if time.localtime(now).tm_gmtoff != here:
            return {"how": f"TZ={zone}", "env": {"TZ": zone}}
    raise Refusal("every zone tried has the same time as here")


def locale(draw: Draw, _: Any) -> Dict[str, Any]:
    """The environment and C functions use another language."""
    before = _locale.setlocale(_locale.LC_ALL)
    for name in draw.shuffled(_LOCALES):
        if name == "C" and (before == "C" or sys.flags.utf8_mode):
            continue
        try:
            _locale.setlocale(_locale.LC_ALL, name)
        except _locale.Error:
            continue
        env = {"LC_ALL": name}
        if name == "C":
            # Otherwise an interpreter started in this locale replaces it.
            env.update(PYTHONCOERCECLOCALE="0", PYTHONUTF8="0")
        os.environ.update(env)
        return {"how": f"LC_ALL={name}", "env": env}
    raise Refusal("no other locale is installed here")


def umask(draw: Draw, _: Any) -> Dict[str, Any]:
    """New files have other permissions."""
    now = os.umask(0o077)
    mask = draw.one([mask for mask in _UMASKS if mask != now])
    os.umask(mask)
    return {"how": f"umask {mask:03o}", "before": f"umask {mask:03o}"}


def columns(draw: Draw, _: Any) -> Dict[str, Any]:
    """The terminal has another width."""
    width = str(draw.one([n for n in _COLUMNS if str(n) != os.environ.get("COLUMNS")]))
    os.environ["COLUMNS"] = width
    return {"how": f"COLUMNS={width}", "env": {"COLUMNS": width}}
