from shop import config, tax


def test_reduced_rate():
    config.SETTINGS["tax"] = 0.075
    assert tax.with_tax(100) == 107.5


def test_tax_of_nothing_is_nothing():
    assert tax.tax_of(0) == 0
