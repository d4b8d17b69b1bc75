import pytest

from shop import config, money


def test_price_is_shown_in_euro():
    assert money.show(12.5) == "12.50 €"


@pytest.mark.parametrize("text, amount", [("12,50 €", 12.5), (" 3.99$", 3.99), ("7", 7.0)])
def test_amounts_can_be_typed(text, amount):
    assert money.parse(text) == amount


def test_rounding_can_be_exact():
    config.SETTINGS["rounding"] = "exact"
    assert money.rounded(1.005) == 1.005


def test_every_currency_has_a_symbol():
    assert all(len(symbol) == 1 for symbol in money.SYMBOLS.values())
