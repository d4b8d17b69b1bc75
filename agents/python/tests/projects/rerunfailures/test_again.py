import pytest


@pytest.mark.flaky(reruns=1)
def test_fails_every_time():
    assert False


@pytest.fixture
def broken():
    raise RuntimeError("every time")


def test_breaks_every_time(broken):
    pass


def test_passes():
    pass
