from shop import config


def test_defaults_are_complete():
    assert set(config.DEFAULTS) == {"currency", "tax", "rounding"}


def test_reset_restores_the_defaults():
    config.reset()
    assert config.SETTINGS == config.DEFAULTS


def test_defaults_are_not_shared():
    assert config.SETTINGS is not config.DEFAULTS
