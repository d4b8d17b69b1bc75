"""Tests that rely on what is true here and now."""

import time

from ledger import Counter, is_last_day_of_the_year, offset_hours, tidy


def test_year_end():
    assert not is_last_day_of_the_year()


def test_time_zone():
    assert offset_hours() > -3


def test_rare_race():
    assert Counter().add_often(2, 50) == 100


def test_healthy():
    assert tidy("b a") == "a b"
    assert time.monotonic() > 0
