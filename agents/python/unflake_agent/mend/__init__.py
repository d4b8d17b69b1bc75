"""Which change of the test files would put right what one test does to another?

This is not part of any test process: the engine's side calls ``__main__.py mend`` with one JSON
object in a file, and gets proposals in another one, best first. Files are only read, and nothing of
the project is imported. Whether a proposal works is found out by the caller, who runs the tests
with it; so proposals may fail.

======== ==========================================================================================
places   from the name of a state to lines that keep it or set it
source   a test file, and how to add to it in its own style
patches  which fixtures to put where
======== ==========================================================================================
"""

import json

from .patches import propose


def main(request: str, answer: str) -> None:
    """Answers the request in one file in the other."""
    with open(request, "rb") as file:
        asked = json.loads(file.read().decode("utf-8"))
    with open(answer, "w", encoding="utf-8") as file:
        json.dump(propose(asked), file)
