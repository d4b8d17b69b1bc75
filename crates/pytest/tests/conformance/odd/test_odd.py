import pytest


@pytest.mark.parametrize("value", ["a b", "x/y.py", "a::b", "[1]", "ü", "日本", "it's", '"q"', "$H", "#",
                                   "\\", "]", "<&>", "", "a, b", "*?", "`x`", "tab\there", "x" * 300])
def test_value(value):
    # Every other one fails, so that one taken for its neighbour shows.
    assert value in ("a b", "a::b", "ü", "it's", "$H", "\\", "<&>", "a, b", "`x`", "x" * 300)


def test_größe():
    pass


class TestGroup:
    class TestInner:
        def test_deep(self):
            assert False

        def test_wide(self):
            pass
