"""How can the project's own runner run without us, and still leave the work tree as it was?

It is started in a mount namespace in which the tree and HOME are overlays, and nothing of ours is
in its process. Where the system refuses, it runs without, unless it is to see files otherwise than
they are: to write these into the tree itself is out of the question. We stay as its parent: a test
that kills its parent would end the engine otherwise.
"""

import os
import resource
import signal
from typing import List

from . import isolate, linux

CANNOT_START = 126
NOT_COVERED = 125


def main() -> int:
    """Waits for the path of a file with words in it, zero bytes between, which say what to run: the
    root folder, a folder for us, a list of files to be seen otherwise or "-", the changes to the
    environment (how many, and for each its name, "=" or nothing, and its value) and a command."""
    path = b"".join(iter(lambda: os.read(0, 4096), b""))
    if not path:
        # Nobody needs us.
        return 0
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    with open(path, "rb") as file:
        rootdir, scratch, changed, n, *words = map(os.fsdecode, file.read().split(b"\0"))
    n_env = 3 * int(n)
    for name, is_set, value in zip(words[:n_env:3], words[1:n_env:3], words[2:n_env:3]):
        if is_set:
            os.environ[name] = value
        else:
            os.environ.pop(name, None)
    return _run(rootdir, scratch, changed, words[n_env:])


def _run(rootdir: str, scratch: str, changed: str, command: List[str]) -> int:
    """Ends as the command ends."""
    where = isolate.ground(rootdir)
    # The report of the runner lies beside the scratch folder, and must be seen from outside.
    results = os.path.dirname(os.path.realpath(scratch))
    levels = [
        level
        for level, folder in (("tree", where.tree), ("home", where.home))
        if folder and not isolate.is_inside(results, folder)
    ]
    done = isolate.isolate(levels, where, scratch)
    if changed != "-":
        if "tree" not in done.applied:
            return NOT_COVERED
        _show(changed, where.tree)
    if done.as_user:
        linux.drop_capabilities()
    _die_with_parent()
    pid = os.fork()
    if pid == 0:
        try:
            _die_with_parent()
            os.execvp(command[0], command)
        finally:
            os._exit(CANNOT_START)
    _, status = os.waitpid(pid, 0)
    if os.WIFEXITED(status):
        return os.WEXITSTATUS(status)
    return _end_by(os.WTERMSIG(status))


def _show(changed: str, tree: str) -> None:
    import shutil

    with open(changed, "rb") as file:
        names = file.read().split(b"\0")
    for path, contents in zip(names[::2], names[1::2]):
        if not isolate.is_inside(os.path.realpath(os.fsdecode(path)), tree):
            raise ValueError(f"`{os.fsdecode(path)}` is not in the work tree")
        shutil.copyfile(contents, path)


def _die_with_parent() -> None:
    # If the engine is killed, nobody waits for the runner any more.
    try:
        linux.die_with_parent(signal.SIGKILL)
    except OSError:
        pass


def _end_by(number: int) -> int:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if number not in (signal.SIGKILL, signal.SIGSTOP):
        signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
    return CANNOT_START
