"""Suites of plain unittest, run with the standard library alone."""

import unittest

from engine import ALL, ProjectCase

NOTES = """
    import os
    def note(word):
        with open(os.path.join(os.environ["TMPDIR"], "trail"), "a") as file:
            file.write(word + " ")
"""

SUITE = """
    import unittest
    from notes import note
    def setUpModule(): note("module+")
    def tearDownModule(): note("module-")
    class A(unittest.TestCase):
        @classmethod
        def setUpClass(cls): note("A+")
        @classmethod
        def tearDownClass(cls): note("A-")
        def test_a(self): note("a")
        def test_b(self): note("b")
    class B(unittest.TestCase):
        def test_c(self): note("c")
"""

KINDS = """
    import unittest, os, sys
    class Kinds(unittest.TestCase):
        def test_a_passes(self): pass
        def test_b_fails(self): self.assertEqual(1, 2)
        def test_c_raises(self): raise RuntimeError("no")
        @unittest.skip("why")
        def test_d_skipped(self): pass
        @unittest.expectedFailure
        def test_e_expected(self): self.fail()
        @unittest.expectedFailure
        def test_f_unexpected(self): pass
        def test_g_subtests(self):
            for i in range(3):
                with self.subTest(i=i): self.assertNotEqual(i, 1)
        def test_h_skips_inside(self): self.skipTest("inside")
        def test_i_leaves(self): sys.exit(1)
    class Broken(unittest.TestCase):
        @classmethod
        def setUpClass(cls): raise RuntimeError("broken")
        def test_x(self): pass
        def test_y(self): pass
    class Later(unittest.TestCase):
        @classmethod
        def tearDownClass(cls): raise RuntimeError("later")
        def test_z(self): pass
"""


class WithUnittest(ProjectCase):
    def suite(self, *arguments):
        return self.engine(*arguments, runner="unittest")

    def trail(self, run):
        with open(run.scratch + "/tmp/trail") as file:
            return file.read().split()

    def test_fixtures_of_class_and_module(self):
        self.write(notes=NOTES, test_x=SUITE, test_y=SUITE)
        engine = self.suite()
        self.assertEqual(engine.ids[:3], ["test_x.A.test_a", "test_x.A.test_b", "test_x.B.test_c"])
        run = engine.run(["x.A.test_b", "x.B.test_c", "x.A.test_a", "y.A.test_a"])
        self.assertEqual(
            " ".join(self.trail(run)),
            "module+ A+ b A- c A+ a A- module- module+ A+ a A- module-",
        )
        self.assertTrue(run.is_done)

    def test_twice_sets_class_and_module_up_again(self):
        self.write(notes=NOTES, test_x=SUITE)
        run = self.suite().run(["x.A.test_b"], twice=True)
        self.assertEqual(self.trail(run), ["module+", "A+", "b", "A-", "module-"] * 2)

    def test_outcomes(self):
        self.write(test_kinds=KINDS)
        for isolation in ([], ALL):
            engine = self.suite()
            run = engine.whole(isolation=isolation)
            told = {name.split(".")[-1]: end for name, end in zip(engine.ids, run.ends)}
            self.assertEqual(
                {name: (end["outcome"], end["phase"]) for name, end in told.items()},
                {
                    "test_a_passes": ("passed", "call"),
                    "test_b_fails": ("failed", "call"),
                    "test_c_raises": ("failed", "call"),
                    "test_d_skipped": ("skipped", "call"),
                    "test_e_expected": ("skipped", "call"),
                    "test_f_unexpected": ("failed", "call"),
                    "test_g_subtests": ("failed", "call"),
                    "test_h_skips_inside": ("skipped", "call"),
                    "test_i_leaves": ("failed", "call"),
                    "test_x": ("error", "setup"),
                    "test_y": ("error", "setup"),
                    "test_z": ("error", "teardown"),
                },
            )
            self.assertIn("1 != 2", told["test_b_fails"]["message"])
            self.assertIn("Traceback", told["test_b_fails"]["text"])

    def test_import_errors_do_not_stop_the_rest(self):
        self.write(test_bad="import no_such_module", notes=NOTES, test_x=SUITE)
        engine = self.suite()
        self.assertEqual(len(engine.ids), 3)
        (error,) = engine.collected["errors"]
        self.assertEqual(error["where"], "test_bad")
        self.assertIn("no_such_module", error["text"])

    def test_arguments(self):
        self.write(notes=NOTES, test_x=SUITE, sub__check_y=SUITE, sub__notes=NOTES)
        for arguments, expected in (
            (["-p", "check_*.py", "-s", "sub"], "check_y.A.test_a"),
            (["sub", "check_*.py"], "check_y.A.test_a"),
            (["discover", "-s", "sub", "-p", "check_*.py"], "check_y.A.test_a"),
            (["test_x"], "test_x.A.test_a"),
            (["test_x.py"], "test_x.A.test_a"),
            (["test_x.A.test_a"], "test_x.A.test_a"),
        ):
            with self.subTest(arguments=arguments):
                self.assertEqual(self.suite(*arguments).ids[0], expected)

    def test_classes_and_files(self):
        self.write(notes=NOTES, test_x=SUITE)
        test = self.suite().collected["tests"][0]
        self.assertEqual(test["class"], "test_x.py::A")
        self.assertEqual(test["file"], "test_x.py")

    def test_without_pytest_auto_is_unittest(self):
        self.write(notes=NOTES, test_x=SUITE)
        engine = self.engine(runner="auto", python=["-S"])
        self.assertTrue(engine.collected["runner"].startswith("unittest"))


if __name__ == "__main__":
    unittest.main()
