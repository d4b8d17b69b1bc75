"""What an evaluation hook could break, and no means of tracing may: recursion, other profilers."""

import os
import sys
import unittest

from test_trace import TraceCase

try:
    import greenlet
except ImportError:
    greenlet = None


class Recursion(TraceCase):
    def test_a_recursion_ends_where_it_does_in_a_plain_run(self):
        self.write(
            test_a="""
            def down(n):
                try:
                    return down(n + 1)
                except RecursionError:
                    return n
            def test_a():
                with open("depths", "a") as file: print(down(0), file=file)
            """
        )
        agent = self.engine()
        plain = agent.whole()
        for means in self.means:
            run = agent.whole(trace=means)
            self.assertEqual(run.outcomes, plain.outcomes)
        with open(os.path.join(self.folder, "depths")) as file:
            depths = file.read().split()
        self.assertEqual(len(depths), 1 + len(self.means))
        for means, depth in zip(self.means, depths[1:]):
            if means == "native":
                self.assertEqual(depth, depths[0])

    def test_a_very_deep_recursion_harms_nobody_and_what_it_calls_is_told(self):
        self.write(
            test_a="""
            import os, sys, pytest
            DEPTH = 40_000 if sys.version_info >= (3, 11) else 4_000
            def down(n):
                if n == 0:
                    return late() + len("x")
                return down(n - 1)
            def late(): return os.getppid() and 1
            def ever(n): return ever(n + 1)
            def test_deep():
                sys.setrecursionlimit(DEPTH + 1_000)
                assert down(DEPTH) == 2
            def test_too_deep():
                with pytest.raises(RecursionError): ever(0)
            def test_after():
                sys.setrecursionlimit(1_000)
                assert len([late()]) == 1
            """
        )
        for means in self.means:
            if means == "monitor":
                continue
            agent = self.engine()
            run = agent.whole(trace=means)
            with self.subTest(means=means):
                self.assertEqual(run.outcomes, ["passed"] * 3)
                found = self.names(means)
                calls = {"test_a:late", "posix:getppid", "builtins:len"}
                self.assertLessEqual(calls | {"test_a:down"}, found["test_deep"])
                self.assertIn("test_a:ever", found["test_too_deep"])
                self.assertLessEqual(calls, found["test_after"])

    def test_a_thread_with_a_small_stack_can_recur_as_in_a_plain_run(self):
        self.write(
            test_a="""
            import os, sys, threading
            DEPTH = 800 if sys.version_info >= (3, 11) else 80
            def down(n): return down(n - 1) if n else os.getppid()
            def test_a():
                done = []
                threading.stack_size(128 * 1024)
                thread = threading.Thread(target=lambda: done.append(down(DEPTH)))
                thread.start()
                thread.join()
                threading.stack_size(0)
                assert done == [os.getppid()]
            """
        )
        agent = self.engine()
        self.assertEqual(agent.whole().outcomes, ["passed"])
        for means in self.means:
            if means != "native":
                continue
            with self.subTest(means=means):
                self.assertEqual(agent.whole(trace=means).outcomes, ["passed"])
                self.assertIn("test_a:down", self.names(means)["test_a"])

    def test_so_can_one_where_a_thread_with_a_large_stack_has_ended(self):
        # Nothing in Python is called in between, so that the large one is what was seen last.
        self.write(
            test_a="""
            import _thread, os, sys
            DEPTH = 800 if sys.version_info >= (3, 11) else 80
            def down(n): return down(n - 1) if n else os.getppid()
            def test_a():
                done = []
                for size, depth in ((64 * 1024 * 1024, 10), (128 * 1024, DEPTH)):
                    _thread.stack_size(size)
                    _thread.start_new_thread(lambda: done.append(down(depth)), ())
                    while len(os.listdir("/proc/self/task")) > 1: pass
                _thread.stack_size(0)
                assert done == [os.getppid()] * 2
            """
        )
        agent = self.engine()
        self.assertEqual(agent.whole().outcomes, ["passed"])
        if "native" in self.means:
            self.assertEqual(agent.whole(trace="native").outcomes, ["passed"])
            if sys.version_info >= (3, 11):
                self.assertIn("test_a:down", self.names("native")["test_a"])


class Others(TraceCase):
    def test_a_trace_function_of_the_test_is_told_everything_also_in_what_is_called_often(self):
        self.write(
            test_a="""
            import sys
            def often(n): return n + 1
            def watched(n):
                m = often(n)
                return m
            def test_a():
                for n in range(50): watched(n)
                lines = []
                def tracer(frame, event, arg):
                    lines.append((frame.f_code.co_name, event))
                    return tracer
                sys.settrace(tracer)
                for n in range(7): watched(n)
                sys.settrace(None)
                assert lines.count(("watched", "call")) == lines.count(("often", "call")) == 7
                assert lines.count(("watched", "line")) == 14
            def switch(tracer): sys.settrace(tracer)
            def test_b():
                # Installed by a function that is called often, and so run without being told.
                for n in range(50): switch(None)
                seen = []
                switch(lambda frame, event, arg: seen.append(frame.f_code.co_name))
                often(1)
                switch(None)
                assert seen == ["often", "switch"]
            def test_c(): assert sys.gettrace() is None and often(1) == 2
            """
        )
        self.all_pass(3)

    def test_a_profiler_of_the_test_is_told_everything_also_in_what_is_called_often(self):
        self.write(
            test_a="""
            import os, sys
            def often(): return os.getppid()
            def switch(profiler): sys.setprofile(profiler)
            def test_a():
                for n in range(50): often()
                seen = []
                def profiler(frame, event, arg):
                    if event == "c_call": seen.append(arg)
                for n in range(50): switch(None)
                switch(profiler)
                for n in range(7): often()
                switch(None)
                assert seen.count(os.getppid) == 7
            def test_b(): assert often()
            """
        )
        self.all_pass(2)

    def test_functions_that_are_first_called_late_are_told(self):
        self.write(
            test_a="""
            def helper(n): return late(n) if n == 97 else n
            def late(n): return list(reversed(range(n)))
            def numbers():
                for n in range(100): yield helper(n)
            class Table:
                def __getitem__(self, n): return helper(n)
            def test_a(): assert len(list(numbers())) == 100
            def test_b():
                table = Table()
                assert len([table[n] for n in range(100)]) == 100
            """
        )
        for means in self.means:
            found = self.names(means)
            with self.subTest(means=means):
                self.assertLessEqual({"test_a:late", "test_a:helper"}, found["test_a"])
                told = found["test_b"]
                self.assertLessEqual({"test_a:late", "test_a:Table.__getitem__"}, told)

    def test_what_the_interpreter_calls_by_itself_is_told_also_when_it_has_learned_to(self):
        self.write(
            test_a="""
            class Table:
                def __getitem__(self, n): return n
                @property
                def size(self): return 3
            def use(table, n):
                if n >= 6: return table[n] + table.size
            def test_a():
                table = Table()
                for n in range(100): use(table, 6)
            def test_b():
                table = Table()
                for n in range(7): use(table, n)
            """
        )
        for means in self.means:
            found = self.names(means)
            with self.subTest(means=means):
                for told in found.values():
                    calls = {"test_a:Table.__getitem__", "test_a:Table.size", "test_a:use"}
                    self.assertLessEqual(calls, told)

    @unittest.skipIf(greenlet is None, "no greenlet here")
    def test_greenlets_are_traced_and_come_to_no_harm(self):
        self.write(
            test_a="""
            import os, greenlet
            def there(n):
                for each in range(n):
                    main.switch(work(each))
                raise KeyError(n)
            def work(n): return os.getppid() and n
            main = greenlet.getcurrent()
            def test_a():
                others = [greenlet.greenlet(there) for _ in range(20)]
                for each in range(10):
                    assert [other.switch(10) for other in others] == [each] * 20
                for other in others:
                    try:
                        other.switch()
                    except KeyError:
                        pass
            def test_b(): assert work(1) == 1
            """
        )
        for means in self.means:
            agent = self.engine()
            with self.subTest(means=means):
                self.assertEqual(agent.whole(trace=means).outcomes, ["passed"] * 2)
                self.assertLessEqual(
                    {"test_a:there", "test_a:work", "posix:getppid"}, self.names(means)["test_a"]
                )


if __name__ == "__main__":
    unittest.main()
