"""How long a parcel takes."""

import random


def days(distance_km, delay=random.random):
    """Days on the road; carriers are late one time in four."""
    base = 1 + distance_km // 500
    return base + (2 if delay() < 0.25 else 0)


def price(weight_kg):
    """What a parcel costs."""
    return 4.9 if weight_kg <= 2 else 4.9 + 1.5 * (weight_kg - 2)
