import pytest


@pytest.mark.parametrize("name", ["fox", "bat"])
def test_named(colour, name):
    assert colour and name


def test_plain():
    pass


def test_coloured(colour):
    assert colour == "red"


class TestColours:
    def test_one(self, colour, season):
        pass

    def test_two(self, season):
        pass
