"""The project's own runner is the same one, whether it was started ahead or not."""

import os
import re
import select
import signal
import subprocess
import sys
import time
import unittest

import pytest
from engine import AGENT, PATIENCE, ProjectCase, only_where_permitted

PYTEST = [sys.executable, "-m", "pytest"]
READS_FILES = tuple(map(int, pytest.__version__.split(".")[:2])) >= (8, 2)
FILES = {
    "project__conftest": "log = []",
    "project__test_it": """
        import os, signal, sys
        from conftest import log

        def test_one(): log.append(1)
        def test_two(): assert not log
        def test_argv(): assert sys.argv[1:] == []
        def test_stdin(): assert os.read(0, 1) == b""
        def test_variable(): assert os.environ.get("UNFLAKE_VARIABLE") == "set"
        def test_kill(): os.kill(os.getpid(), signal.SIGKILL)
        def test_write(): open("written", "x").close()
    """,
}


def hear_interrupts():
    """A shell that starts us in the background has them ignored, and so had whom we start."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


class ShelterCase(ProjectCase):
    """A small project, and shelters in it."""

    def setUp(self):
        super().setUp()
        self.root = os.path.join(self.folder, "project")
        self.n = 0
        self.write(**FILES)

    def private(self):
        """A folder in which a shelter has another one for itself."""
        self.n += 1
        scratch = os.path.join(self.folder, f"private-{self.n}", "shelter")
        os.makedirs(scratch)
        return scratch

    def start(self, *ahead):
        """Starts one that waits; with a command that waits in it, if one is given."""
        words = [sys.executable, "-I", "-S", AGENT, "shelter"]
        words += [self.private(), *ahead] if ahead else []
        process = subprocess.Popen(
            words, cwd=self.root, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, env=dict(os.environ, PYTHONDONTWRITEBYTECODE="1"),
            preexec_fn=hear_interrupts,
        )  # fmt: skip
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def tell(self, shelter, *tests, command=PYTEST, source="@", env=(), root=None, report="-"):
        """Tells one what to run; its status, and what was said."""
        scratch = self.private()
        variables = [word for name, value in env for word in (name, "=", value)]
        words = [root or self.root, scratch, "-", source, report, str(len(env)), *variables]
        words += [*command, "-q", "-o", f"cache_dir={scratch}/cache", "--tb=line", *tests]
        told = os.path.join(os.path.dirname(scratch), "told")
        with open(told, "wb") as file:
            file.write(b"\0".join(map(os.fsencode, words)))
        output, _ = shelter.communicate(os.fsencode(told), timeout=PATIENCE)
        return shelter.returncode, output.decode()

    def argv(self, *args, **kwargs):
        """What a test sees of its arguments: of a file, or themselves."""
        _, said = self.tell(*args, "test_it.py::test_argv", **kwargs)
        return re.search(r"AssertionError: assert \['(.)", said).group(1)


class TestTheRunner(ShelterCase):
    """Not started ahead."""

    @only_where_permitted("tree")
    def test_it_runs_in_its_own_view_of_the_tree(self):
        status, said = self.tell(self.start(), "test_it.py::test_write")
        self.assertEqual((status, said.count("1 passed")), (0, 1), said)
        self.assertEqual(sorted(os.listdir(self.root)), ["conftest.py", "test_it.py"])

    def test_it_ends_as_the_runner_ends(self):
        order = "test_it.py::test_one", "test_it.py::test_two"
        self.assertEqual(self.tell(self.start(), *order)[0], 1)
        self.assertEqual(self.tell(self.start(), "test_it.py::test_kill")[0], -9)

    def test_whom_a_test_leaves_in_a_session_of_its_own_is_ended(self):
        pipe = os.path.join(self.private(), "pipe")
        os.mkfifo(pipe)
        reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
        self.addCleanup(os.close, reader)
        self.write(
            project__test_left=f"""
            import subprocess
            def test_left():
                with open({pipe!r}, "w") as pipe:
                    sleep = ["sleep", "{2 * PATIENCE}"]
                    subprocess.Popen(sleep, start_new_session=True, stdout=pipe)
                    pipe.write("here")
            """
        )
        status, said = self.tell(self.start(), "test_left.py")
        self.assertEqual(status, 0, said)
        self.assertEqual(os.read(reader, 10), b"here")
        self.assertTrue(select.select([reader], [], [], PATIENCE)[0], "it was left behind")
        self.assertEqual(os.read(reader, 10), b"")

    def test_a_runner_that_is_not_there_is_said(self):
        status, said = self.tell(self.start(), command=["/no/such/runner"])
        self.assertEqual(status, 126)
        self.assertIn("No such file", said)

    def test_it_ends_when_nobody_needs_it(self):
        self.assertEqual(self.start().communicate(timeout=PATIENCE)[0], b"")


N_NAPS = 3
"""The first may have begun before there was a report; a look lies between the next two."""


class TestAReport(ShelterCase):
    """With it, all is said."""

    def reported(self, *tests):
        """Its status, with a report."""
        report = os.path.join(self.folder, "report.xml")
        status, said = self.tell(self.start(), *tests, f"--junit-xml={report}", report=report)
        with open(report) as file:
            self.assertIn("</testsuites>", file.read(), said)
        return status

    def test_nobody_waits_for_memory_to_be_cleared(self):
        note = os.path.join(self.folder, "note")
        self.write(
            project__test_end=f"""
            import atexit, os, signal, time

            class Endless:
                def __del__(self, pause=signal.pause): pause()

            endless = Endless()

            def n_naps_of_the_shelter():
                with open(f"/proc/{{os.getppid()}}/status") as file:
                    return int(file.read().partition("\\nvoluntary_ctxt_switches:")[2].split()[0])

            # The report is there by now. Who looks for it too late waits after all, which a busy
            # machine may bring about, so it is let look: each time it does so, it naps.
            def leave():
                n_before = n_naps_of_the_shelter()
                while n_naps_of_the_shelter() < n_before + {N_NAPS}: time.sleep(0.001)
                open({note!r}, "x").close()

            atexit.register(leave)

            def test_it(): pass
            """
        )
        self.assertEqual(self.reported("test_end.py"), 124)
        os.remove(note)

    def test_what_only_the_status_says_is_waited_for(self):
        self.write(project__test_broken="import nothing_of_that_name")
        self.assertEqual(self.reported("test_it.py::test_one", "test_it.py::test_none"), 4)
        self.assertEqual(self.reported("test_broken.py"), 2)
        self.assertEqual(self.reported("-k", "none", "test_it.py"), 5)

    def test_one_that_never_hears_interrupts_ends_by_itself(self):
        self.write(
            project__test_deaf="""
            import signal

            def test_it(): signal.signal(signal.SIGINT, signal.SIG_IGN)
            """
        )
        self.assertEqual(self.reported("test_deaf.py"), 0)


def children(pid):
    with open(f"/proc/{pid}/task/{pid}/children") as file:
        return list(map(int, file.read().split()))


def is_alive(pid):
    with open(f"/proc/{pid}/stat") as file:
        return file.read().rpartition(")")[2].split()[0] != "Z"


@unittest.skipUnless(READS_FILES, "this pytest takes no arguments from a file")
class TestStartedAhead(ShelterCase):
    """Started before its arguments are known."""

    def test_it_takes_its_arguments_from_a_file(self):
        self.assertEqual(self.argv(self.start(*PYTEST)), "@")

    def test_it_is_like_any_other(self):
        order = "test_it.py::test_one", "test_it.py::test_two"
        status, said = self.tell(self.start(*PYTEST), *order)
        self.assertEqual(status, 1)
        self.assertIn("1 failed, 1 passed", said)
        self.assertEqual(self.tell(self.start(*PYTEST), *order[::-1])[0], 0)
        self.assertEqual(self.tell(self.start(*PYTEST), "test_it.py::test_kill")[0], -9)

    def test_it_is_told_nothing_but_its_arguments(self):
        status, said = self.tell(self.start(*PYTEST), "-s", "test_it.py::test_stdin")
        self.assertEqual(status, 0, said)

    @only_where_permitted("tree")
    def test_it_runs_in_its_own_view_of_the_tree(self):
        status, said = self.tell(self.start(*PYTEST), "test_it.py::test_write")
        self.assertEqual(status, 0, said)
        self.assertEqual(sorted(os.listdir(self.root)), ["conftest.py", "test_it.py"])

    def test_what_was_not_begun_so_begins_anew(self):
        self.assertEqual(self.argv(self.start(*PYTEST), source="-"), "-")
        status, said = self.tell(
            self.start(*PYTEST), "test_it.py::test_variable", env=[("UNFLAKE_VARIABLE", "set")]
        )
        self.assertEqual(status, 0, said)
        elsewhere = self.argv(self.start(*PYTEST), root=self.folder)
        self.assertEqual(elsewhere, "-")
        otherwise = self.argv(self.start(*PYTEST), command=[sys.executable, "-B", "-m", "pytest"])
        self.assertEqual(otherwise, "-")

    def test_one_that_is_gone_begins_anew(self):
        shelter = self.start(*PYTEST)
        while not children(shelter.pid):
            time.sleep(0.001)
        (held,) = children(shelter.pid)
        os.kill(held, signal.SIGKILL)
        while is_alive(held):
            time.sleep(0.001)
        self.assertEqual(self.argv(shelter), "-")

    def test_it_ends_with_the_one_that_holds_it(self):
        holder = self.start(*PYTEST)
        # Both have its standard output, of which the end is seen when both are gone.
        self.assertEqual(holder.communicate(timeout=PATIENCE)[0], b"")


if __name__ == "__main__":
    unittest.main()
