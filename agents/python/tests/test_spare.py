"""A run in a process that waited for it is like any other."""

import os
import signal
import unittest

from engine import ALL, ProjectCase, only_where_permitted, permitted

N_RUNS = 40
SOMEBODY_WAITS = unittest.skipUnless(
    len(os.sched_getaffinity(0)) > 1, "nobody waits where there is one processor"
)

FILES = """
    import os, random, signal, socket, subprocess, sys, tempfile, threading, time
    seen = []
    address = chr(0) + "unflake-" + str(os.getpid())

    def others():
        return {int(p) for p in os.listdir("/proc") if p.isdigit()} - {1, os.getpid()}

    def test_is_first():
        seen.append(1)
        assert len(seen) == 1
        open(os.path.join(tempfile.gettempdir(), "mine"), "x").close()

    def test_depth():
        def down(n):
            try:
                return down(n + 1)
            except RecursionError:
                return n
        assert not down(0)

    def test_draws(): assert not random.random()

    def test_sees_who_waits():
        # One with a smaller number is a run that is leaving.
        while max(others(), default=0) < os.getpid():
            time.sleep(0.001)
        assert not max(others())

    def test_is(): assert not os.getpid()

    def test_kills_all():
        while not others():
            time.sleep(0.001)
        os.kill(-1, signal.SIGKILL)

    def test_leaves_a_process(): subprocess.Popen(["sleep", "1000"])

    def test_leaves_a_thread():
        threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()

    def test_no_sleep():
        for pid in others():
            try:
                command = open(f"/proc/{pid}/comm").read()
            except OSError:
                continue
            assert "sleep" not in command

    def test_keeps_an_address():
        seen.append(socket.socket(socket.AF_UNIX))
        seen[-1].bind(address)
        seen[-1].listen()
        # The more memory there is to clear away, the longer a process takes to end.
        seen.append(bytearray(os.urandom(1)) * (1 << 25))

    def test_writes(): open("new", "w").close()

    def test_finds_nothing(): assert not os.path.exists("new")
    """


class Spares(ProjectCase):
    def setUp(self):
        super().setUp()
        self.write(test_it=FILES)
        self.levels = [level for level in ALL if level in permitted()]

    def runs(self, *tests, **how):
        agent = self.engine()
        how.setdefault("isolation", self.levels)
        return [agent.run([test], **how) for test in tests]

    def test_each_begins_afresh_and_happens_once(self):
        for isolation in ([], self.levels):
            with self.subTest(isolation=isolation):
                for run in self.runs(*["test_is_first"] * N_RUNS, isolation=isolation):
                    said = [name for name, _ in run.messages]
                    self.assertEqual(said, ["isolated", "start", "end", "done"])
                    self.assertEqual(run.outcomes, ["passed"])
                    self.assertEqual(run.exited["code"], 0)

    def test_what_one_has_open_is_free_for_the_next(self):
        for run in self.runs(*["test_keeps_an_address"] * N_RUNS):
            self.assertEqual(run.outcomes, ["passed"])

    def test_a_recursion_ends_at_the_same_depth_in_all(self):
        depths = {run.ends[0]["message"] for run in self.runs(*["test_depth"] * 4)}
        self.assertEqual(len(depths), 1)

    def test_each_draws_numbers_of_its_own(self):
        drawn = {run.ends[0]["message"] for run in self.runs(*["test_draws"] * 6)}
        self.assertEqual(len(drawn), 6)

    @SOMEBODY_WAITS
    @only_where_permitted("pid")
    def test_who_waits_is_who_runs_next(self):
        _, seen, ran = self.runs("test_is_first", "test_sees_who_waits", "test_is")
        self.assertEqual(seen.ends[0]["message"].split()[-1], ran.ends[0]["message"].split()[-1])

    @SOMEBODY_WAITS
    @only_where_permitted("pid")
    def test_one_that_was_killed_is_not_missed(self):
        tests = ["test_is_first", "test_kills_all", "test_is_first", "test_is_first"]
        runs = self.runs(*tests)
        self.assertEqual([run.outcomes for run in runs], [["passed"]] * 4)

    @only_where_permitted("pid")
    def test_whoever_is_left_over_is_ended_before_the_next_run(self):
        tests = ["test_is_first", "test_is_first", "test_leaves_a_process", "test_no_sleep"]
        tests += ["test_leaves_a_thread", "test_is_first", "test_is_first"]
        runs = self.runs(*tests)
        self.assertEqual([run.outcomes for run in runs], [["passed"]] * len(tests))
        self.assertEqual(len({run.forked["pid"] for run in runs}), 1)

    @only_where_permitted("tree")
    def test_what_was_written_is_not_found_by_the_one_that_waited(self):
        runs = self.runs("test_is_first", "test_is_first", "test_writes", "test_finds_nothing")
        self.assertEqual([run.outcomes for run in runs], [["passed"]] * 4)

    def test_modules_of_ours_that_a_run_needs_are_there(self):
        agent = self.engine()
        for how in ({}, {}, {}, {"watch": ["all"]}, {"trace": True}, {"watch": ["all"]}, {}):
            run = agent.run(["test_is_first"], isolation=self.levels, **how)
            self.assertEqual(run.outcomes, ["passed"])
            self.assertEqual(bool(run.all("traced")), "trace" in how)
            self.assertEqual(bool(run.ends[0].get("changes")), "watch" in how)

    def test_none_outlives_its_agent(self):
        agent = self.engine()
        for _ in range(3):
            run = agent.run(["test_is_first"], isolation=self.levels)
        os.kill(agent.process.pid, signal.SIGKILL)
        agent.stop()
        group = run.forked["pid"]
        while is_there(group):
            os.sched_yield()


def is_there(group):
    try:
        os.killpg(group, 0)
        return True
    except ProcessLookupError:
        return False


if __name__ == "__main__":
    unittest.main()
