"""Plugins that a project has, with their options in its ini file, do not break anything.

Each project under ``projects`` that is named after a plugin is run plainly and by the agent, with
all plugins installed, as they are where people work: outcomes are the same test by test, in
whatever order the plugin ran them. And the agent runs what it is told, in the order it is told: a
victim fails right after its polluter, once, and passes alone.

The plugins are those of the interpreter, or of the folder named by UNFLAKE_TEST_PLUGINS, which
``cargo xtask ci`` makes from ``requirements-plugins.txt``.
"""

import importlib.util
import os
import shutil
import sys
import unittest

from engine import ALL, ProjectCase
from test_as_plain import junit_key, plain_as_it_is
from test_original_order import PROJECTS

FOLDER = os.environ.get("UNFLAKE_TEST_PLUGINS", "")
if FOLDER:
    sys.path.append(FOLDER)

MODULES = {
    "xdist": "xdist",
    "randomly": "pytest_randomly",
    "random_order": "random_order",
    "rerunfailures": "pytest_rerunfailures",
    "asyncio": "pytest_asyncio",
    "django": "pytest_django",
    "cov": "pytest_cov",
    "timeout": "pytest_timeout",
}

ENV = {"PYTHONPATH": FOLDER} if FOLDER else {}

STANDS_BACK = {"xdist", "randomly", "random_order", "rerunfailures"}

PLANTED = """
    import state
    def test_polluter(): state.x = 1
    def test_victim(): assert state.x == 0
"""


def is_here(plugin):
    return importlib.util.find_spec(MODULES[plugin]) is not None


class Plugins(ProjectCase):
    maxDiff = None

    def bring(self, name):
        shutil.rmtree(self.folder)
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(os.path.join(PROJECTS, name), self.folder, ignore=ignored)

    def check(self, name):
        self.bring(name)
        expected = plain_as_it_is(self.folder, ENV)
        # Coverage has written its files; the agent must write none.
        self.bring(name)
        self.write(state="x = 0", test_planted=PLANTED)
        before = self.tree()
        engine = self.engine(env=ENV)
        self.assertEqual(engine.collected["errors"], [])
        self.assertIsNone(engine.collected["fork"])
        for isolation in ([], ALL):
            with self.subTest(isolation=isolation):
                self.compare(engine, expected, isolation)
                self.find_planted(engine, isolation)
        self.assertEqual(self.tree(), before)
        return engine

    def compare(self, engine, expected, isolation):
        run = engine.whole(isolation=isolation)
        self.assertTrue(run.is_done, run.exited)
        self.assertEqual(len(run.ends), len(engine.ids))
        told = {
            junit_key(name): end["outcome"]
            for name, end in zip(engine.ids, run.ends)
            if not name.startswith("test_planted.py")
        }
        self.assertEqual(told, expected)

    def find_planted(self, engine, isolation):
        pair = ["::test_polluter", "::test_victim"]
        self.assertEqual(engine.run(pair, isolation=isolation).outcomes, ["passed", "failed"])
        backwards = engine.run(pair[::-1], isolation=isolation)
        self.assertEqual(backwards.outcomes, ["passed", "passed"])
        self.assertEqual(engine.run(["::test_victim"], isolation=isolation).outcomes, ["passed"])

    def test_all_are_here_where_they_are_promised(self):
        if FOLDER:
            self.assertEqual([plugin for plugin in MODULES if not is_here(plugin)], [])

    def test_all_at_once(self):
        missing = [plugin for plugin in MODULES if not is_here(plugin)]
        if missing:
            self.skipTest("not installed: " + ", ".join(missing))
        engine = self.check("all")
        # Where there are more that reorder or repeat, they are named too.
        self.assertLessEqual(STANDS_BACK, set(engine.collected["plugins"]))


def check_of(plugin):
    def test(self):
        if not is_here(plugin):
            self.skipTest("not installed: " + plugin)
        engine = self.check(plugin)
        if plugin in STANDS_BACK:
            self.assertIn(plugin, engine.collected["plugins"])

    return test


for _plugin in MODULES:
    setattr(Plugins, "test_" + _plugin, check_of(_plugin))


if __name__ == "__main__":
    unittest.main()
