"""Tests that harm their process harm their own run only, and what they did is told."""

import os
import select
import shutil
import signal
import tempfile
import textwrap
import unittest

from engine import ALL, PATIENCE, ProjectCase, only_where_permitted


class Hostile(ProjectCase):
    def outcomes(self, body, tests=("test_a", "test_b"), isolation=()):
        """Runs tests from a module, and checks that the next run is not harmed."""
        self.write(test_it="import os, sys, time, signal, threading\n" + textwrap.dedent(body))
        self.write(test_well="def test_well(): pass")
        engine = self.engine()
        run = engine.run(["::" + test for test in tests], isolation=isolation)
        self.assertEqual(engine.run(["test_well"], isolation=isolation).outcomes, ["passed"])
        return run

    def test_closes_all_descriptors(self):
        run = self.outcomes(
            """
            def test_a(): os.closerange(3, 4096)
            def test_b(): pass
            """,
        )
        self.assertEqual(len(run.ends), 2)
        self.assertTrue(run.is_done)

    def test_opens_its_own_file_under_our_number(self):
        run = self.outcomes(
            """
            import fcntl
            def test_a(tmp_path):
                file = open(str(tmp_path / "mine"), "wb")
                for fd in range(300, 600):
                    os.dup2(file.fileno(), fd)
                test_a.path = tmp_path / "mine"
            def test_b():
                assert test_a.path.read_bytes() == b""
            """,
        )
        self.assertEqual(run.outcomes, ["passed", "passed"])

    def test_leaves_by_os_exit(self):
        run = self.outcomes(
            """
            def test_a(): os._exit(7)
            def test_b(): pass
            """,
        )
        self.assertEqual(run.all("start"), [{"position": 0, "attempt": 0}])
        self.assertEqual((run.ends, run.is_done), ([], False))
        self.assertEqual(run.exited["code"], 7)

    def test_segfaults(self):
        for isolation in ([], ALL):
            with self.subTest(isolation=isolation):
                run = self.outcomes(
                    """
                    def test_a(): pass
                    def test_b(): import ctypes; ctypes.string_at(0)
                    """,
                    isolation=isolation,
                )
                self.assertEqual(run.outcomes, ["passed"])
                self.assertEqual(run.exited["signal"], signal.SIGSEGV)
                self.assertIn("test_b", run.exited["stderr"])

    def test_kills_itself(self):
        for isolation in ([], ALL):
            with self.subTest(isolation=isolation):
                run = self.outcomes(
                    "def test_a(): os.kill(os.getpid(), signal.SIGKILL)\ndef test_b(): pass",
                    isolation=isolation,
                )
                self.assertEqual(run.exited["signal"], signal.SIGKILL)

    @only_where_permitted("pid")
    def test_kills_its_parent_in_a_pid_namespace(self):
        run = self.outcomes(
            "def test_a(): os.kill(os.getppid(), signal.SIGKILL)\ndef test_b(): pass",
            isolation=["pid"],
        )
        self.assertEqual(run.outcomes, ["passed", "passed"])

    def test_kills_its_group(self):
        run = self.outcomes(
            "def test_a(): os.killpg(os.getpgrp(), signal.SIGTERM)\ndef test_b(): pass",
        )
        self.assertEqual(run.exited["signal"], signal.SIGTERM)

    def test_changes_everything_it_can(self):
        run = self.outcomes(
            """
            import io, json, socket, tempfile, shutil
            def test_a():
                gone = tempfile.mkdtemp(); os.chdir(gone); shutil.rmtree(gone)
                for name in ("time", "monotonic", "perf_counter"):
                    setattr(time, name, lambda: -1)
                for name in ("write", "read", "close", "fstat", "getpid", "_exit"):
                    setattr(os, "kept_" + name, getattr(os, name))
                    if name not in ("getpid",): setattr(os, name, None)
                json.dumps = json.JSONEncoder = socket.socket = None
                sys.stdout = sys.stderr = sys.stdin = None
                sys.modules.pop("json"); os.environ.clear()
                signal.signal(signal.SIGTERM, signal.SIG_IGN)
                sys.settrace(lambda *_: None)
            def test_b():
                for name in ("write", "read", "close", "fstat", "_exit"):
                    setattr(os, name, getattr(os, "kept_" + name))
            """,
        )
        self.assertEqual(len(run.ends), 2)
        self.assertTrue(all(0 <= end["seconds"] < 60 for end in run.ends))
        self.assertTrue(run.is_done)

    def test_leaves_threads_and_processes(self):
        run = self.outcomes(
            """
            import subprocess
            def test_a():
                threading.Thread(target=time.sleep, args=(1000,)).start()
                subprocess.Popen(["sleep", "1000"])
            def test_b(): assert threading.active_count() == 2
            """,
        )
        self.assertEqual(run.outcomes, ["passed", "passed"])
        self.assertTrue(run.is_done)

    def test_a_child_of_a_test_that_runs_on_does_not_speak(self):
        run = self.outcomes(
            """
            def test_a():
                pid = os.fork()
                if pid: os.waitpid(pid, 0)
            def test_b(): pass
            """,
        )
        self.assertEqual([end["position"] for end in run.ends], [0, 1])
        self.assertEqual(len(run.all("start")), 2)
        self.assertEqual(run.exited["code"], 0)

    def test_stops_the_session(self):
        for statement in ("raise KeyboardInterrupt", "import pytest; pytest.exit('enough')"):
            with self.subTest(statement=statement):
                run = self.outcomes("def test_a(): " + statement + "\ndef test_b(): pass")
                self.assertEqual(run.outcomes, ["failed"])
                self.assertIn("stopped the session", run.ends[0]["message"])
                self.assertTrue(run.is_done)

    def test_stops_the_session_and_fixtures_are_torn_down(self):
        run = self.outcomes(
            """
            import pytest
            @pytest.fixture(scope="session")
            def left():
                yield
                open(os.path.join(os.environ["TMPDIR"], "torn"), "w").close()
            def test_a(left): pytest.exit("enough")
            def test_b(left): pass
            """,
        )
        self.assertTrue(os.path.exists(os.path.join(run.scratch, "tmp", "torn")))

    def test_huge_output(self):
        run = self.outcomes(
            """
            def test_a():
                for _ in range(300): os.write(1, b"\\xfe" * 100000)
                assert 0
            def test_b(): pass
            """,
        )
        self.assertEqual(run.outcomes, ["failed", "passed"])

    def test_a_report_that_cannot_be_shown(self):
        run = self.outcomes(
            """
            class Odd(Exception):
                def __str__(self): raise RuntimeError
                __repr__ = __str__
            def test_a(): raise Odd()
            def test_b(): pass
            """,
        )
        self.assertEqual(run.outcomes, ["failed", "passed"])


class LeftBehind(ProjectCase):
    """Who has a session of its own is out of reach of signals to a group, and is ended all the
    same. Each holds a pipe open, which is at its end when the last of them is."""

    def setUp(self):
        super().setUp()
        # Not in the tree, of which a run has its own.
        place = tempfile.mkdtemp(prefix="unflake-pipe-")
        self.addCleanup(shutil.rmtree, place)
        self.pipe = os.path.join(place, "pipe")
        os.mkfifo(self.pipe)
        self.reader = os.open(self.pipe, os.O_RDONLY | os.O_NONBLOCK)
        self.addCleanup(os.close, self.reader)
        self.write(
            test_it=f"""
            import os, subprocess, time

            def test_session():
                with open({self.pipe!r}, "w") as pipe:
                    # Longer than anybody is patient, and not for ever.
                    sleep = ["sleep", "{2 * PATIENCE}"]
                    subprocess.Popen(sleep, start_new_session=True, stdout=pipe)
                    pipe.write("here")

            def test_daemon():
                if os.fork() == 0:
                    os.setsid()
                    if os.fork() == 0:
                        test_session()
                        time.sleep({2 * PATIENCE})
                    os._exit(0)
                os.wait()

            def test_hangs():
                test_session()
                time.sleep(1000)

            def test_well(): pass
            """
        )

    def assert_all_have_ended(self):
        said = b""
        while True:
            ready, _, _ = select.select([self.reader], [], [], PATIENCE)
            self.assertTrue(ready, "somebody was left behind")
            more = os.read(self.reader, 1 << 10)
            if not more:
                break
            said += more
        self.assertIn(b"here", said)

    def test_it_ends_with_the_run(self):
        for isolation in ([], ALL):
            for twice in (False, True):
                engine = self.engine()
                with self.subTest(isolation=isolation, twice=twice):
                    for _ in range(3):
                        run = engine.run(
                            ["test_session", "test_daemon", "test_well"],
                            isolation=isolation, twice=twice,
                        )  # fmt: skip
                        self.assertEqual(set(run.outcomes), {"passed"})
                        self.assert_all_have_ended()

    def test_it_ends_with_a_run_that_is_killed(self):
        for isolation in ([], ALL):
            engine = self.engine()
            with self.subTest(isolation=isolation):
                run = engine.start(["test_daemon", "test_hangs"], isolation=isolation)
                engine.until(lambda: len(run.all("start")) == 2 and run.forked)
                self.assertTrue(select.select([self.reader], [], [], PATIENCE)[0])
                os.killpg(run.forked["pid"], signal.SIGKILL)
                engine.wait(run)
                self.assert_all_have_ended()
                self.assertEqual(engine.run(["test_well"]).outcomes, ["passed"])

    def test_whom_the_project_has_started_for_all_tests_is_left_alone(self):
        self.write(
            conftest=f"""
            import subprocess
            helper = subprocess.Popen(["sleep", "{2 * PATIENCE}"], start_new_session=True)

            def pytest_unconfigure():
                helper.kill()
                helper.wait()
            """,
            test_helper="""
            import os, conftest
            def test_helper(): os.kill(conftest.helper.pid, 0)
            """,
        )
        engine = self.engine()
        for _ in range(2):
            run = engine.run(["test_session", "test_helper"])
            self.assertEqual(run.outcomes, ["passed", "passed"])
            self.assert_all_have_ended()
        run = engine.start(["test_hangs"])
        engine.until(lambda: run.all("start") and run.forked)
        os.killpg(run.forked["pid"], signal.SIGKILL)
        engine.wait(run)
        self.assertEqual(engine.run(["test_helper"]).outcomes, ["passed"])


class EngineGone(ProjectCase):
    def test_children_end_with_the_engine(self):
        self.write(test_a="import time\ndef test_a(): time.sleep(1000)")
        for isolation in ([], ALL):
            with self.subTest(isolation=isolation):
                engine = self.engine()
                run = engine.start([0], isolation=isolation)
                engine.until(lambda: run.all("start") and run.forked)
                engine.server.shutdown(2)
                engine.until(lambda: not run.open)
                self.assertEqual(engine.process.wait(30), 0)
                self.assertFalse(os.path.exists("/proc/{}".format(run.forked["pid"])))

    def test_stop_ends_the_children(self):
        self.write(test_a="import time\ndef test_a(): time.sleep(1000)")
        engine = self.engine()
        run = engine.start([0])
        engine.until(lambda: run.all("start"))
        engine.say("stop")
        engine.until(lambda: not run.open)
        self.assertEqual(engine.process.wait(30), 0)

    def test_a_killed_child_is_told(self):
        self.write(test_a="import time\ndef test_a(): time.sleep(1000)")
        engine = self.engine()
        for isolation in ([], ALL):
            run = engine.start([0], isolation=isolation)
            engine.until(lambda: run.all("start") and run.forked)
            os.killpg(run.forked["pid"], signal.SIGKILL)
            engine.wait(run)
            self.assertEqual(run.exited["signal"], signal.SIGKILL)


if __name__ == "__main__":
    unittest.main()
