"""What reading marks instead of being told of calls could get wrong, and no means may."""

import sys
import unittest

from test_trace import TraceCase


class Marks(TraceCase):
    def test_a_test_that_another_test_called_before_is_told_like_any_other(self):
        self.write(
            test_a="""
            import os
            def test_a(): test_b()
            def test_b(): helper()
            def helper(): os.getppid()
            """
        )
        for means in self.means:
            found = self.names(means)
            with self.subTest(means=means):
                calls = {"test_a:test_b", "test_a:helper", "posix:getppid"}
                self.assertEqual(found["test_a"], calls | {"test_a:test_a"})
                self.assertEqual(found["test_b"], calls)

    def test_what_c_code_calls_is_not_told_unless_the_code_of_the_test_names_it(self):
        self.write(
            shop="import functools\nletters = functools.partial(map, ord)",
            test_a="import shop\ndef test_a(): assert [*shop.letters('ab')]",
        )
        for means in self.means:
            with self.subTest(means=means):
                self.assertEqual(self.names(means)["test_a"], {"test_a:test_a"})

    def test_a_function_is_told_whatever_name_it_is_called_by(self):
        self.write(
            test_a="""
            import os, time
            from os import getppid as parent
            class Parents:
                _ask = os.getppid
                def __init__(self): self._getcwd = os.getcwd
                def ask(self): return self._ask(), self._getcwd()
            def test_global(): parent()
            def test_class(): Parents().ask()
            def test_default(call=os.getpgrp): getattr(os, "getpgrp")
            def test_string(): getattr(os, "getppid")()
            def test_local():
                getppid = os.getppid
                getppid()
            def test_other_global(): time.monotonic()
            """
        )
        for means in self.means:
            found = self.names(means)
            with self.subTest(means=means):
                for test in ("test_global", "test_class", "test_string", "test_local"):
                    self.assertIn("posix:getppid", found[test])
                self.assertIn("posix:getcwd", found["test_class"])
                self.assertNotIn("posix:getpgrp", found["test_default"])
                self.assertIn("time:monotonic", found["test_other_global"])

    def test_a_function_in_c_is_told_the_first_time_and_every_time(self):
        self.write(
            test_a="""
            import os, pytest
            @pytest.fixture
            def outside(): os.getpgrp()
            def test_first(): os.getppid()
            def test_again(): os.getppid(); object.__new__(object)
            def test_other(outside): os.getsid; object.__new__(object)
            def test_later(outside): os.getpgrp(); os.getppid(); os.getpgrp
            """
        )
        known = {"posix:getppid", "posix:getpgrp", "posix:getsid"}
        for means in self.means:
            found = self.names(means)
            with self.subTest(means=means):
                self.assertEqual(found["test_first"] & known, {"posix:getppid"})
                self.assertEqual(found["test_again"] & known, {"posix:getppid"})
                self.assertEqual(found["test_other"] & known, set())
                self.assertEqual(found["test_later"] & known, {"posix:getppid", "posix:getpgrp"})
                self.assertEqual(found["test_again"] - found["test_first"] - {"test_a:test_again"},
                                 found["test_other"] - {"test_a:test_other"})  # fmt: skip

    def test_functions_of_a_library_that_a_test_imports_are_told_of_the_next(self):
        self.write(
            test_a="""
            def test_imports(): import cmath
            def test_calls():
                import cmath
                cmath.sqrt(4)
            """
        )
        for means in self.means:
            with self.subTest(means=means):
                self.assertIn("cmath:sqrt", self.names(means)["test_calls"])

    def test_exceptions_and_what_they_pass_are_told(self):
        self.write(
            test_a="""
            import os, pytest
            def fails(): raise ValueError(os.getppid())
            def catches():
                try: fails()
                except ValueError: os.getpgrp()
            def test_a(): catches()
            def test_b():
                with pytest.raises(ValueError): fails()
                catches()
            def test_c(): catches(); fails()
            def test_d(): pass
            """
        )
        for means in self.means:
            found = self.names(means)
            with self.subTest(means=means):
                calls = {"test_a:fails", "test_a:catches", "posix:getppid", "posix:getpgrp"}
                self.assertEqual(found["test_a"], calls | {"test_a:test_a"})
                self.assertLessEqual(calls, found["test_b"])
                self.assertEqual(found["test_c"], calls | {"test_a:test_c"})
                self.assertEqual(found["test_d"], {"test_a:test_d"})

    def test_a_test_that_calls_itself_or_another_ends_when_it_is_left(self):
        self.write(
            test_a="""
            import os, functools
            def helper(): os.getppid()
            def test_itself(n=2):
                if n == 0: raise ValueError
                try: test_itself(n - 1)
                except ValueError: helper()
            def test_falls(n=2):
                if n == 0: raise ValueError
                test_falls(n - 1)
            def test_another():
                try: test_falls()
                except ValueError: helper()
            test_partial = functools.partial(test_falls, 1)
            class TestMethod:
                def test_method(self):
                    helper()
                    raise ValueError
            def test_none(): pass
            """
        )
        helper = {"test_a:helper", "posix:getppid"}
        for means in self.means:
            found = self.names(means)
            with self.subTest(means=means):
                self.assertEqual(found["test_itself"], helper | {"test_a:test_itself"})
                self.assertEqual(found["test_falls"], {"test_a:test_falls"})
                tests = {"test_a:test_another", "test_a:test_falls"}
                self.assertEqual(found["test_another"], helper | tests)
                self.assertEqual(found["test_partial"], {"test_a:test_falls"})
                method = {"test_a:TestMethod.test_method"}
                self.assertEqual(found["test_method"], helper | method)
                self.assertEqual(found["test_none"], {"test_a:test_none"})

    def test_tests_that_a_test_runs_belong_to_it(self):
        self.write(
            inner="""
            def test_inner(): helper()
            def helper(): pass
            """,
            test_a="""
            import os, pytest
            def helper(): os.getppid()
            def test_outer():
                pytest.main(["-q", "-p", "no:cacheprovider", "inner.py"])
                helper()
            def test_none(): pass
            """,
        )
        for means in self.means:
            found = self.names(means)
            with self.subTest(means=means):
                told = {"inner:test_inner", "inner:helper", "test_a:helper", "posix:getppid"}
                self.assertLessEqual(told, found["test_outer"])
                self.assertEqual(found["test_none"], {"test_a:test_none"})

    def test_what_the_variables_of_a_test_do_at_its_end_belongs_to_no_other(self):
        self.write(
            test_a="""
            import os
            class Closes:
                def __del__(self): os.getppid()
            def test_keeps(): kept = Closes()
            def test_fails():
                kept = Closes()
                raise ValueError
            def test_none(): pass
            """
        )
        for means in self.means:
            found = self.names(means)
            with self.subTest(means=means):
                for test in ("test_keeps", "test_fails"):
                    self.assertIn(f"test_a:{test}", found[test])
                self.assertEqual(found["test_none"], {"test_a:test_none"})

    @unittest.skipUnless(hasattr(sys, "monitoring"), "there is nothing to monitor with")
    def test_a_tool_that_was_there_first_is_told_of_tests(self):
        self.write(
            conftest="""
            import sys
            M, TOOL = sys.monitoring, 2
            SEEN = []
            M.use_tool_id(TOOL, "mine")
            M.register_callback(TOOL, M.events.PY_START, lambda code, at: SEEN.append(code))
            M.set_events(TOOL, M.events.PY_START)
            """,
            test_a="""
            import conftest
            def helper(): pass
            def test_a():
                helper()
                assert {test_a.__code__, helper.__code__} <= {*conftest.SEEN}
            def test_b():
                conftest.SEEN.clear()
                test_a.__code__, helper()
                assert [*conftest.SEEN] == [helper.__code__]
            """,
        )
        for means in self.means:
            found = self.names(means)
            with self.subTest(means=means):
                self.assertEqual(self.engine().whole(trace=means).outcomes, ["passed"] * 2)
                for test, told in found.items():
                    self.assertLessEqual({"test_a:helper", f"test_a:{test}"}, told)

    def test_code_is_told_however_often_it_has_run(self):
        self.write(
            test_a="""
            import os, pytest
            def often(): return os.getppid()
            def seldom(): return os.getpgrp()
            def steps():
                while True: yield
            STEPS = steps()
            @pytest.fixture
            def outside(): seldom()
            @pytest.mark.parametrize("number", range(50))
            def test_often(number):
                for _ in range(5): often()
                if number % 7 == 0:
                    seldom()
                    next(STEPS)
            def test_fixture(outside): often()
            def test_none(): pass
            """
        )
        always = {"test_a:test_often", "test_a:often", "posix:getppid"}
        sometimes = {"test_a:seldom", "test_a:steps", "posix:getpgrp", "builtins:next"}
        for means in self.means:
            found = self.names(means)
            with self.subTest(means=means):
                for number in range(50):
                    more = sometimes if number % 7 == 0 else set()
                    self.assertEqual(found[f"test_often[{number}]"], always | more)
                told = {"test_a:test_fixture", "test_a:often", "posix:getppid"}
                self.assertEqual(found["test_fixture"], told)
                self.assertEqual(found["test_none"], {"test_a:test_none"})

    @unittest.skipUnless(hasattr(sys, "monitoring"), "there is nothing to monitor with")
    def test_tools_of_a_test_are_told_everything_and_disturb_nothing(self):
        self.write(
            test_a="""
            import os, sys
            M, TOOL = sys.monitoring, 2
            SEEN = []
            def helper(): os.getppid()
            def test_before(): helper()
            def test_tool():
                M.use_tool_id(TOOL, "mine")
                M.register_callback(TOOL, M.events.PY_START, lambda code, at: SEEN.append(code))
                M.set_events(TOOL, M.events.PY_START)
                helper()
                assert helper.__code__ in SEEN
            def test_still_on():
                SEEN.clear()
                helper()
                assert helper.__code__ in SEEN
                M.restart_events()
            def test_off():
                M.set_events(TOOL, 0)
                M.free_tool_id(TOOL)
                SEEN.clear()
                helper()
                assert not SEEN
            def test_after(): helper()
            """
        )
        for means in self.means:
            found = self.names(means)
            with self.subTest(means=means):
                self.assertEqual(self.engine().whole(trace=means).outcomes, ["passed"] * 5)
                for test, told in found.items():
                    self.assertLessEqual({"test_a:helper", f"test_a:{test}"}, told)
                self.assertEqual(
                    found["test_after"], {"test_a:helper", "test_a:test_after", "posix:getppid"}
                )

    @unittest.skipUnless(hasattr(sys, "monitoring"), "there is nothing to monitor with")
    def test_code_of_which_another_tool_is_told_is_told_as_before(self):
        self.write(
            test_a="""
            import os, sys
            M, TOOL = sys.monitoring, 2
            def helper(): os.getppid()
            def other(): os.getpgrp()
            def steps():
                while True: yield
            STEPS = steps()
            def use():
                for _ in range(20): helper(), other(), next(STEPS)
            def test_often(): use()
            def test_tool():
                helper()
                M.use_tool_id(TOOL, "mine")
                M.register_callback(TOOL, M.events.PY_START, lambda code, at: None)
                M.set_local_events(TOOL, helper.__code__, M.events.PY_START)
            def test_on(): helper()
            def test_both(): helper(), other()
            def test_steps(): next(STEPS)
            def test_traced():
                sys.settrace(lambda *_: None)
                other()
                sys.settrace(None)
            def test_off():
                M.set_local_events(TOOL, helper.__code__, 0)
                M.free_tool_id(TOOL)
            def test_again(): use()
            def test_none(): pass
            """
        )
        helper, other = {"test_a:helper"}, {"test_a:other"}
        steps = {"test_a:steps"}
        expected = {"tool": helper, "on": helper, "both": helper | other, "steps": steps}
        expected.update(traced=other, again=helper | other | steps, none=set())
        for means in self.means:
            found = self.names(means)
            with self.subTest(means=means):
                self.assertEqual(self.engine().whole(trace=means).outcomes, ["passed"] * 9)
                for test, told in expected.items():
                    seen = found["test_" + test] & (helper | other | steps)
                    self.assertEqual(seen, told, test)

    @unittest.skipUnless((3, 12) <= sys.version_info < (3, 13), "it is 3.12 that loses them")
    def test_instructions_that_are_run_as_one_stay_so(self):
        self.write(
            test_a="""
            import dis
            def both(one, other): return one, other
            def test_a():
                both(1, 2)
                run = {each.opname for each in dis.get_instructions(both, adaptive=True)}
                assert "LOAD_FAST__LOAD_FAST" in run
                assert both(1, 2) == (1, 2)
            """
        )
        if "native" in self.means:
            self.assertEqual(self.engine().whole(trace="native").outcomes, ["passed"])

    @unittest.skipUnless(hasattr(sys, "monitoring"), "Python has no monitoring")
    def test_what_code_may_call_is_known_of_code_whose_lines_are_watched(self):
        self.write(
            test_a="""
            import os, sys
            def helper():
                parent = os.getppid
                return parent()
            def test_a():
                sys.monitoring.use_tool_id(3, "lines")
                sys.monitoring.set_events(3, sys.monitoring.events.LINE)
                helper()
                sys.monitoring.set_events(3, 0)
                sys.monitoring.free_tool_id(3)
            """
        )
        if "native" in self.means:
            self.assertLessEqual({"test_a:helper", "posix:getppid"}, self.names("native")["test_a"])


if __name__ == "__main__":
    unittest.main()
