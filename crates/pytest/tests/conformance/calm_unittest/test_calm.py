import os
import unittest

DIARY, LEFT, LOADED, SEEN = [], [], [], []
FILE = "left.txt"


def write(number):
    DIARY.append(str(number))
    raise AssertionError("diary [%s]" % " ".join(DIARY))


# Tests are listed by the alphabet: class by class, and within each.
class A(unittest.TestCase):
    def test_fails(self):
        self.assertEqual(1, 2)

    def test_passes(self):
        pass

    @unittest.skip("said aloud")
    def test_skipped(self):
        pass


class BreaksInCleanUp(unittest.TestCase):
    @classmethod
    def tearDownClass(cls):
        raise RuntimeError("no clean-up")

    def test_it(self):
        pass


class BreaksInSetUp(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        raise RuntimeError("no set-up")

    def test_it(self):
        pass


class FirstPages(unittest.TestCase):
    def test_1(self):
        write(1)

    def test_2(self):
        write(2)


class LastPages(unittest.TestCase):
    def test_3(self):
        write(3)

    def test_4(self):
        write(4)


class State(unittest.TestCase):
    def test_1_polluter(self):
        LEFT.append(1)

    def test_2_cleaner(self):
        LEFT.clear()

    def test_3_victim(self):
        self.assertFalse(LEFT)

    def test_4_setter(self):
        LOADED.append(1)

    def test_5_brittle(self):
        self.assertTrue(LOADED)

    def test_6_spoils_itself(self):
        SEEN.append(1)
        self.assertEqual(SEEN, [1])

    def test_7_writes(self):
        open(FILE, "w").close()

    def test_8_finds(self):
        self.assertFalse(os.path.exists(FILE))

    def test_9_tells_hash(self):
        raise AssertionError("hash [%d]" % hash("a string"))
