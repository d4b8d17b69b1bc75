import pytest

pytestmark = pytest.mark.random_order(disabled=True)


@pytest.mark.parametrize("number", range(5))
def test_numbers(number):
    assert number != 4


class TestClass:
    def test_passes(self):
        pass

    def test_skips(self):
        pytest.skip("no")
