"""What the club keeps on disk."""

import os
import time


class TooSlow(Exception):
    pass


def save(path, text, within):
    """Replaces a file as a whole; whoever waits for it does not wait for ever."""
    begun = time.monotonic()
    draft = path.with_suffix(".draft")
    with open(draft, "w", encoding="utf-8") as file:
        file.write(text)
        os.fsync(file.fileno())
    os.replace(draft, path)
    if time.monotonic() - begun > within:
        raise TooSlow(f"{path.name} took longer than {within} s")


def open_all(paths):
    return [open(path, encoding="utf-8") for path in paths]


def remember(path, name):
    path.write_text(name)
