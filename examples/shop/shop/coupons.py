"""Coupons: each code exists once."""

_COUPONS = {}


def register(code, percent):
    """Makes a coupon valid."""
    if code in _COUPONS:
        raise ValueError(f"coupon {code} exists")
    _COUPONS[code] = percent
    return percent


def discounted(amount, percent):
    """An amount after a discount."""
    return amount * (100 - percent) / 100
