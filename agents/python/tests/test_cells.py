"""A place set apart for a run is used again if, and only if, the run left nothing behind in it."""

import os
import signal
import unittest

from engine import ALL, ProjectCase, only_where_permitted

FILES = """
    import os, subprocess, time
    def test_reads(): assert os.listdir(".")
    def test_writes(): open("new", "w").close()
    def test_deletes(): os.remove("test_it.py")
    def test_starts(): subprocess.Popen(["sleep", "1000"])
    def test_hangs(): time.sleep(1000)
    def test_is_alone():
        others = [p for p in os.listdir("/proc") if p.isdigit() and int(p) > 1]
        assert others == [str(os.getpid())], others
    """


class Cells(ProjectCase):
    def cells(self, engine, *tests, **how):
        """The cells in which these tests ran one after the other, each in a run of its own."""
        runs = [engine.run([test], **how) for test in tests]
        self.assertEqual([run.outcomes for run in runs], [["passed"]] * len(runs))
        return [run.forked["pid"] for run in runs]

    def test_a_clean_cell_is_used_again(self):
        self.write(test_it=FILES)
        for isolation in ([], ALL):
            with self.subTest(isolation=isolation):
                first, second = self.cells(
                    self.engine(), "test_reads", "test_reads", isolation=isolation
                )
                self.assertEqual(first, second)

    @only_where_permitted("tree")
    def test_a_cell_in_which_a_file_was_written_is_not_used_again(self):
        self.write(test_it=FILES)
        for test in ("test_writes", "test_deletes"):
            with self.subTest(test=test):
                first, second = self.cells(self.engine(), test, "test_reads", isolation=["tree"])
                self.assertNotEqual(first, second)
                self.assertFalse(os.path.exists(f"/proc/{first}"))

    @only_where_permitted("pid")
    def test_processes_left_over_are_gone_before_the_next_run(self):
        self.write(test_it=FILES)
        first, second = self.cells(self.engine(), "test_starts", "test_is_alone", isolation=["pid"])
        self.assertEqual(first, second)

    def test_runs_side_by_side_have_a_cell_each(self):
        self.write(test_it=FILES)
        engine = self.engine()
        hanging = engine.start(["test_hangs"], isolation=ALL)
        # Heard of although it says nothing more: the guard speaks for it.
        engine.until(lambda: hanging.all("start") and hanging.forked)
        (beside,) = self.cells(engine, "test_reads", isolation=ALL)
        self.assertNotEqual(hanging.forked["pid"], beside)
        os.killpg(hanging.forked["pid"], signal.SIGKILL)
        engine.wait(hanging)
        (after,) = self.cells(engine, "test_reads", isolation=ALL)
        self.assertEqual(beside, after)

    def test_another_isolation_is_another_cell(self):
        self.write(test_it=FILES)
        engine = self.engine()
        first = self.cells(engine, "test_reads")
        second = self.cells(engine, "test_reads", isolation=["tree"])
        self.assertNotEqual(first, second)

    def test_more_can_be_said_than_the_shared_memory_holds(self):
        self.write(
            test_it="""
            import pytest
            @pytest.mark.parametrize("x", range(40))
            def test_long(x): assert 0, "x" * 100000
            """
        )
        run = self.engine().whole()
        self.assertEqual(run.outcomes, ["failed"] * 40)
        self.assertTrue(run.is_done)


if __name__ == "__main__":
    unittest.main()
