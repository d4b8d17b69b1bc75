import sys

import pytest


def test_passes():
    pass


def test_fails():
    assert False


@pytest.mark.no_cover
def test_is_not_measured(no_cover, cov):
    assert cov is None or cov.get_option("run:branch")


def test_tracing_is_nobody_elses():
    before = sys.gettrace()
    sys.settrace(before)
