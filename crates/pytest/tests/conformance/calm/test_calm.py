import os
import sys

import pytest

DIARY, LEFT, LOADED, SEEN = [], [], [], []
FILE = "left.txt"


def write(number):
    DIARY.append(str(number))
    raise AssertionError("diary [%s]" % " ".join(DIARY))


@pytest.fixture
def breaks_in_set_up():
    raise RuntimeError("no set-up")


@pytest.fixture
def breaks_in_clean_up():
    yield
    raise RuntimeError("no clean-up")


def test_passes():
    pass


def test_fails():
    assert 1 == 2


def test_breaks_in_set_up(breaks_in_set_up):
    pass


def test_breaks_in_clean_up(breaks_in_clean_up):
    pass


@pytest.mark.skip(reason="said aloud")
def test_skipped():
    pass


def test_prints():
    print("written to standard output")
    print("written to standard error", file=sys.stderr)
    raise AssertionError("said aloud")


class TestFirstPages:
    def test_one(self):
        write(1)

    def test_two(self):
        write(2)


class TestLastPages:
    def test_three(self):
        write(3)

    def test_four(self):
        write(4)


def test_polluter():
    LEFT.append(1)


def test_cleaner():
    LEFT.clear()


def test_victim():
    assert not LEFT


def test_setter():
    LOADED.append(1)


def test_brittle():
    assert LOADED


def test_spoils_itself():
    SEEN.append(1)
    assert SEEN == [1]


def test_writes():
    open(FILE, "w").close()


def test_finds():
    assert not os.path.exists(FILE)


def test_tells_hash():
    raise AssertionError("hash [%d]" % hash("a string"))
