"""Not asked, it does nothing; asked for the impossible, it says why."""

import os
import subprocess
import sys
import unittest

from engine import AGENT, ProjectCase, environment


class NotAsked(ProjectCase):
    def start(self, *arguments):
        return subprocess.run(
            [sys.executable, AGENT, *arguments],
            cwd=self.folder,
            env=environment(),
            capture_output=True,
        )

    def test_without_a_socket_it_changes_nothing(self):
        self.write(test_a="raise SystemExit('imported')")
        before = self.tree()
        for arguments in ([], [os.path.join(self.folder, "none"), "t", "auto", "--"], ["x"] * 9):
            ended = self.start(*arguments)
            self.assertEqual(ended.returncode, 97)
            self.assertIn(b"unflake agent", ended.stderr)
            self.assertEqual(ended.stdout, b"")
        self.assertEqual(self.tree(), before)

    def test_no_bytecode_beside_the_agent(self):
        self.write(test_a="def test_a(): pass")
        self.engine().whole()
        self.assertNotIn("__pycache__", os.listdir(os.path.dirname(AGENT)))


class CannotCollect(ProjectCase):
    def test_a_broken_conftest(self):
        self.write(conftest="1 / 0", test_a="def test_a(): pass")
        failed = self.engine().failed
        self.assertIn("conftest", failed["what"])
        self.assertIn("ZeroDivisionError", failed["text"])
        self.assertIn("conftest.py", failed["text"])

    def test_unknown_options(self):
        self.write(test_a="def test_a(): pass")
        failed = self.engine("--no-such-option").failed
        self.assertIn("--no-such-option", failed["text"])

    def test_a_path_that_is_not_there(self):
        self.assertIn("nowhere.py", self.engine("nowhere.py").failed["text"])

    def test_a_module_that_leaves(self):
        self.write(conftest="import sys; sys.exit(5)")
        self.assertIn("5", self.engine().failed["text"])

    def test_no_pytest(self):
        self.write(pytest="raise ModuleNotFoundError('no', name='pytest')")
        self.assertIn("not installed", self.engine(runner="pytest").failed["what"])

    def test_no_tests_is_no_failure(self):
        engine = self.engine()
        self.assertEqual(engine.ids, [])


class ForkIsUnsafe(ProjectCase):
    def setUp(self):
        super().setUp()
        self.write(
            test_a="""
            import threading, time
            threading.Thread(target=time.sleep, args=(1000,), daemon=True, name="eel").start()
            def test_a(): open("new", "w").close()
            def test_b(): assert 0
            """
        )

    def test_is_said(self):
        self.assertIn("eel", self.engine().collected["fork"])

    def test_one_run_is_made_in_place(self):
        engine = self.engine()
        run = engine.whole(isolation=["tree", "pid"])
        self.assertEqual(run.forked["pid"], engine.hello["pid"])
        self.assertEqual(run.outcomes, ["passed", "failed"])
        self.assertIn("pid", [r["level"] for r in run.isolated["refused"]])
        self.assertTrue(run.is_done)
        self.assertEqual("new" in self.tree(), "tree" not in run.isolated["applied"])

    def test_a_safe_suite_says_nothing(self):
        self.write(test_a="def test_a(): pass")
        self.assertIsNone(self.engine().collected["fork"])


class Quiet(ProjectCase):
    def test_nothing_is_printed(self):
        self.write(conftest="print('conftest')", test_a="print('x')\ndef test_a(): print('y')")
        engine = self.engine("-s")
        engine.whole()
        engine.stop()
        self.assertEqual(engine.output[0], b"")

    def test_plugins_are_unconfigured_at_the_end(self):
        self.write(conftest="def pytest_unconfigure(): open('end', 'w').close()")
        engine = self.engine()
        engine.stop()
        self.assertIn("end", self.tree())

    def test_multiprocessing_by_spawn_finds_a_plain_main(self):
        self.write(
            helper="def double(x): return 2 * x",
            test_a="""
            import multiprocessing, helper
            def test_a():
                with multiprocessing.get_context("spawn").Pool(1) as pool:
                    assert pool.map(helper.double, [2]) == [4]
            """,
        )
        self.assertEqual(self.engine().whole().outcomes, ["passed"])


class Neighbours(ProjectCase):
    """Stand-ins with the module names and the ways of the real plugins, which stay out."""

    ALONE = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}

    def test_those_who_reorder_repeat_or_retry_stand_back(self):
        self.write_file(
            "pytest.ini",
            """
            [pytest]
            addopts = -p pytest_randomly -p pytest_rerunfailures --strict-markers
                --reruns 3 --seed 1
            """,
        )
        self.write(
            pytest_randomly="""
            def pytest_addoption(parser): parser.addoption("--seed")
            def pytest_collection_modifyitems(items): items.reverse()
            """,
            pytest_rerunfailures="""
            import threading, time
            def pytest_addoption(parser): parser.addoption("--reruns")
            def pytest_configure(config):
                config.addinivalue_line("markers", "flaky: x")
                threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()
            def pytest_runtest_protocol(item): raise RuntimeError
            """,
            test_a="""
            import pytest
            def test_a(): pass
            @pytest.mark.flaky
            def test_b(): assert 0
            """,
        )
        engine = self.engine(env=self.ALONE)
        self.assertEqual(engine.ids, ["test_a.py::test_a", "test_a.py::test_b"])
        self.assertEqual(engine.collected["plugins"], ["randomly", "rerunfailures"])
        self.assertIsNone(engine.collected["fork"])
        self.assertEqual(engine.whole().outcomes, ["passed", "failed"])

    def test_xdist_and_cov_are_turned_off(self):
        self.write(
            xdist_="""
            def pytest_addoption(parser):
                parser.addoption("--numprocesses", type=int)
                parser.addoption("--dist", default="no")
            def pytest_cmdline_main(config): assert not config.option.numprocesses
            """,
            cov_="""
            def pytest_addoption(parser):
                parser.addoption("--cov")
                parser.addoption("--no-cov", action="store_true")
            def pytest_load_initial_conftests(early_config):
                assert early_config.known_args_namespace.no_cov
            """,
            test_a="def test_a(): pass",
        )
        options = "-p xdist_ -p cov_ --numprocesses 4 --cov=x"
        self.write_file("pytest.ini", "[pytest]\naddopts=" + options)
        engine = self.engine(env=self.ALONE)
        self.assertEqual(engine.collected["plugins"], ["xdist"])
        self.assertEqual(engine.whole().outcomes, ["passed"])


if __name__ == "__main__":
    unittest.main()
