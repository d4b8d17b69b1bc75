"""How does our code get into the process without leaving traces?

Started by path: ``python <here>/__main__.py SOCKET TOKEN pytest|unittest|auto -- ARGUMENTS``. (Or
as ``shelter [FOLDER START...]``, which runs a command without us, or as ``mend REQUEST ANSWER``,
which proposes changes of test files; see there.) The tested program must find the interpreter as
``python -m pytest ARGUMENTS`` would have left it:

* ``sys.path[0]`` is the working directory, not our folder (unless ``-P`` asked for neither);
* our modules are loaded under a private name and taken out of ``sys.modules`` as soon as they are
  loaded, so that they can be neither imported nor found by what walks through it;
* nothing is put into the environment.

``start`` does the rest (``sys.argv``, ``__main__``). Without a socket to connect to, nothing is
loaded or changed: we only print a sentence and exit with status 97.
"""

from __future__ import annotations

import importlib
import os
import stat
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, List

PRIVATE = "_unflake_agent"
NO_ENGINE = 97
USAGE = "usage: __main__.py SOCKET TOKEN pytest|unittest|auto -- ARGUMENTS\n"


def loader(folder: str) -> Callable[[str], Any]:
    """A function that loads one of our modules, and keeps all of them out of ``sys.modules``."""
    # Made by hand, because `importlib.util` loads much that a shelter does not need.
    package = type(sys)(PRIVATE)
    package.__path__ = [folder]
    ours = {PRIVATE: package}
    # A folder that is kept has room for bytecode, and nothing redirects that elsewhere.
    keeps = os.path.isdir(os.path.join(folder, "__pycache__")) and sys.pycache_prefix is None
    first = os.getpid()

    def bring(name: str) -> Any:
        # Bytecode written in a cell stays in it, and would look like something that a test left
        # behind.
        may_write = keeps and os.getpid() == first
        writes_bytecode, sys.dont_write_bytecode = sys.dont_write_bytecode, not may_write
        sys.modules.update(ours)
        try:
            return importlib.import_module(f"{PRIVATE}.{name}")
        finally:
            sys.dont_write_bytecode = writes_bytecode
            for key in [k for k in sys.modules if k.split(".")[0] == PRIVATE]:
                ours[key] = sys.modules.pop(key)

    return bring


def is_socket(path: str) -> bool:
    """Whether somebody may be listening at this path."""
    try:
        return stat.S_ISSOCK(os.stat(path).st_mode)
    except OSError:
        return False


def main(argv: List[str]) -> int:
    """Checks the command line, clears our traces, and hands over."""
    folder = os.path.dirname(os.path.abspath(__file__))
    if argv[1:2] == ["shelter"]:
        # Somebody waits for the end of this process, and an orderly one takes milliseconds.
        os._exit(loader(folder)("shelter").main(argv[2:]))
    if len(argv) == 4 and argv[1] == "mend":
        loader(folder)("mend").main(argv[2], argv[3])
        return 0
    if len(argv) < 5 or argv[3] not in ("pytest", "unittest", "auto") or argv[4] != "--":
        sys.stderr.write("unflake agent: not called by the engine\n" + USAGE)
        return NO_ENGINE
    if not is_socket(argv[1]):
        sys.stderr.write(f"unflake agent: no engine listens on `{argv[1]}`\n")
        return NO_ENGINE
    if not getattr(sys.flags, "safe_path", False) and not sys.flags.isolated:
        sys.path[0] = os.getcwd()
    bring = loader(folder)
    status = bring("start").main(argv[1:4], argv[5:], bring)
    return int(status)


if __name__ == "__main__":
    sys.exit(main(sys.argv))
