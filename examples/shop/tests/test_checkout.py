from shop.cart import Cart
from shop.checkout import receipt


def cart():
    cart = Cart()
    cart.add("book", 10.0)
    return cart


def test_receipt_lists_articles():
    assert "1 x book" in receipt(cart())


def test_checkout_in_dollars():
    assert "$" in receipt(cart(), currency="USD")


def test_receipt_ends_with_the_total():
    assert receipt(cart()).splitlines()[-1].startswith("total:")
