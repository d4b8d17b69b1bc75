"""Tests that fail under some hash seeds, or at random."""

from ledger import happens, hashes_below


def test_hash_seed_1_of_2():
    assert not hashes_below(0.5)


def test_hash_seed_1_of_10():
    assert not hashes_below(0.1)


def test_hash_seed_1_of_20():
    assert not hashes_below(0.05)


def test_random_50_percent():
    assert not happens(0.5)


def test_random_5_percent():
    assert not happens(0.05)


def test_random_1_percent():
    assert not happens(0.01)
