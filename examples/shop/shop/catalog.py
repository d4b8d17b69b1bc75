"""Books, loaded on first use by whoever remembers to."""

_BOOKS = {}


def load():
    """Reads the catalog."""
    if not _BOOKS:
        _BOOKS.update({"978-1": "Flaky Tests", "978-2": "Order and Chaos", "978-3": "Cleaning Up"})
    return len(_BOOKS)


def find(isbn):
    """The title of a book, or nothing."""
    return _BOOKS.get(isbn)


def is_isbn(text):
    """Whether a text looks like an ISBN."""
    return text.startswith("978-") and text[4:].isdigit()
