"""Do the changes that we propose put it right? Plain pytest is the judge."""

import json
import os
import subprocess
import sys
import tempfile
import unittest

from engine import AGENT, ProjectCase

SHOP = """
import functools, logging
RATE = 1
RATES = {"a": 1}
BASKET = [1]
SEEN = {1}
class Cart:
    size = 0
    parts = {}
class Till:
    pass
TILL = Till()
TILL.open = False
LOG = logging.getLogger("shop")
@functools.lru_cache(None)
def price(n): return len(BASKET) * n
def discount(n, given=[]):
    given.append(n)
    return len(given)
def total(): return 1
"""

KINDS = {
    "rebound": ("shop.RATE = 2", "assert shop.RATE == 1"),
    "item": ("shop.RATES['a'] = 2", "assert shop.RATES == {'a': 1}"),
    "new_item": ("shop.RATES['b'] = 2", "assert shop.RATES == {'a': 1}"),
    "no_item": ("shop.RATES.clear()", "assert shop.RATES == {'a': 1}"),
    "list": ("shop.BASKET.append(2)", "assert shop.BASKET == [1]"),
    "set": ("shop.SEEN.add(2)", "assert shop.SEEN == {1}"),
    "class_attribute": ("shop.Cart.size = 3", "assert shop.Cart.size == 0"),
    "class_container": ("shop.Cart.parts['x'] = 1", "assert not shop.Cart.parts"),
    "new_attribute": ("shop.Cart.extra = 1", "assert not hasattr(shop.Cart, 'extra')"),
    "object": ("shop.TILL.open = True", "assert not shop.TILL.open"),
    "cache": ("shop.price(3)", "assert shop.price.cache_info().currsize == 0"),
    "default": ("shop.discount(1)", "assert shop.discount(1) == 1"),
    "environment": ("os.environ['NEW_X'] = '1'", "assert 'NEW_X' not in os.environ"),
    "old_environment": ("os.environ['HOME'] = '/x'", "assert os.environ['HOME'] != '/x'"),
    "no_environment": ("del os.environ['PATH']", "assert 'PATH' in os.environ"),
    "cwd": ("os.chdir('/')", "assert os.getcwd() != '/'"),
    "umask": ("os.umask(0o77)", "assert os.umask(0o22) != 0o77"),
    "level": ("shop.LOG.setLevel(50)", "assert not shop.LOG.level"),
    "handlers": ("shop.LOG.addHandler(logging.NullHandler())", "assert not shop.LOG.handlers"),
    "random": ("random.seed(1)", "assert random.random() != 0.13436424411240122"),
    "path": ("sys.path.append('/x')", "assert '/x' not in sys.path"),
    "module": ("sys.modules['made'] = shop", "assert 'made' not in sys.modules"),
    "signal": ("signal.signal(signal.SIGUSR1, signal.SIG_IGN)",
               "assert signal.getsignal(signal.SIGUSR1) is signal.SIG_DFL"),
    "mock": ("mock.patch('shop.total').start()", "assert shop.total() == 1"),
    "recursion": ("sys.setrecursionlimit(4321)", "assert sys.getrecursionlimit() != 4321"),
    "file": ("open('left.txt', 'w').close()", "assert not os.path.exists('left.txt')"),
}  # fmt: skip

FILE = """
import logging, os, random, signal, sys
from unittest import mock
import shop

def test_polluter():
    {}

def test_victim():
    {}
"""


def proposals(folder, **request):
    """What ``mend`` proposes."""
    with tempfile.TemporaryDirectory() as place:
        asked, answer = (os.path.join(place, name) for name in ("asked", "answer"))
        with open(asked, "w", encoding="utf-8") as file:
            json.dump(dict(rootdir=folder, top=folder, **request), file)
        subprocess.run([sys.executable, AGENT, "mend", asked, answer], cwd=folder, check=True)
        with open(answer, encoding="utf-8") as file:
            return json.load(file)


def apply(patch):
    for file in patch["files"]:
        with open(file["path"], "w", encoding="utf-8") as written:
            written.write(file["new"])


class Mending(ProjectCase):
    def pytest(self, *tests):
        """How many tests fail under plain pytest."""
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests]
        done = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout[-3000:]

    def request(self, name, **more):
        engine = self.engine()
        file = f"test_{name}.py"
        run = engine.run([f"{file}::test_polluter"], watch=["all"], isolation=["tree", "home"])
        engine.stop()
        keys = ("where", "kind", "before", "after")
        changes = [{key: change.get(key) for key in keys} for change in run.ends[0]["changes"]]
        target, culprits = f"{file}::test_victim", [f"{file}::test_polluter"]
        request = dict(is_brittle=False, target=target, culprits=culprits, helpers=[])
        return proposals(self.folder, **{**request, "state": changes, **more})

    def test_every_kind_of_state_is_put_back(self):
        self.write(shop=SHOP)
        for name, (pollute, check) in KINDS.items():
            with self.subTest(kind=name):
                file = f"test_{name}.py"
                self.write(**{f"test_{name}": FILE.format(pollute, check)})
                self.assertEqual(self.pytest(file)[0], 1, "there is nothing to put right")
                self.tidy()
                patches = self.request(name)["patches"]
                self.assertTrue(patches, "nothing was proposed")
                results = []
                for patch in patches:
                    apply(patch)
                    results.append(self.pytest(file))
                    self.tidy()
                    if results[-1][0] == 0:
                        break
                self.assertEqual(results[-1][0], 0, results)
                os.remove(os.path.join(self.folder, file))

    def tidy(self):
        left = os.path.join(self.folder, "left.txt")
        if os.path.exists(left):
            os.remove(left)

    def test_a_file_keeps_its_style(self):
        self.write(shop=SHOP)
        path = os.path.join(self.folder, "test_a.py")
        with open(path, "w", newline="", encoding="utf-8") as file:
            file.write("'''Tests.'''\r\nfrom __future__ import annotations\r\nimport shop\r\n\r\n")
            file.write("# About it.\r\ndef test_polluter():\r\n  shop.RATE = 2\r\n")
            file.write("def test_victim():\r\n  assert shop.RATE == 1")
        patch = self.request("a")["patches"][0]
        new = patch["files"][0]["new"]
        self.assertEqual(new.count("\r\n"), new.count("\n"))
        self.assertIn("\r\n  monkeypatch.setattr(shop", new)
        self.assertIn("usefixtures('unchanged_rate')", new)
        self.assertIn("def test_victim():\r\n  assert shop.RATE == 1", new)
        apply(patch)
        self.assertEqual(self.pytest("test_a.py")[0], 0)

    def test_a_brittle_gets_the_value_or_the_statements_of_its_setter(self):
        self.write(shop=SHOP, test_a=FILE.format("rate = 2\n    shop.RATE = rate", "assert 1"))
        self.write(test_b="import shop\ndef test_brittle():\n    assert shop.RATE == 2\n")
        more = dict(is_brittle=True, target="test_b.py::test_brittle", culprits=[])
        answer = self.request("a", helpers=["test_a.py::test_polluter"], **more)
        self.assertEqual(len(answer["patches"]), 2, answer)
        value, statements = answer["patches"]
        self.assertEqual([value["how"], statements["how"]], ["set-before-target", "as-helper"])
        self.assertEqual(statements["n_statements"], 2)
        path = os.path.join(self.folder, "test_b.py")
        with open(path, encoding="utf-8") as file:
            old = file.read()
        for patch in (value, statements):
            self.assertEqual(self.pytest("test_b.py")[0], 1)
            apply(patch)
            self.assertEqual(self.pytest("test_b.py")[0], 0)
            with open(path, "w", encoding="utf-8") as file:
                file.write(old)

    def test_methods_classes_and_inherited_tests_are_marked(self):
        self.write(shop=SHOP)
        self.write(
            test_a="""
            import unittest
            import shop
            class Base:
                def test_polluter(self): shop.RATE = 2
            class TestOne(Base, unittest.TestCase):
                def test_own(self): shop.RATE = 3
            def test_victim(): assert shop.RATE == 1
            """
        )
        state = [{"where": "shop.RATE", "kind": "global", "before": "1", "after": "2"}]
        culprits = ["test_a.py::TestOne::test_own", "test_a.py::TestOne::test_polluter"]
        request = dict(is_brittle=False, target="test_a.py::test_victim", helpers=[], state=state)
        self.assertEqual(self.pytest("test_a.py")[0], 1)
        apply(proposals(self.folder, culprits=culprits, **request)["patches"][0])
        self.assertEqual(self.pytest("test_a.py")[0], 0)

    def test_a_module_behind_a_function_of_its_name_is_reached(self):
        self.write_file("pkg/__init__.py", "from .rate import rate")
        self.write(pkg__rate="RATE = 1\ndef rate(): return RATE")
        self.write(
            test_a="""
            import sys, pkg
            def test_polluter(): sys.modules["pkg.rate"].RATE = 2
            def test_victim(): assert pkg.rate() == 1
            """
        )
        apply(self.request("a")["patches"][0])
        self.assertEqual(self.pytest("test_a.py")[0], 0)

    def test_a_shared_fixture_is_made_anew(self):
        self.write(conftest="import pytest\n@pytest.fixture(scope='module')\ndef x(): return []")
        self.write(
            test_a="""
            import pytest
            @pytest.fixture
            def y(x): return x
            def test_polluter(x): x.append(1)
            def test_victim(y): assert not y
            """
        )
        patch = self.request("a", state=[])["patches"][0]
        self.assertEqual(patch["title"], "each test gets its own `x`")
        self.assertEqual(self.pytest("test_a.py")[0], 1)
        apply(patch)
        self.assertEqual(self.pytest("test_a.py")[0], 0)

    def test_what_cannot_be_put_back_is_said(self):
        self.write(test_a="def test_a(): pass\ndef test_b(): pass\n")
        state = [{"where": "threading.enumerate() 'x'", "kind": "thread", "after": "alive"}]
        request = dict(is_brittle=False, target="test_a.py::test_b", helpers=[], state=state)
        answer = proposals(self.folder, culprits=["test_a.py::test_a"], **request)
        self.assertEqual(answer["patches"], [])
        self.assertIn("no recipe to put back `threading.enumerate() 'x'`", answer["reasons"][0])
        answer = proposals(self.folder, **dict(request, state=[], culprits=["test_a.py::test_a"]))
        self.assertIn("the state they share is not known", answer["reasons"])

    def test_a_patch_applies_with_git(self):
        self.write(shop=SHOP, test_a=FILE.format("shop.RATE = 2", "assert shop.RATE == 1"))
        with open(os.path.join(self.folder, "test_a.py"), "rb+") as file:
            file.seek(-1, os.SEEK_END)
            file.truncate()
        diff = self.request("a")["patches"][0]["diff"]
        git = ["git", "-c", "core.autocrlf=false", "apply", "-"]
        subprocess.run(["git", "init", "-q"], cwd=self.folder, check=True)
        subprocess.run(git, cwd=self.folder, input=diff.encode("utf-8"), check=True)
        self.assertEqual(self.pytest("test_a.py")[0], 0)


if __name__ == "__main__":
    unittest.main()
