"""On whole projects: in the original order all happens as in plain ``python -m pytest``.

Outcomes are compared test by test. Projects that keep a diary (which fixture was set up for whom,
when it was torn down, in which order tests began) are compared by that too, line by line.
"""

import os
import shutil
import tempfile
import unittest

from engine import ALL, ProjectCase
from test_as_plain import junit_key, plain

HERE = os.path.dirname(os.path.abspath(__file__))
PROJECTS = os.path.join(HERE, "projects")
SHOP = os.path.join(HERE, "..", "..", "..", "examples", "shop")

LEFT_TO_CHANCE = ("tests/test_search.py", "tests/test_shipping.py")
"""Those of the shop that fail at random, on purpose."""


class OriginalOrder(ProjectCase):
    maxDiff = None

    def bring(self, project):
        shutil.rmtree(self.folder)
        shutil.copytree(project, self.folder, ignore=shutil.ignore_patterns("__pycache__"))

    def diary(self):
        """Where a project may write what happens, out of the way of every isolation."""
        folder = tempfile.mkdtemp(prefix="unflake-diary-")
        self.addCleanup(shutil.rmtree, folder)
        return os.path.join(folder, "diary")

    def compare(self, isolation):
        expected_diary, diary = self.diary(), self.diary()
        expected = plain(self.folder, (), {"ZOO_DIARY": expected_diary})
        before = self.tree()
        engine = self.engine(env={"ZOO_DIARY": diary})
        run = engine.whole(isolation=isolation)
        self.assertTrue(run.is_done)
        told = [
            (junit_key(name), end["outcome"])
            for name, end in zip(engine.ids, run.ends)
            if not name.startswith(LEFT_TO_CHANCE)
        ]
        self.assertEqual(told, [(key, expected[key]) for key, _ in told])
        self.assertEqual(len(engine.ids), len(expected))
        self.assertEqual(self.tree(), before)
        return read(expected_diary), read(diary), {outcome for _, outcome in told}

    def test_the_zoo(self):
        for isolation in ([], ALL):
            with self.subTest(isolation=isolation):
                self.bring(os.path.join(PROJECTS, "zoo"))
                expected, diary, outcomes = self.compare(isolation)
                self.assertGreater(len(expected), 300)
                self.assertEqual(diary, expected)
                self.assertEqual(outcomes, {"passed", "skipped", "error", "failed"})

    def test_the_shop(self):
        for isolation in ([], ALL):
            with self.subTest(isolation=isolation):
                self.bring(SHOP)
                _, _, outcomes = self.compare(isolation)
                self.assertEqual(outcomes, {"passed"})


def read(diary):
    if not os.path.exists(diary):
        return []
    with open(diary, encoding="utf-8") as file:
        return file.read().splitlines()


if __name__ == "__main__":
    unittest.main()
