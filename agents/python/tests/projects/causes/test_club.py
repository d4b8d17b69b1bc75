"""One test for each reason to flake; which is meant, its name says."""

import random
import threading
import time
from datetime import datetime, timedelta

from club import files, line, mail, members, money, rules


def test_async_wait():
    mailer = mail.Mailer()
    mailer.send("ann@club")
    time.sleep(0.4)
    assert mailer.sent == ["ann@club"]


def test_concurrency():
    purse = money.Purse()

    def pay():
        for _ in range(5):
            purse.pay_in(1)

    threads = [threading.Thread(target=pay) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert purse.balance == 20


def test_order_dependency():
    assert rules.RULES["guests"] == 2


def test_rules_can_be_changed():
    rules.RULES["guests"] = 3
    assert rules.RULES["guests"] == 3


def test_network():
    assert line.ping(within=0.6) == b"here"


def test_resource_leak(tmp_path):
    paths = [tmp_path / f"{number}.txt" for number in range(60)]
    for path in paths:
        path.write_text("minutes of the meeting", encoding="utf-8")
    minutes = [file.read() for file in files.open_all(paths)]
    assert len(minutes) == 60


def test_randomness():
    everybody = ["ann", "bob", "cyd", "dan"]
    assert members.winner(everybody) != members.winner(everybody)


def test_io(tmp_path):
    files.save(tmp_path / "minutes.txt", "all were there", within=0.35)
    assert (tmp_path / "minutes.txt").exists()


def test_time():
    began = datetime.now()
    # Seconds would be chance; the clock's longer jumps are the seed's.
    assert abs(members.badge("ann")["printed"] - began) < timedelta(seconds=30)


def test_floating_point():
    assert money.price(["cards", "tea", "room", "cake"]) == 1.2999999999999998


def test_unordered_collection():
    everybody = [{"group": "chess"}, {"group": "bridge"}, {"group": "go"}]
    assert members.groups(everybody) == ["bridge", "chess", "go"]


def test_platform(tmp_path):
    files.remember(tmp_path / "name.txt", "Zoë")
    assert (tmp_path / "name.txt").read_bytes() == "Zoë".encode("utf-8")


def test_of_nothing_in_particular():
    assert sorted(random.sample(range(9), 9)) == list(range(9))
