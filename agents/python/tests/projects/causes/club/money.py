"""The purse of the club."""


class Purse:
    def __init__(self):
        self.balance = 0

    def pay_in(self, amount):
        balance = self.balance
        balance = balance + amount
        self.balance = balance


PRICES = {"cards": 0.1, "tea": 0.2, "room": 0.3, "cake": 0.7}


def price(items):
    return sum(PRICES[item] for item in set(items))
