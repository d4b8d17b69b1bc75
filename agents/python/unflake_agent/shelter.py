"""How can the project's own runner run without us, and still leave the work tree as it was?

It is started in a mount namespace in which the tree and HOME are overlays, and then takes our place
(``exec``): nothing of ours is left in its process. Where the system refuses, it runs without.
"""

import os
from typing import List

from . import isolate, linux


def main(rootdir: str, scratch: str, command: List[str]) -> int:
    """Never returns, unless the command cannot be started."""
    where = isolate.ground(rootdir)
    # The report of the runner lies beside the scratch folder, and must be seen from outside.
    results = os.path.dirname(os.path.realpath(scratch))
    levels = [
        level
        for level, folder in (("tree", where.tree), ("home", where.home))
        if folder and not isolate.is_inside(results, folder)
    ]
    done = isolate.isolate(levels, where, scratch)
    if done.as_user:
        linux.drop_capabilities()
    os.execvp(command[0], command)
    return 1
