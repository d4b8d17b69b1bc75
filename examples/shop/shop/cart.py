"""What somebody is about to buy."""

from shop.money import rounded
from shop.tax import with_tax


class Cart:
    """Articles with their net prices."""

    def __init__(self):
        self.lines = []

    def add(self, article, price, count=1):
        """Puts articles into the cart."""
        if count < 1:
            raise ValueError(f"cannot add {count} of {article}")
        self.lines.append((article, price, count))

    def net(self):
        """The sum without tax."""
        return sum(price * count for _, price, count in self.lines)

    def total(self):
        """What is to be paid."""
        return rounded(with_tax(self.net()))

    def __len__(self):
        return sum(count for _, _, count in self.lines)
