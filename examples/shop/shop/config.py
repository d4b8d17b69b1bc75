"""Settings of the shop, shared by everything."""

DEFAULTS = {"currency": "EUR", "tax": 0.19, "rounding": "cents"}
SETTINGS = dict(DEFAULTS)


def reset():
    """Back to the defaults."""
    SETTINGS.clear()
    SETTINGS.update(DEFAULTS)
