"""unittest's classes, run by pytest."""

import unittest

import pytest
from diary import note


def setUpModule():
    note("setUpModule")


def tearDownModule():
    note("tearDownModule")


class TestLion(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        note("setUpClass")
        cls.addClassCleanup(note, "class cleanup")

    @classmethod
    def tearDownClass(cls):
        note("tearDownClass")

    def setUp(self):
        self.addCleanup(note, "cleanup")
        note("setUp")

    def tearDown(self):
        note("tearDown")

    def test_passes(self):
        self.assertTrue(True)

    def test_fails(self):
        self.fail("roar")

    def test_errors(self):
        raise RuntimeError

    def test_subtests_pass(self):
        for animal in ("lion", "emu"):
            with self.subTest(animal=animal):
                self.assertTrue(animal)

    @unittest.skip("asleep")
    def test_skipped(self):
        pass

    def test_skips_itself(self):
        self.skipTest("hiding")

    @unittest.expectedFailure
    def test_expected(self):
        self.fail()

    @unittest.expectedFailure
    def test_unexpected(self):
        pass

    @pytest.fixture(autouse=True)
    def beside(self, gate):
        note("fixture of a unittest class")


class TestSubTests(unittest.TestCase):
    def test_one_of_them_fails(self):
        for animal in ("lion", "emu"):
            with self.subTest(animal=animal):
                self.assertNotEqual(animal, "emu")


class TestBrokenClass(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        raise RuntimeError("no cage")

    def test_a(self):
        pass

    def test_b(self):
        pass


class TestLeakingClass(unittest.TestCase):
    @classmethod
    def tearDownClass(cls):
        raise RuntimeError("cage left open")

    def test_a(self):
        pass

    def test_b(self):
        pass


@unittest.skip("closed")
class TestClosed(unittest.TestCase):
    def test_a(self):
        pass


class TestAsynchronous(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self):
        note("asyncSetUp")

    async def asyncTearDown(self):
        note("asyncTearDown")

    async def test_passes(self):
        pass

    async def test_fails(self):
        self.fail()
