"""The functions told are those that a plain ``sys.setprofile`` around the test function sees."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

import engine
from engine import ProjectCase

SOURCE = os.path.join(os.path.dirname(__file__), *[".."] * 3, "crates/tracer/src/library/mod.rs")

REFERENCE = '''
    """A profiler that knows nothing of ours, and the same window: call to return of the test."""
    import json, sys, threading
    import pytest

    @pytest.hookimpl(hookwrapper=True, trylast=True)
    def pytest_pyfunc_call(pyfuncitem):
        if not FILE:
            yield
            return
        code = pyfuncitem.obj.__code__
        seen, window = set(), []

        def profiler(frame, event, arg):
            if event == "call":
                if not window and frame.f_code is code:
                    window.append(frame)
                if window and window[-1] is not None:
                    made = frame.f_code
                    seen.add((made.co_name, made.co_filename, made.co_firstlineno))
            elif not window or window[-1] is None:
                pass
            elif event == "c_call":
                seen.add((arg.__name__, None, None))
            elif event == "return" and frame is window[0]:
                window.append(None)

        threading.setprofile(profiler)
        sys.setprofile(profiler)
        yield
        sys.setprofile(None)
        threading.setprofile(None)
        with open(FILE, "a") as file:
            file.write(json.dumps([pyfuncitem.name, sorted(seen, key=repr)]) + "\\n")
'''

SHOP = """
    import functools, random, threading, time

    class Cart:
        limit = property(lambda self: 3)
        def __init__(self): self.items = []
        def add(self, item):
            self.items.append(item)
            return self
        @classmethod
        def full(cls): return cls().add(1).add(2)
        @staticmethod
        def price(n): return round(n * 1.19, 2)
        def __len__(self): return len(self.items)

    class Locked(Cart):
        def add(self, item):
            with threading.Lock():
                return super().add(item)

    def numbers():
        for n in range(3):
            yield n

    @functools.lru_cache(maxsize=None)
    def rate(currency): return {"EUR": 1.0}.get(currency, 1.1)

    def timed(function):
        @functools.wraps(function)
        def around(*args):
            begun = time.perf_counter()
            try:
                return function(*args)
            finally:
                assert time.perf_counter() >= begun
        return around

    @timed
    def draw(): return random.Random(3).random() + random.randint(1, 6)
"""

TESTS = """
    import pytest, shop, threading, asyncio, datetime, os, unittest.mock

    @pytest.fixture
    def cart():
        os.getcwd()
        yield shop.Cart()
        os.getpid()

    def test_methods(cart):
        assert len(shop.Cart.full()) == 2 and cart.limit == 3 and shop.Cart.price(1)
        assert len(shop.Locked.full()) == 2

    def test_generators(cart):
        assert sorted(n * 2 for n in shop.numbers()) == [0, 2, 4]
        assert [n for n in shop.numbers()]
        stopped = shop.numbers()
        next(stopped)
        with pytest.raises(KeyError):
            stopped.throw(KeyError())

    def test_cached(): assert shop.rate("EUR") == shop.rate("EUR") == 1.0

    def test_random_and_time():
        assert shop.draw() and datetime.datetime.now() and datetime.date.today()

    def test_threads():
        def work(): os.getppid()
        threads = [threading.Thread(target=work) for _ in range(3)]
        for thread in threads: thread.start()
        for thread in threads: thread.join()

    def test_files(tmp_path):
        (tmp_path / "a").write_text("x")
        with open(str(tmp_path / "a")) as file: assert file.read() == "x"

    def test_fails():
        shop.Cart().add(1)
        raise ValueError(len("x"))

    def test_recursion(n=3):
        if n: test_recursion(n - 1)
        os.getpgrp()

    @unittest.mock.patch("os.getuid", lambda: 7)
    def test_patched(): assert os.getuid() == 7

    @pytest.mark.parametrize("n", [1, 2])
    def test_cases(n): assert divmod(n, 1)

    def test_many():
        for call in [abs, len, round] * 10:
            call([] if call is len else 1)

    def test_coroutine():
        async def twice(n):
            await asyncio.sleep(0)
            return 2 * n
        assert asyncio.new_event_loop().run_until_complete(twice(2)) == 4

    def test_nothing(): pass

    @pytest.mark.skip
    def test_skipped(): os.getcwd()
"""

POLYMORPHIC = "test_many"
"""Calls several C functions from one place; ``sys.monitoring`` in Python tells the first."""


def ours(functions):
    """Those in the project, and what it calls itself."""
    return {each for each in functions if os.path.basename(each[1] or "") == "test_a.py"} | {
        each for each in functions if each[0] == "getppid"
    }


def numbers(digits):
    """Four bytes each, the lowest first."""
    data = bytes.fromhex(digits)
    return [int.from_bytes(data[at : at + 4], "little") for at in range(0, len(data), 4)]


def build(folder):
    """The agent with its library beside it, where one can be built; whether it could."""
    target = os.path.join(folder, "unflake_agent")
    shutil.copytree(os.path.dirname(engine.AGENT), target)
    command = ["rustc", "--edition", "2024", "--crate-name", "tracer", "--crate-type", "cdylib"]
    command += ["-O", "-C", "panic=abort"]
    command += ["-o", os.path.join(target, "trace", "tracer.so"), SOURCE]
    try:
        return subprocess.run(command, stderr=subprocess.DEVNULL).returncode == 0
    except OSError:
        return False


class TraceCase(ProjectCase):
    """With an agent that has its library."""

    @classmethod
    def setUpClass(cls):
        cls.place = tempfile.mkdtemp(prefix="unflake-trace-")
        cls.addClassCleanup(shutil.rmtree, cls.place, True)
        cls.means = ["profile"]
        cls.means += ["monitor"] if hasattr(sys, "monitoring") else []
        cls.means += ["native", "told"] if build(cls.place) else []
        agent, engine.AGENT = engine.AGENT, os.path.join(cls.place, "unflake_agent/__main__.py")
        cls.addClassCleanup(setattr, engine, "AGENT", agent)

    def all_pass(self, n_tests):
        """By every means."""
        for means in self.means:
            with self.subTest(means=means):
                self.assertEqual(self.engine().whole(trace=means).outcomes, ["passed"] * n_tests)

    def traced(self, means, *arguments, **how):
        """By test, the functions it called."""
        agent = self.engine(*arguments, **how)
        run = agent.whole(trace=means)
        self.assertTrue(run.is_done, run.exited)
        names, found = [], {}
        for told in run.all("traced"):
            names += told["names"]
            test = agent.ids[told["position"]].split("::")[-1].split(".")[-1]
            found[test] = [names[number] for number in numbers(told["functions"])]
        return found

    def names(self, means, *arguments, **how):
        found = self.traced(means, *arguments, **how)
        return {
            test: {"{module}:{name}".format(**each) for each in functions}
            for test, functions in found.items()
        }


class AsAPlainProfiler(TraceCase):
    def reference(self):
        path = os.path.join(self.folder, "seen")
        self.write(conftest=REFERENCE.replace("FILE", repr(path)), shop=SHOP, test_a=TESTS)
        command = [sys.executable, "-B", "-m", "pytest", "-q", "-p", "no:cacheprovider"]
        subprocess.run(
            command, cwd=self.folder, env=engine.environment(), stdout=subprocess.DEVNULL
        )
        with open(path) as file:
            seen = dict(json.loads(line) for line in file)
        self.write(conftest=REFERENCE.replace("FILE", "None"))
        return {test: set(map(tuple, functions)) for test, functions in seen.items()}

    def test_every_means_tells_the_same_functions(self):
        expected = self.reference()
        self.assertGreater(len(expected), 12)
        for means in self.means:
            traced = self.traced(means)
            self.assertEqual(traced.pop("test_skipped"), [])
            self.assertEqual(set(traced), set(expected))
            for test, functions in traced.items():
                if (means, test) == ("monitor", POLYMORPHIC):
                    continue
                found = {
                    (each["name"].split(".")[-1], each.get("file"), each.get("line"))
                    for each in functions
                }
                wanted = expected[test]
                if test == "test_threads":
                    # What `threading` itself calls depends on who is quicker.
                    found, wanted = ours(found), ours(wanted)
                if means == "told" and hasattr(sys, "monitoring"):
                    # Which leaves out what pytest also calls by itself.
                    wanted = {each for each in wanted if "/_pytest/" not in (each[1] or "")}
                    found = {each for each in found if "/_pytest/" not in (each[1] or "")}
                with self.subTest(means=means, test=test):
                    self.assertEqual(found, wanted)


class Told(TraceCase):
    def test_functions_have_their_module_and_qualified_name(self):
        self.write(shop=SHOP, test_a=TESTS)
        for means in self.means:
            found = self.names(means)
            with self.subTest(means=means):
                drawn = found["test_random_and_time"]
                self.assertLessEqual({"shop:timed.<locals>.around", "shop:draw"}, drawn)
                self.assertLessEqual({"random:Random.randint", "_random:Random.random"}, drawn)
                self.assertLessEqual({"datetime:datetime.now", "datetime:date.today"}, drawn)
                self.assertLessEqual({"shop:Cart.full", "shop:Cart.add"}, found["test_methods"])
                self.assertIn("threading:Thread.start", found["test_threads"])
                self.assertIn("posix:getppid", found["test_threads"])
                self.assertIn("builtins:len", found["test_fails"])
                self.assertEqual(found["test_nothing"], {"test_a:test_nothing"})

    def test_the_makers_of_types_are_told_apart(self):
        self.write(
            test_a="""
            def test_a(): int.__new__(int), tuple.__new__(tuple)
            def test_b(): str.__new__(str)
            """
        )
        for means in self.means:
            found = self.names(means)
            with self.subTest(means=means):
                made = {"builtins:int.__new__", "builtins:tuple.__new__"}
                self.assertEqual(found["test_a"] - {"test_a:test_a"}, made)
                self.assertEqual(found["test_b"], {"builtins:str.__new__", "test_a:test_b"})

    def test_fixtures_and_the_runner_are_not_told(self):
        self.write(shop=SHOP, test_a=TESTS)
        for means in self.means:
            told = self.names(means)["test_methods"]
            with self.subTest(means=means):
                self.assertFalse({"posix:getcwd", "posix:getpid", "test_a:cart"} & told)
                self.assertFalse([name for name in told if name.startswith(("_pytest", "pluggy"))])

    def test_the_methods_of_test_cases_are_traced_without_their_set_up(self):
        self.write(
            test_a="""
            import os, unittest
            class TestA(unittest.TestCase):
                def setUp(self): os.getcwd()
                def tearDown(self): os.getpid()
                def test_a(self): self.assertTrue(os.getppid())
            class TestB(unittest.IsolatedAsyncioTestCase):
                async def asyncSetUp(self): os.getcwd()
                async def test_b(self): os.getppid()
            """
        )
        for means in self.means:
            for runner in ("pytest", "unittest"):
                found = self.names(means, runner=runner)
                with self.subTest(means=means, runner=runner):
                    for told in found.values():
                        self.assertIn("posix:getppid", told)
                        self.assertFalse({"posix:getcwd", "posix:getpid"} & told)
                    self.assertIn("unittest.case:TestCase.assertTrue", found["test_a"])

    def test_a_second_attempt_is_told_anew_and_names_only_once(self):
        self.write(test_a="import os\ndef test_a(): os.getcwd()")
        for means in self.means:
            run = self.engine().whole(trace=means, twice=True)
            first, second = run.all("traced")
            with self.subTest(means=means):
                self.assertEqual(first["functions"], second["functions"])
                self.assertEqual((len(first["names"]), second["names"]), (2, []))
                self.assertEqual([first["attempt"], second["attempt"]], [0, 1])

    def test_without_being_asked_nothing_is_told(self):
        self.write(test_a="def test_a(): pass")
        self.assertEqual(self.engine().whole().all("traced"), [])


class Hostile(TraceCase):
    def test_a_profiler_of_the_test_is_left_alone(self):
        self.write(
            test_a="""
            import sys
            SEEN = []
            def profiler(*args): SEEN.append(args)
            def test_sets(): sys.setprofile(profiler)
            def test_has_it_still(): assert sys.getprofile() is profiler; sys.setprofile(None)
            def test_goes_on(): assert len(SEEN)
            """
        )
        for means in self.means:
            agent = self.engine()
            with self.subTest(means=means):
                self.assertEqual(agent.whole(trace=means).outcomes, ["passed"] * 3)

    def test_nothing_that_a_test_makes_is_kept_alive(self):
        self.write(
            test_a="""
            import gc, weakref
            class Mine(list): pass
            def test_a():
                class Here(Mine): pass
                here = Here()
                here.append(1)
                seen = [weakref.ref(here), weakref.ref(Here)]
                del here, Here
                gc.collect()
                assert [each() for each in seen] == [None, None]
            """
        )
        for means in self.means:
            with self.subTest(means=means):
                self.assertEqual(self.engine().whole(trace=means).outcomes, ["passed"])

    def test_threads_that_outlive_their_test_harm_nobody(self):
        self.write(
            test_a="""
            import os, threading
            GO, DONE = threading.Event(), threading.Event()
            def work():
                GO.wait()
                os.getppid()
                DONE.set()
            def test_starts(): threading.Thread(target=work, daemon=True).start()
            def test_between(): pass
            def test_ends():
                GO.set()
                DONE.wait()
            """
        )
        for means in self.means:
            agent = self.engine()
            with self.subTest(means=means):
                self.assertEqual(agent.whole(trace=means).outcomes, ["passed"] * 3)

    def test_a_test_that_calls_very_much_is_told_like_any_other_and_so_is_the_next(self):
        body = "for n in range(30_000): abs(n)\n    os.getppid()"
        self.write(
            test_a=f"import os\ndef test_a():\n    {body}\ndef test_b():\n    abs(1); os.getppid()"
        )
        for means in self.means:
            found = self.names(means)
            with self.subTest(means=means):
                for test, told in found.items():
                    calls = {"builtins:abs", "posix:getppid", f"test_a:{test}"}
                    self.assertEqual(told - {"builtins:range"}, calls)

    def test_a_function_that_one_test_calls_very_often_is_told_of_the_next_like_any_other(self):
        self.write(
            shop="""
            def total(n):
                for each in range(n): abs(each)
                return divmod(n, 2)
            """,
            test_a="""
            import shop
            def test_a(): shop.total(30_000)
            def test_b(): shop.total(1)
            def test_c():
                for n in range(600): shop.total(1)
            def test_d(): shop.total(1)
            """,
        )
        for means in self.means:
            found = self.names(means)
            with self.subTest(means=means):
                for test, told in found.items():
                    calls = {"builtins:abs", "builtins:divmod", "shop:total", f"test_a:{test}"}
                    self.assertEqual(told - {"builtins:range"}, calls)

    def test_every_test_of_many_is_told_and_what_fixtures_call_in_between_is_not(self):
        self.write(
            test_a="""
            import os, pytest
            @pytest.fixture(autouse=True)
            def around():
                os.getcwd(); helper()
                yield
                os.getcwd(); helper()
            def helper(): return len([])
            @pytest.mark.parametrize("n", range(30))
            def test_a(n):
                os.getppid()
                if n % 2: helper()
            """
        )
        for means in self.means:
            found = self.names(means)
            with self.subTest(means=means):
                for n in range(30):
                    calls = {"posix:getppid", "test_a:test_a"}
                    more = {"test_a:helper", "builtins:len"} if n % 2 else set()
                    self.assertEqual(found[f"test_a[{n}]"], calls | more)

    def test_a_profiler_that_a_test_leaves_is_told_what_fixtures_call_later(self):
        self.write(
            test_a="""
            import os, sys, pytest
            SEEN = []
            def profiler(frame, event, arg): SEEN.append((event, arg))
            @pytest.fixture
            def calls(): return os.getcwd()
            @pytest.mark.parametrize("n", range(20))
            def test_a(n): pass
            def test_sets(): sys.setprofile(profiler)
            def test_is_told(calls):
                sys.setprofile(None)
                assert ("c_call", os.getcwd) in SEEN
            """
        )
        for means in self.means:
            with self.subTest(means=means):
                run = self.engine().whole(trace=means)
                self.assertEqual(run.outcomes, ["passed"] * 22)


if __name__ == "__main__":
    unittest.main()
