import os
import signal
import unittest


class Wild(unittest.TestCase):
    def test_1_is_calm(self):
        pass

    def test_2_hangs(self):
        if os.path.exists("alive"):
            os.write(os.open("alive", os.O_WRONLY), b"x")
        while True:
            signal.pause()

    def test_3_crashes(self):
        os.kill(os.getpid(), signal.SIGSEGV)

    def test_4_exits(self):
        os._exit(0)

    def test_5_stays_calm(self):
        pass
