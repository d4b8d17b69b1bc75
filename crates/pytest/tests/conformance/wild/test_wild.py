import os
import signal


def test_is_calm():
    pass


def test_hangs():
    if os.path.exists("alive"):
        os.write(os.open("alive", os.O_WRONLY), b"x")
    while True:
        signal.pause()


def test_crashes():
    os.kill(os.getpid(), signal.SIGSEGV)


def test_exits():
    os._exit(0)


def test_stays_calm():
    pass
