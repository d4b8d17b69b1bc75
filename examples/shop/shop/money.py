"""Amounts, and how they are shown."""

from shop.config import SETTINGS

SYMBOLS = {"EUR": "€", "USD": "$", "GBP": "£"}


def show(amount):
    """An amount for people."""
    return f"{amount:.2f} {SYMBOLS[SETTINGS['currency']]}"


def rounded(amount):
    """An amount as it is charged."""
    return round(amount, 2) if SETTINGS["rounding"] == "cents" else amount


def parse(text):
    """An amount as people type it."""
    return float(text.strip().rstrip("€$£ ").replace(",", "."))
