import random

import pytest


@pytest.mark.parametrize("sides", [6, 20])
def test_dice(sides):
    assert 0 <= random.randrange(sides) < sides


class TestClass:
    def test_passes(self):
        pass

    def test_fails(self):
        assert random.random() > 1
