from shop import coupons


def test_a_coupon_can_be_registered():
    assert coupons.register("WELCOME", 10) == 10


def test_a_discount_reduces_the_amount():
    assert coupons.discounted(50, 10) == 45
