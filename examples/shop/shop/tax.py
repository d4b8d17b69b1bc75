"""Value added tax."""

from shop.config import SETTINGS


def with_tax(net):
    """The price with tax."""
    return net * (1 + SETTINGS["tax"])


def tax_of(net):
    """The tax alone."""
    return net * SETTINGS["tax"]
