"""A place set apart for a run is used again if, and only if, the run left nothing behind in it."""

import os
import signal
import unittest

from engine import ALL, ProjectCase, only_where_permitted, permitted

FILES = """
    import os, subprocess, time
    def test_reads(): assert os.listdir(".")
    def test_writes(): open("new", "w").close()
    def test_deletes(): os.remove("test_it.py")
    def test_starts(): subprocess.Popen(["sleep", "1000"])
    def test_hangs(): time.sleep(1000)
    def test_is_alone():
        # With processes of the agent, which may end meanwhile.
        ours = open("/proc/1/cmdline").read()
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                command = open(f"/proc/{pid}/cmdline").read()
            except OSError:
                continue
            assert command in (ours, ""), command
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

    def test_a_run_that_is_asked_for_ahead_waits_for_the_end_of_another(self):
        self.write(test_it=FILES)
        for isolation in ([], ALL):
            with self.subTest(isolation=isolation):
                engine = self.engine()
                (cell,) = self.cells(engine, "test_reads", isolation=isolation)
                hanging = engine.start(["test_hangs"], isolation=isolation)
                engine.until(lambda: hanging.all("start") and hanging.forked)
                self.assertEqual(hanging.forked["pid"], cell)
                ahead = engine.start(["test_reads"], isolation=isolation, is_ahead=True)
                engine.until(lambda: ahead.hellos)
                self.assertIsNone(ahead.forked)
                os.killpg(cell, signal.SIGKILL)
                engine.wait(hanging)
                engine.wait(ahead)
                self.assertEqual(ahead.outcomes, ["passed"])
                self.assertNotEqual(ahead.forked["pid"], cell)

    def test_a_run_that_is_asked_for_ahead_finds_what_any_other_would(self):
        self.write(test_it=FILES)
        engine = self.engine()
        levels = [level for level in ALL if level in permitted()]
        for first, is_clean in (("test_reads", True), ("test_writes", "tree" not in levels)):
            with self.subTest(first=first):
                runs = [engine.start([first], isolation=levels)]
                again = ["test_reads", "test_is_alone" if "pid" in levels else "test_reads"]
                runs += [engine.start([test], isolation=levels, is_ahead=True) for test in again]
                for run in runs:
                    engine.wait(run)
                self.assertEqual([run.outcomes for run in runs], [["passed"]] * 3)
                cells = [run.forked["pid"] for run in runs]
                self.assertEqual(cells[0] == cells[1], is_clean)
                self.assertEqual(cells[1], cells[2])
                was_written = os.path.exists(os.path.join(self.folder, "new"))
                self.assertEqual(was_written, not is_clean and "tree" not in levels)

    def test_a_run_that_is_asked_for_ahead_begins_at_once_if_there_is_room(self):
        self.write(test_it=FILES)
        engine = self.engine()
        self.assertEqual(engine.run(["test_reads"], is_ahead=True).outcomes, ["passed"])
        self.assertEqual(engine.run(["test_reads"], is_ahead=True).outcomes, ["passed"])

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
