import time

import pytest


@pytest.mark.timeout(0.1)
def test_takes_too_long():
    time.sleep(60)


@pytest.mark.timeout(60, method="thread")
def test_is_quick():
    pass


@pytest.mark.timeout(0)
def test_has_no_limit():
    pass


@pytest.fixture
def slow():
    time.sleep(60)


@pytest.mark.timeout(0.1)
def test_is_set_up_too_long(slow):
    pass
