"""Skipped, expected to fail, and parametrised."""

import sys

import pytest


@pytest.mark.skip(reason="asleep")
def test_skipped():
    pass


@pytest.mark.skipif(sys.version_info >= (3,), reason="awake")
def test_skipped_if():
    pass


@pytest.mark.skipif("sys.version_info < (3,)", reason="extinct")
def test_not_skipped():
    pass


def test_skips_itself():
    pytest.skip("hiding")


def test_missing_module():
    pytest.importorskip("no_such_module_in_the_zoo")


@pytest.mark.xfail
def test_fails_as_expected():
    assert False


@pytest.mark.xfail
def test_passes_unexpectedly():
    pass


@pytest.mark.xfail(strict=True)
def test_must_fail_and_passes():
    pass


@pytest.mark.xfail(strict=True)
def test_must_fail_and_fails():
    assert False


@pytest.mark.xfail(raises=KeyError)
def test_fails_in_another_way():
    raise ValueError


@pytest.mark.xfail(run=False)
def test_is_not_run():
    raise SystemExit


def test_expects_to_fail_inside():
    pytest.xfail("ill")


@pytest.mark.xfail
def test_expected_to_break(broken):
    pass


@pytest.mark.parametrize("animal", ["emu", "aye-aye", "Känguru", "a/b c[d]", "", "x::y"])
@pytest.mark.parametrize("number", [1, pytest.param(2, marks=pytest.mark.xfail)])
def test_parameters(animal, number):
    assert number == 1


async def test_coroutine():
    pass
