"""Turning a cart into an order."""

from shop import config
from shop.money import show


def receipt(cart, currency=None):
    """The receipt, in the shop's currency or another."""
    if currency is not None:
        config.SETTINGS["currency"] = currency
    lines = [f"{count} x {article}" for article, _, count in cart.lines]
    return "\n".join([*lines, f"total: {show(cart.total())}"])
