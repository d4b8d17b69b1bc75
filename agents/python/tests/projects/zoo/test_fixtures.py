"""Scopes, parameters that reorder, fixtures that fail."""

import pytest
from diary import note


def setup_module(module):
    note("setup_module")


def teardown_module(module):
    note("teardown_module")


def setup_function(function):
    note("setup_function")


def teardown_function(function):
    note("teardown_function")


def test_season(season):
    assert season.is_dir()


def test_house(house):
    assert house


def test_season_again(season, house):
    assert "wet" in season.name


@pytest.mark.late
def test_moved():
    pass


def test_generated(generated, finalized):
    assert generated == "first"


class TestCage:
    @classmethod
    def setup_class(cls):
        note("setup_class")

    @classmethod
    def teardown_class(cls):
        note("teardown_class")

    def test_first(self, cage):
        cage.append(1)

    def test_second(self, cage):
        assert cage == [1]

    class TestInner:
        @pytest.fixture(autouse=True)
        def inside(self, cage):
            cage.append("inner")

        def test_inner(self, cage):
            assert cage == ["inner"]


class TestMethods:
    def setup_method(self):
        self.own = []

    def teardown_method(self):
        note(f"owned {self.own}")

    @pytest.mark.parametrize("number", [1, 2])
    def test_own(self, number):
        assert self.own == []
        self.own.append(number)


def test_broken(broken):
    pass


def test_leaking(leaking):
    pass


def test_fails_and_leaks(leaking):
    assert False


def test_leaking_module(leaking_module):
    pass


@pytest.mark.usefixtures("leaking_module")
def test_last_of_the_module():
    pass
