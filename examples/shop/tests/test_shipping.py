from shop import shipping


def test_parcel_arrives_within_three_days():
    assert shipping.days(600) <= 3


def test_distance_takes_time():
    assert shipping.days(1200, delay=lambda: 1.0) == 3


def test_heavy_parcels_cost_more():
    assert shipping.price(5) > shipping.price(1)
