"""What a test left changed is put back before another: that, and nothing else."""

import unittest

from engine import ALL, ProjectCase, only_where_permitted

STATE = """
    import collections, functools, random
    SETTINGS = {"currency": "EUR", "rate": 1.0, "more": [1, 2]}
    ORDERED = collections.OrderedDict(a=1, b=2)
    LOG = ["start", "middle"]
    SEEN = {1}
    RECENT = collections.deque([1])
    RAW = bytearray(b"abc")
    DICE = random.Random(3)
    FIRST = random.Random(3).random()
    class Cart:
        items = []
        size = 1
        def __init__(self): self.owner = "nobody"
        def count(self): return 1
    CART = Cart()
    class Slotted:
        __slots__ = ("size", "spare")
    SLOTTED = Slotted()
    SLOTTED.size = 1
    def discount(price, rates=[]):
        rates.append(price)
        return len(rates)
    def counter():
        n = 0
        def step():
            nonlocal n
            n += 1
            return n
        return step
    step = counter()
    def call(): return 1
    @functools.lru_cache(maxsize=None)
    def rate(x): return SETTINGS["rate"]
    """

PAIRS = [
    # What the polluter does, what the victim needs, and what must be put back between them.
    ("SETTINGS['currency'] = 'USD'", "SETTINGS['currency'] == 'EUR'", "state.SETTINGS['currency']"),
    ("del SETTINGS['currency']", "SETTINGS['currency'] == 'EUR'", "state.SETTINGS['currency']"),
    ("SETTINGS['new'] = 1", "'new' not in SETTINGS", "state.SETTINGS['new']"),
    ("SETTINGS.clear()", "SETTINGS['more'] == [1, 2]", "state.SETTINGS['more']"),
    ("SETTINGS['more'].append(3)", "SETTINGS['more'] == [1, 2]", "state.SETTINGS['more'][2]"),
    ("SETTINGS['more'].pop()", "SETTINGS['more'] == [1, 2]", "state.SETTINGS['more'][1]"),
    ("state.SETTINGS = {}", "state.SETTINGS['rate'] == 1.0", "state.SETTINGS['rate']"),
    ("state.ORDERED['c'] = 3", "list(state.ORDERED) == ['a', 'b']", "state.ORDERED['c']"),
    ("state.LOG.insert(0, 1)", "state.LOG == ['start', 'middle']", "state.LOG"),
    ("state.LOG.clear()", "state.LOG == ['start', 'middle']", "state.LOG"),
    ("state.SEEN.add(2)", "state.SEEN == {1}", "state.SEEN"),
    ("state.RECENT.appendleft(2)", "list(state.RECENT) == [1]", "state.RECENT"),
    ("state.RAW.extend(b'd')", "state.RAW == b'abc'", "state.RAW"),
    ("state.DICE.random()", "state.DICE.random() == state.FIRST", "state.DICE.getstate()"),
    ("state.CART.owner = 1", "state.CART.owner == 'nobody'", "state.CART.owner"),
    ("state.CART.new = 1", "not hasattr(state.CART, 'new')", "state.CART.new"),
    ("state.CART = None", "state.CART.owner == 'nobody'", "state.CART"),
    ("state.SLOTTED.size = 2", "state.SLOTTED.size == 1", "state.SLOTTED.size"),
    ("state.SLOTTED.spare = 2", "not hasattr(state.SLOTTED, 'spare')", "state.SLOTTED.spare"),
    ("del state.LOG", "state.LOG", "state.LOG"),
    ("state.NEW = 1", "not hasattr(state, 'NEW')", "state.NEW"),
    ("state.Cart.items.append(1)", "not state.Cart.items", "state.Cart.items[0]"),
    ("state.Cart.size = 2", "state.Cart.size == 1", "state.Cart.size"),
    ("state.Cart.new = 2", "not hasattr(state.Cart, 'new')", "state.Cart.new"),
    ("state.Cart.count = len", "state.CART.count() == 1", "state.Cart.count"),
    (
        "state.discount(1)",
        "state.discount(1) == 1",
        "state.discount() default argument rates[0]",
    ),
    ("state.step()", "state.step() == 1", "state.counter.<locals>.step() closure variable n"),
    ("state.call.n = 1", "not hasattr(state.call, 'n')", "state.call.n"),
    ("state.call = None", "state.call() == 1", "state.call"),
    (
        "SETTINGS['rate'] = 2; state.rate(1); SETTINGS['rate'] = 1.0",
        "state.rate(1) == 1.0",
        "state.rate.cache_info().currsize",
    ),
    ("os.environ['X'] = '1'", "'X' not in os.environ", "os.environ['X']"),
    ("del os.environ['PRESENT']", "os.environ['PRESENT'] == '1'", "os.environ['PRESENT']"),
    ("os.chdir('/')", "os.getcwd() != '/'", "os.getcwd()"),
    ("os.umask(0o077)", "os.umask(0o022) == 0o022", "os.umask()"),
    ("sys.path.insert(0, 'x')", "'x' not in sys.path", "sys.path"),
    ("sys.argv = []", "sys.argv", "sys.argv"),
    ("sys.modules['fake'] = os", "'fake' not in sys.modules", "sys.modules['fake']"),
    (
        "logging.getLogger('x').setLevel(50)",
        "logging.getLogger('x').isEnabledFor(40)",
        "logging.getLogger('x').level",
    ),
    (
        "logging.getLogger('x').addHandler(logging.NullHandler())",
        "not logging.getLogger('x').handlers",
        "logging.getLogger('x').handlers",
    ),
    (
        "logging.disable(50)",
        "logging.getLogger('x').isEnabledFor(40)",
        "logging.root.manager.disable",
    ),
    (
        "locale.setlocale(locale.LC_NUMERIC, 'C.UTF-8')",
        "locale.setlocale(locale.LC_NUMERIC) == 'C'",
        "locale.setlocale(locale.LC_NUMERIC)",
    ),
    (
        "signal.signal(signal.SIGUSR1, signal.SIG_IGN)",
        "signal.getsignal(signal.SIGUSR1) == signal.SIG_DFL",
        "signal.getsignal(signal.SIGUSR1)",
    ),
    ("mock.patch('state.LOG', 1).start()", "state.LOG == ['start', 'middle']", "state.LOG"),
    ("asyncio.set_event_loop(None)", "loop_can_be_had()", "asyncio.get_event_loop()"),
    ("sys.setrecursionlimit(1500)", "sys.getrecursionlimit() == 1000", "sys.getrecursionlimit()"),
]

FILES = [
    ("open('new', 'w').close()", "not os.path.exists('new')", "new"),
    ("open('there', 'w').close()", "open('there').read() == 'original'", "there"),
    ("os.remove('there')", "open('there').read() == 'original'", "there"),
    ("os.mkdir('folder')", "not os.path.exists('folder')", "folder"),
    ("tempfile.mkdtemp()", "not os.listdir(os.environ['TMPDIR'])", "$TMPDIR/tmp********"),
]

HEAD = """
import asyncio, locale, logging, os, signal, sys, tempfile, warnings
from unittest import mock
import state
from state import SETTINGS
def loop_can_be_had():
    asyncio.get_event_loop_policy().get_event_loop()
    return True
"""


class Restoring(ProjectCase):
    def setUp(self):
        super().setUp()
        self.write(state=STATE)
        self.write_file("there", "original")

    def engine_for(self, pairs):
        for number, (pollute, need, _) in enumerate(pairs):
            tests = f"def test_polluter(): {pollute}\ndef test_victim(): assert {need}\n"
            self.write_file(f"test_{number:02}.py", HEAD + tests)
        return self.engine("-p", "no:cacheprovider", env={"PRESENT": "1"})

    def check(self, pairs, isolation):
        engine = self.engine_for(pairs)
        for number, (pollute, _, item) in enumerate(pairs):
            order = [2 * number, 2 * number + 1]
            for wish, outcome in (
                ({"items": [item]}, "passed"),
                ({"items": ["state.ANOTHER"]}, "failed"),
                ({"items": [item], "all_but": True}, "failed"),
                ({"items": [], "all_but": True}, "passed"),
            ):
                with self.subTest(pollute, **wish):
                    wish["before"] = 1
                    run = engine.run(order, isolation=isolation, restore=wish)
                    self.assertEqual(run.outcomes, ["passed", outcome], run.all("restored"))
                    self.assertTrue(run.is_done)

    def test_the_victim_passes_if_and_only_if_the_guilty_item_is_put_back(self):
        self.check(PAIRS, [])

    @only_where_permitted("tree", "home")
    def test_files_are_put_back(self):
        self.check(FILES, ALL)

    def check_apart(self, pairs, isolation):
        engine = self.engine_for(pairs)
        order = []
        for number in range(len(pairs)):
            polluter, victim = 2 * number, 2 * number + 1
            order += [polluter, victim, victim, polluter] * 2
        wish = {"before": 2, "items": [], "all_but": True, "again": True}
        run = engine.run(order, isolation=isolation, restore=wish)
        for number, (pollute, _, _) in enumerate(pairs):
            with self.subTest(pollute):
                self.assertEqual(
                    run.outcomes[8 * number : 8 * number + 8],
                    ["passed", "failed", "passed", "passed"] * 2,
                )
        self.assertEqual(run.all("restored"), [])
        self.assertTrue(run.is_done)

    def test_tests_apart_meet_only_those_they_stand_with(self):
        self.check_apart(PAIRS, [])

    @only_where_permitted("tree", "home")
    def test_files_are_put_back_between_tests_apart(self):
        self.check_apart(FILES, ALL)

    def test_fixtures_do_not_outlive_tests_apart(self):
        self.write(
            test_it="""
            import pytest
            @pytest.fixture(scope="session")
            def seen(): return []
            def test_a(seen): seen.append("a")
            def test_b(seen): assert seen == ["a"]; seen.append("b")
            """
        )
        wish = {"before": 2, "items": [], "all_but": True, "again": True}
        run = self.engine().run([0, 1] * 3, restore=wish)
        self.assertEqual(run.outcomes, ["passed"] * 6)
        self.assertEqual(self.engine().run([0, 1] * 2).outcomes[3], "failed")

    def test_a_leaf_is_put_back_alone(self):
        self.write(
            test_it="""
            from state import SETTINGS, LOG
            def test_polluter(): SETTINGS.update(currency=1, rate=2); LOG.append(1)
            def test_victim():
                assert (SETTINGS["currency"], SETTINGS["rate"], len(LOG)) == ("EUR", 2, 3)
            """
        )
        wish = {"before": 1, "items": ["state.SETTINGS['currency']"]}
        run = self.engine().run([0, 1], restore=wish, watch=["global"])
        self.assertEqual(run.outcomes, ["passed", "passed"])
        self.assertEqual(
            run.all("restored"), [{"items": ["state.SETTINGS['currency']"], "failed": []}]
        )
        # What was put back is no change of the test that came after it.
        self.assertEqual(run.ends[1]["changes"], [])

    def test_what_cannot_be_put_back_is_told_with_the_reason(self):
        self.write(
            test_it="""
            import itertools, threading
            NUMBERS = itertools.count()
            def test_polluter():
                next(NUMBERS)
                threading.Thread(target=threading.Event().wait, name="w", daemon=True).start()
            def test_victim(): pass
            """
        )
        items = ["test_it.NUMBERS", "threading.enumerate() 'w'", "test_it.UNTOUCHED"]
        run = self.engine().run([0, 1], restore={"before": 1, "items": items})
        (told,) = run.all("restored")
        why = {failure["where"]: failure["why"] for failure in told["failed"]}
        self.assertEqual(told["items"], [])
        self.assertEqual(
            why,
            {
                "test_it.NUMBERS": "it cannot be turned back",
                "threading.enumerate() 'w'": "a thread can only end itself",
                "test_it.UNTOUCHED": "it had not changed",
            },
        )

    def test_it_is_put_back_to_what_it_was_before_the_first_test(self):
        self.write(
            test_it="""
            import state
            def test_a(): state.CART.owner = 1
            def test_b(): state.CART.owner = 2
            def test_c(): assert state.CART.owner == "nobody"
            """
        )
        wish = {"before": 2, "items": ["state.CART.owner"]}
        run = self.engine().run([0, 1, 2], restore=wish)
        self.assertEqual(run.outcomes, ["passed"] * 3)


if __name__ == "__main__":
    unittest.main()
