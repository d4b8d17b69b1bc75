from diary import note


def test_house(house, fence):
    note("in the aviary")


def test_season(season, colour):
    assert season and colour
