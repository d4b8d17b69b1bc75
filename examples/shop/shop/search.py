"""Search, with an experiment."""

import random

EXPERIMENTS = set()
BESTSELLER = "Flaky Tests"
TITLES = [BESTSELLER, "Order and Chaos", "Cleaning Up", "A History of Waiting", "Race Conditions"]


def ranking():
    """All titles, best first."""
    titles = list(TITLES)
    # A replica lags behind now and then; the experiment shuffles.
    if random.random() < 0.05:
        titles.reverse()
    if "shuffled-ranking" in EXPERIMENTS:
        random.shuffle(titles)
    return titles


def first_page():
    """The two best."""
    return ranking()[:2]
