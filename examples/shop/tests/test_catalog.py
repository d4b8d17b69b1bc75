import pytest

from shop import catalog


def test_catalog_is_loaded_once():
    assert catalog.load() == catalog.load() == 3


def test_finds_a_book_by_isbn():
    assert catalog.find("978-2") == "Order and Chaos"


@pytest.mark.parametrize("text", ["978-1", "978-42"])
def test_an_isbn_starts_with_978(text):
    assert catalog.is_isbn(text)


def test_a_title_is_no_isbn():
    assert not catalog.is_isbn("Cleaning Up")
