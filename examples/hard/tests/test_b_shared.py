"""Two polluters that share a state with one victim."""

from ledger import STATE


def test_victim_of_two():
    assert STATE["rounding"] == 2


def test_rounds_up():
    STATE["rounding"] = 0
    assert round(2.5, STATE["rounding"]) == 2.0


def test_rounds_finely():
    STATE["rounding"] = 5
    assert STATE["rounding"] == 5
