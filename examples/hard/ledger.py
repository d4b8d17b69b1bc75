"""What the tests share."""

import os
import random
import sys
import threading
import time

STATE = {"currency": "EUR", "rounding": 2}


def hashes_below(share):
    """True under about this share of all hash seeds, always the same under one."""
    if not sys.flags.hash_randomization:
        return False
    return hash("the same string in every process") % 1000 < share * 1000


def happens(rate):
    """True at random, at this rate, in every process anew."""
    return random.SystemRandom().random() < rate


def is_last_day_of_the_year(now=None):
    now = time.localtime() if now is None else now
    return (now.tm_mon, now.tm_mday) == (12, 31)


def offset_hours():
    """How far local time is from that of Greenwich, in summer or winter."""
    return -time.timezone // 3600


class Counter:
    """Adds up, and loses what two threads add at once."""

    def __init__(self):
        self.total = 0

    def add(self):
        seen = self.total
        self.total = seen + 1

    def add_often(self, n_threads, n_times):
        threads = [
            threading.Thread(target=lambda: [self.add() for _ in range(n_times)])
            for _ in range(n_threads)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return self.total


def tidy(text):
    """Puts words in order.

    >>> words = ["b", "a"]
    >>> tidy(" ".join(words))
    'a b'
    >>> counted = len(words)
    >>> counted
    2
    """
    return " ".join(sorted(text.split()))


def where():
    return os.getcwd()
