"""A cleaner follows every polluter, in either direction: in no whole order does the victim fail."""

import pytest

from ledger import STATE


def test_resets_before():
    STATE["currency"] = "EUR"


def test_pollutes_the_currency():
    STATE["currency"] = "USD"
    assert STATE["currency"] == "USD"


def test_resets_behind():
    STATE["currency"] = "EUR"


@pytest.mark.parametrize("number", range(12))
def test_resets_often(number):
    STATE["currency"] = "EUR"
    assert number < 12


def test_victim_with_cleaners():
    assert STATE["currency"] == "EUR"
