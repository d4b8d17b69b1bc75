"""Each dirty test is told with exactly what it left changed; clean ones are told with nothing."""

import os
import unittest

from engine import ALL, ProjectCase, only_where_permitted

KINDS = [
    "global", "class-attribute", "default-argument", "closure", "cache", "modules", "path",
    "environment", "cwd", "umask", "locale", "timezone", "logging", "warnings", "random", "signal",
    "event-loop", "thread", "process", "descriptor", "mock", "file", "sqlite", "tempfile",
    "interpreter",
]  # fmt: skip

SHOP = """
    import collections, contextvars, dataclasses, enum, functools, itertools, random, threading

    SETTINGS = {"currency": "EUR", "rates": {"USD": 1.1}, 7: ["a"]}
    LIMIT = 3
    LOG = ["start"]
    SEEN = {1, 2}
    RECENT = collections.deque([1, 2], maxlen=5)
    COUNTS = collections.Counter(a=1)
    RAW = bytearray(b"abc")
    PAIR = ([1], "x")
    NUMBERS = itertools.count(1)
    DICE = random.Random(3)
    CURRENT = contextvars.ContextVar("current", default=None)
    CURRENT.set("nobody")
    LOCAL = threading.local()
    LOCAL.user = "nobody"

    class Colour(enum.Enum):
        RED = 1
        BLUE = 2

    @dataclasses.dataclass
    class Address:
        street: str = "Main"
        colour: Colour = Colour.RED

    class Slotted:
        __slots__ = ("size", "spare")
        def __init__(self): self.size = 1

    class Customer:
        default = "anonymous"
        known = []
        def __init__(self):
            self.address = Address()
            self.slotted = Slotted()
            self.me = self
        @property
        def trap(self): raise RuntimeError("a property was read")
        @staticmethod
        def greet(words=[]): words.append(1)
        def rename(self): return 1

    CUSTOMER = Customer()

    class Only:
        a = ["x"]
        def __init__(self): self.a = ["x"]
        def method(self, seen=[]): pass

    class More(list): pass

    ONLY = Only()
    LISTS = [["a"], ["b"], []]
    MORE = More([ONLY])
    MANY = {ONLY: [1], (1, 2): 2}

    def discount(price, rates=[], *, names={}):
        rates.append(price); names[price] = 1

    def counter():
        n = 0
        def step():
            nonlocal n
            n += 1
        return step
    step = counter()

    def call(): pass

    @functools.lru_cache(maxsize=None)
    def rate(x): return x
"""

DIRTY = {
    "SETTINGS['currency'] = 'USD'": [("global", "shop.SETTINGS['currency']", "'EUR'", "'USD'")],
    "SETTINGS['new'] = [1]": [("global", "shop.SETTINGS['new']", None, "[1]")],
    "del SETTINGS['rates']['USD']": [("global", "shop.SETTINGS['rates']['USD']", "1.1", None)],
    "SETTINGS[7].append('b')": [("global", "shop.SETTINGS[7][1]", None, "'b'")],
    "shop.LIMIT = 5": [("global", "shop.LIMIT", "3", "5")],
    "shop.NEW = 5": [("global", "shop.NEW", None, "5")],
    "del shop.LIMIT": [("global", "shop.LIMIT", "3", None)],
    "shop.LOG = ['other']": [("global", "shop.LOG[0]", "'start'", "'other'")],
    "shop.LOG = None": [("global", "shop.LOG", "['start']", "None")],
    "shop.LOG.insert(0, 'x')": [("global", "shop.LOG", "['start']", "['x', 'start']")],
    "shop.SEEN.add(3)": [("global", "shop.SEEN", "{1, 2}", "{1, 2, 3}")],
    "shop.RECENT.append(3)": [("global", "shop.RECENT[2]", None, "3")],
    "shop.COUNTS['a'] += 1": [("global", "shop.COUNTS['a']", "1", "2")],
    "shop.RAW[0] = 65": [("global", "shop.RAW", "bytearray(b'abc')", "bytearray(b'Abc')")],
    "shop.PAIR[0].append(2)": [("global", "shop.PAIR[0][1]", None, "2")],
    "next(shop.NUMBERS)": [("global", "shop.NUMBERS", "count(1)", "count(2)")],
    "shop.CURRENT.set('me')": [("global", "shop.CURRENT.get()", "'nobody'", "'me'")],
    "shop.LOCAL.user = 'me'": [("global", "shop.LOCAL.user", "'nobody'", "'me'")],
    "shop.CUSTOMER.address.street = 'Side'": [
        ("global", "shop.CUSTOMER.address.street", "'Main'", "'Side'")
    ],
    "shop.CUSTOMER.address.colour = shop.Colour.BLUE": [
        (
            "global",
            "shop.CUSTOMER.address.colour",
            "<shop.Colour.RED>",
            "<shop.Colour.BLUE>",
        )
    ],
    "shop.CUSTOMER.slotted.size = 2": [("global", "shop.CUSTOMER.slotted.size", "1", "2")],
    "shop.CUSTOMER.slotted.spare = 2": [("global", "shop.CUSTOMER.slotted.spare", None, "2")],
    "shop.call = len": [("global", "shop.call", "<function shop.call>", "<function len>")],
    "shop.call.calls = 1": [("global", "shop.call.calls", None, "1")],
    "import time; time.sleep = len": [
        ("global", "time.sleep", "<function sleep>", "<function len>")
    ],
    "shop.Customer.default = 'x'": [
        ("class-attribute", "shop.Customer.default", "'anonymous'", "'x'")
    ],
    "shop.Customer.known.append(1)": [("class-attribute", "shop.Customer.known[0]", None, "1")],
    "shop.Customer.rename = None": [
        ("class-attribute", "shop.Customer.rename", "<function shop.Customer.rename>", "None")
    ],
    "shop.discount(5)": [
        ("default-argument", "shop.discount() default argument rates[0]", None, "5"),
        ("default-argument", "shop.discount() default argument names[5]", None, "1"),
    ],
    "shop.Customer.greet()": [
        ("default-argument", "shop.Customer.greet() default argument words[0]", None, "1")
    ],
    "shop.step()": [("closure", "shop.counter.<locals>.step() closure variable n", "0", "1")],
    "shop.rate(1)": [("cache", "shop.rate.cache_info().currsize", "0", "1")],
    "import sys; sys.modules['fake'] = sys": [("modules", "sys.modules['fake']", None, "<module>")],
    "import sys; sys.path.insert(0, '/x')": [("path", "sys.path", None, "'/x'")],
    "import sys; sys.argv = ['x', *sys.argv[1:]]": [("path", "sys.argv", "…", "'x'")],
    "os.environ['NEW'] = '1'": [("environment", "os.environ['NEW']", None, "'1'")],
    "os.chdir('/')": [("cwd", "os.getcwd()", "…", "'/'")],
    "os.umask(0o077)": [("umask", "os.umask()", "0o022", "0o077")],
    "import locale; locale.setlocale(locale.LC_NUMERIC, 'C.UTF-8')": [
        ("locale", "locale.setlocale(locale.LC_NUMERIC)", "'C'", "'C.UTF-8'")
    ],
    "import time; os.environ['TZ'] = 'Asia/Tokyo'; time.tzset()": [
        ("environment", "os.environ['TZ']", "'UTC'", "'Asia/Tokyo'"),
        ("timezone", "time.tzname", "('UTC', 'UTC')", "('JST', 'JST')"),
    ],
    "import logging; logging.getLogger('x').setLevel(10)": [
        ("logging", "logging.getLogger('x').level", "0", "10")
    ],
    "import logging; logging.getLogger('y').addHandler(logging.NullHandler())": [
        ("logging", "logging.getLogger('y').handlers", "[]", "[<logging.NullHandler>]")
    ],
    "import logging; logging.disable(30)": [("logging", "logging.root.manager.disable", "0", "30")],
    "import random; random.random()": [("random", "random.getstate()", "…", "…")],
    "shop.DICE.random()": [("random", "shop.DICE.getstate()", "…", "…")],
    "import signal; signal.signal(signal.SIGUSR1, shop.call)": [
        ("signal", "signal.getsignal(signal.SIGUSR1)", "SIG_DFL", "<function shop.call>")
    ],
    "import asyncio; asyncio.set_event_loop(None)": [
        ("event-loop", "asyncio.get_event_loop()", "(none yet)", "(set to none)")
    ],
    "import threading; threading.Thread(target=input_for_ever, name='w', daemon=True).start()": [
        ("thread", "threading.enumerate() 'w'", None, "<threading.Thread>")
    ],
    "import subprocess; shop.sleeper = subprocess.Popen(['sleep', '1000'])": [
        ("global", "shop.sleeper", None, "<subprocess.Popen>"),
        ("process", "child process 'sleep'", None, "running"),
    ],
    "os.open('/dev/null', 0)": [("descriptor", "…", None, "/dev/null")],
    "from unittest import mock; mock.patch('shop.LIMIT', 9).start()": [
        ("mock", "shop.LIMIT", None, "patched")
    ],
    "open('new.txt', 'w').close()": [("file", "new.txt", None, "0 bytes")],
    "open('there.txt', 'w').write('xy')": [("file", "there.txt", "(as it was)", "2 bytes")],
    "os.remove('there.txt')": [("file", "there.txt", "(as it was)", None)],
    "os.makedirs('made/here')": [("file", "made/here", None, "an empty folder")],
    "import tempfile; tempfile.mkdtemp()": [("tempfile", "$TMPDIR/tmp********", None, "a folder")],
    "import sys; sys.setrecursionlimit(2000)": [
        ("interpreter", "sys.getrecursionlimit()", "1000", "2000")
    ],
}

HEAP = ("global", "class-attribute", "default-argument", "closure", "cache")

MORE_DIRTY = [
    # The same values under another name, or in another place.
    "SETTINGS['coin'] = SETTINGS.pop('currency')",
    "shop.Only.b = shop.Only.__dict__['a']; del shop.Only.a",
    "o = shop.ONLY; o.b = o.a; del o.a",
    "shop.LISTS[1].insert(0, shop.LISTS[0].pop())",
    "shop.LISTS[1].insert(0, shop.LISTS[0].pop(0))",
    "shop.MORE.attribute = 1",
    "shop.MORE.append(1)",
    "shop.MANY[(1, 2)] = 3",
    "shop.MANY[shop.ONLY].append(3)",
    "shop.Only.method.attribute = 2",
    "shop.DICE.random()",
]

CLEAN = [
    "pass",
    "assert SETTINGS['currency'] == 'EUR'",
    "shop.SETTINGS['x'] = 1; del shop.SETTINGS['x']",
    "shop.LOG.append(1); shop.LOG.pop()",
    "shop.LOG = list(shop.LOG)",
    "shop.CUSTOMER.address = shop.Address()",
    "import logging; logging.getLogger('asked-for')",
    "import json.tool",
    "open('mine', 'w').close(); os.remove('mine')",
    "import tempfile; tempfile.TemporaryDirectory().cleanup()",
    "hash(shop.Colour.RED)",
    "raise ValueError(SETTINGS)",
    "import unittest.mock\n    with unittest.mock.patch('shop.LIMIT', 9): pass",
]

HEAD = """
import os
import shop
from shop import SETTINGS
import other_user
def input_for_ever():
    import threading
    threading.Event().wait()
"""


def test_of(statement):
    return f"def test_it():\n    {statement}\n"


class Kinds(ProjectCase):
    """One file for each test, all in one run, each undone by running alone."""

    def setUp(self):
        super().setUp()
        self.write(shop=SHOP, other_user="from shop import *\nfrom shop import SETTINGS as S\n")
        self.write_file("there.txt", "original")

    def engine_for(self, statements, *arguments, **how):
        for number, statement in enumerate(statements):
            self.write_file(f"test_{number:02}.py", HEAD + test_of(statement))
        how.setdefault("env", {"TZ": "UTC"})
        return self.engine("-p", "no:cacheprovider", *arguments, **how)

    @only_where_permitted("tree", "home")
    def test_each_dirty_test_is_told_with_exactly_its_state(self):
        with self.engine_for(DIRTY) as engine:
            for number, (statement, expected) in enumerate(DIRTY.items()):
                with self.subTest(statement):
                    run = engine.run([number], isolation=ALL, watch=KINDS)
                    self.assertEqual(told(run.ends[0]), masked(expected, run.ends[0]))

    def test_after_a_long_calm_it_is_told_the_same(self):
        # Then everything is looked at as a whole first.
        statements = [s for s, told in DIRTY.items() if told[0][0] in HEAP] + MORE_DIRTY
        with self.engine_for(statements + ["pass"]) as engine:
            calm = [len(statements)] * 40
            for number, statement in enumerate(statements):
                with self.subTest(statement):
                    alone = engine.run([number], watch=["all"])
                    late = engine.run(calm + [number, len(statements)], watch=["all"])
                    self.assertEqual([told(end) for end in late.ends[:40]], [[]] * 40)
                    self.assertTrue(told(alone.ends[0]))
                    self.assertEqual(told(late.ends[-2]), told(alone.ends[0]))
                    self.assertEqual(told(late.ends[-1]), [])

    @only_where_permitted("tree", "home")
    def test_clean_tests_are_told_with_nothing(self):
        engine = self.engine_for(CLEAN)
        run = engine.whole(isolation=ALL, watch=KINDS)
        self.assertEqual([told(end) for end in run.ends], [[]] * len(CLEAN))

    def test_a_change_is_told_of_the_test_that_made_it_only(self):
        statements = ["pass", "shop.LIMIT += 1", "pass", "shop.LIMIT += 1", "shop.LIMIT = 3"]
        run = self.engine_for(statements).whole(watch=["global"])
        said = [[(b, a) for _, _, b, a in told(end)] for end in run.ends]
        self.assertEqual(said, [[], [("3", "4")], [], [("4", "5")], [("5", "3")]])

    def test_only_what_is_asked_for_is_told(self):
        statement = "shop.LIMIT = 1; shop.Customer.default = 1; os.environ['X'] = ''"
        engine = self.engine_for([statement])
        for kind in ("global", "class-attribute", "environment", "cwd"):
            run = engine.whole(watch=[kind])
            expected = [] if kind == "cwd" else [kind]
            self.assertEqual([change[0] for change in told(run.ends[0])], expected)
        self.assertNotIn("changes", engine.whole().ends[0])

    def test_warnings_filters_are_told(self):
        # pytest puts them back after each test.
        engine = self.engine_for(
            ["import warnings; warnings.simplefilter('error')"], "-p", "no:warnings"
        )
        (change,) = told(engine.whole(watch=["warnings"]).ends[0])
        self.assertEqual(change[:3], ("warnings", "warnings.filters", None))

    def test_teardown_counts(self):
        self.write(
            test_fixture="""
            import pytest, shop
            @pytest.fixture
            def cleans():
                yield
                shop.LIMIT = 3
            def test_it(cleans): shop.LIMIT = 4
            """
        )
        run = self.engine("test_fixture.py").whole(watch=["global"])
        self.assertEqual(told(run.ends[0]), [])

    def test_what_fixtures_change_that_outlive_a_test_is_told_as_theirs_if_asked_for(self):
        self.write(
            test_fixture="""
            import os, pytest, shop
            @pytest.fixture(scope="module")
            def limit():
                shop.LIMIT = 4
                yield
                shop.LIMIT = 3
            @pytest.fixture(scope="session", autouse=True)
            def stays(): shop.Customer.default = "x"
            @pytest.fixture
            def short(): os.environ["X"] = "1"
            def setup_module(): shop.LOG.append("set up")
            def teardown_module(): shop.LOG.pop()
            def test_a(limit): shop.SETTINGS["currency"] = "USD"
            def test_b(request, short):
                shop.SETTINGS["currency"] = "EUR"
                request.getfixturevalue("late")
            @pytest.fixture(scope="module")
            def late(): shop.NEW = 1
            """,
            test_other="""
            import pytest, shop
            @pytest.fixture(scope="module")
            def limit():
                shop.LIMIT = 4
                yield
                shop.LIMIT = 3
            def test_alone(limit): pass
            """,
        )
        engine = self.engine("test_fixture.py", "test_other.py")
        run = engine.whole(watch=["all", "fixtures"])
        told_by = [
            sorted((change["where"], change.get("by")) for change in end["changes"])
            for end in run.ends
        ]
        self.assertEqual(
            told_by,
            [
                [
                    ("shop.Customer.default", "session fixture stays"),
                    ("shop.LIMIT", "module fixture limit"),
                    ("shop.LOG[1]", "module fixture setup_module"),
                    ("shop.SETTINGS['currency']", None),
                ],
                [
                    ("os.environ['X']", None),
                    ("shop.LIMIT", None),
                    ("shop.LOG[1]", None),
                    ("shop.NEW", "module fixture late"),
                    ("shop.SETTINGS['currency']", None),
                ],
                [],
            ],
        )
        asked_not = engine.whole(watch=["all"])
        self.assertFalse(any("by" in c for end in asked_not.ends for c in end["changes"]))

    def test_many_changes_are_counted(self):
        statement = "for n in range(70): setattr(shop, f'n{n}', n)"
        (end,) = self.engine_for([statement]).whole(watch=["global"]).ends
        self.assertEqual((len(end["changes"]), end["more"]), (50, 20))

    def test_many_changes_in_one_container_are_one(self):
        statement = "shop.SETTINGS.update((n, n) for n in range(100, 200))"
        (end,) = self.engine_for([statement]).whole(watch=["global"]).ends
        self.assertEqual([change["where"] for change in end["changes"]], ["shop.SETTINGS"])
        self.assertLessEqual(len(end["changes"][0]["after"]), 200)

    def test_unittest_is_watched_as_well(self):
        self.write(
            test_case="""
            import unittest, shop
            class Test(unittest.TestCase):
                @classmethod
                def setUpClass(cls): shop.Customer.default = 1
                @classmethod
                def tearDownClass(cls): shop.Customer.default = "anonymous"
                def test_a(self): shop.LIMIT = 4
                def test_b(self): pass
            """
        )
        run = self.engine("test_case", runner="unittest").whole(watch=[*KINDS, "fixtures"])
        where = [sorted(change[1] for change in told(end)) for end in run.ends]
        made = {c["where"]: c.get("by") for c in run.ends[0]["changes"]}
        self.assertEqual(made["shop.Customer.default"], "class fixture setUpClass")
        self.assertIsNone(made["shop.LIMIT"])
        self.assertEqual(
            where, [["shop.Customer.default", "shop.LIMIT"], ["shop.Customer.default"]]
        )

    @only_where_permitted("tree")
    def test_tables_of_a_database_are_named(self):
        self.write(
            test_db="""
            import sqlite3
            def execute(*lines):
                connection = sqlite3.connect("shop.db")
                for line in lines: connection.execute(line)
                connection.commit(); connection.close()
            def test_makes(): execute("create table a (x)", "create table b (x)")
            def test_fills(): execute("insert into b values (1)")
            def test_changes(): execute("update b set x = 2")
            """
        )
        run = self.engine("test_db.py").whole(watch=["sqlite"], isolation=["tree"])
        self.assertEqual(
            [told(end) for end in run.ends],
            [
                [
                    ("sqlite", "shop.db table a", None, "0 rows"),
                    ("sqlite", "shop.db table b", None, "0 rows"),
                ],
                [("sqlite", "shop.db table b", "0 rows", "1 rows")],
                [("sqlite", "shop.db table b", "1 rows", "1 rows")],
            ],
        )

    def test_third_parties_are_watched_if_asked_for(self):
        packages = os.path.join(self.folder, "venv", "site-packages")
        self.write_file("venv/site-packages/theirs.py", "STATE = {}")
        self.write_file("test_00.py", "import theirs\ndef test_it(): theirs.STATE[1] = 1")
        engine = self.engine("test_00.py", env={"PYTHONPATH": packages})
        self.assertEqual(told(engine.whole(watch=["global"]).ends[0]), [])
        run = engine.whole(watch=["global", "third-party"])
        self.assertEqual(told(run.ends[0]), [("global", "theirs.STATE[1]", None, "1")])


def told(end):
    return [tuple(change[key] for key in ("kind", "where", "before", "after"))
            for change in end["changes"]]  # fmt: skip


def masked(expected, end):
    """The expectation, with what is another each time filled in from what was told."""
    found = told(end)
    if len(found) != len(expected):
        return expected
    return [
        tuple(f if e == "…" else e for e, f in zip(one, other))
        for one, other in zip(expected, found)
    ]


if __name__ == "__main__":
    unittest.main()
