"""Tests that go the quick way end as under plain pytest, and the others do not go it."""

import unittest

from engine import ProjectCase
from test_as_plain import junit_key, plain

PHASES = """
    import gc, logging, os, sys, threading, warnings, weakref
    import pytest

    def when(): return os.environ["PYTEST_CURRENT_TEST"].split()[-1]

    @pytest.fixture
    def around():
        assert when() == "(setup)"
        logging.warning("before"); print("before")
        yield
        assert when() == "(teardown)"
    def test_phases_are_told(around): assert when() == "(call)"
    def test_the_last_phase_is_over(): assert sys.exc_info() == (None, None, None)

    @pytest.fixture
    def marked(request): request.node.add_marker(pytest.mark.xfail(reason="by a fixture"))
    def test_marked_by_a_fixture(marked): assert 0
    def test_marked_by_itself(request):
        request.node.add_marker(pytest.mark.xfail(reason="by itself"))
        assert 0
    @pytest.mark.xfail(raises=KeyError)
    def test_other_error_than_expected(): raise ValueError
    @pytest.mark.xfail(raises=KeyError)
    def test_error_as_expected(): raise KeyError
    def test_expected_inside(): pytest.xfail("now")

    @pytest.fixture
    def skipping(): pytest.skip("in a fixture")
    def test_skipped_by_a_fixture(skipping): assert 0
    @pytest.fixture
    def skipping_later():
        yield
        pytest.skip("too late")
    def test_skipped_too_late(skipping_later): pass

    def test_records_of_set_up_are_apart(around, caplog):
        assert caplog.messages == [] and len(caplog.get_records("setup")) == 1
    def test_output_of_set_up(around, capsys): assert capsys.readouterr().out in ("", "before\\n")
    def test_folder(tmp_path): (tmp_path / "x").write_text("x")
    def test_folder_of_a_failure(tmp_path): assert 0
    def test_folder_asked_for_late(request): assert request.getfixturevalue("tmp_path").exists()
    def test_root_has_handlers(): assert logging.getLogger().handlers

    class Thing: pass
    things = []
    def test_logs_with_a_thing():
        thing = Thing(); things.append(weakref.ref(thing))
        logging.warning("with it", extra={"thing": thing})
    def test_nobody_keeps_the_thing(): assert things[0]() is None
    def test_logs_with_a_thing_and_fails():
        logging.warning("and again", extra={"thing": Thing()}); assert 0
    def test_nobody_keeps_that_one(): assert not any(type(o) is Thing for o in gc.get_objects())

    class Cycle:
        def __init__(self): self.me = self
        def __del__(self): raise RuntimeError("not raised")
    def test_unraisable():
        Cycle(); gc.collect()
    def test_unraisable_in_a_failure():
        Cycle(); gc.collect(); assert 0
    def test_innocent_after_it(): pass
    def test_thread():
        thread = threading.Thread(target=lambda: 1 / 0); thread.start(); thread.join()
    def test_innocent_after_the_thread(): pass
    def test_warning(): warnings.warn("x")

    class TestState:
        def setup_method(self): self.ready = 1
        def teardown_method(self): del self.ready
        def test_one(self): assert self.ready; self.left = 1
        def test_two(self): assert not hasattr(self, "left")
    def test_exit_status(): raise SystemExit(1)
"""

LOOKS_AT_REPORTS = """
    import pytest
    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(item, call):
        outcome = yield
        setattr(item, "ended_" + call.when, outcome.get_result().passed)
    @pytest.fixture
    def sees(request):
        yield
        assert request.node.ended_call
"""

STANDS_AROUND = """
    import pytest
    depth = []
    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_setup(item):
        depth.append(item.nodeid)
        yield
        depth.pop()
"""

SETS_WHERE = """
    import sys
    def pytest_runtest_setup(item): sys.where = getattr(sys, "where", "") + "WHERE"
    def pytest_runtest_teardown(item): sys.where = ""
"""

REGISTERS = """
    import sys
    class Late:
        def pytest_runtest_setup(self, item): sys.where += " late"
    def test_before(request):
        assert sys.where == "rootsub"
        request.config.pluginmanager.register(Late(), "late")
    def test_while(request):
        assert sorted(sys.where.split()) == ["late", "rootsub"]
        request.config.pluginmanager.unregister(name="late")
    def test_after(): assert sys.where == "rootsub"
"""

WHICH_WAY = """
    import sys
    def test_way():
        frame = sys._getframe()
        while frame and frame.f_code.co_name != "pytest_runtest_setup": frame = frame.f_back
        assert frame is None, "inside of the set-up hook"
"""


class AsPlain(ProjectCase):
    maxDiff = None

    def compare(self, *arguments):
        expected = plain(self.folder, arguments)
        engine = self.engine(*arguments)
        run = engine.whole()
        self.assertTrue(run.is_done)
        told = {junit_key(name): end["outcome"] for name, end in zip(engine.ids, run.ends)}
        self.assertEqual(told, expected)

    def test_phases(self):
        self.write(test_phases=PHASES)
        self.compare()

    def test_warnings_as_errors(self):
        self.write(test_phases=PHASES)
        self.compare("-W", "error")

    def test_folders_of_failures_alone_are_kept(self):
        self.write(test_phases=PHASES)
        self.compare("-o", "tmp_path_retention_policy=failed")

    def test_without_capture_and_logging(self):
        self.write(test_phases=PHASES.replace("_are_apart(around, caplog)", "(around)"))
        self.compare("-s", "-p", "no:logging", "-k", "not records and not handlers")

    def test_somebody_looks_at_reports(self):
        self.write(
            conftest=LOOKS_AT_REPORTS,
            test_a="def test_a(sees): pass\ndef test_b(sees): assert 0",
        )
        self.compare()

    def test_somebody_stands_around_the_set_up(self):
        self.write(
            conftest=STANDS_AROUND,
            test_a="from conftest import depth\ndef test_a(): assert not depth",
        )
        self.compare()

    def test_hooks_of_conftests_are_for_their_folders(self):
        self.write(
            conftest=SETS_WHERE.replace("WHERE", "root"),
            sub__conftest=SETS_WHERE.replace("WHERE", "sub"),
            other__conftest=SETS_WHERE.replace("WHERE", "other"),
            sub__test_sub=REGISTERS,
            other__test_other="import sys\ndef test_a(): assert sys.where == 'rootother'",
            test_root="import sys\ndef test_a(): assert sys.where == 'root'",
        )
        self.compare()


class Reports(ProjectCase):
    def test_a_failure_is_shown_with_the_source_of_all_its_modules(self):
        self.write(
            helper="def fail(x):\n    assert x == 2, 'as said'",
            test_a="from helper import fail\ndef test_a():\n    one = 1\n    fail(one)",
        )
        (end,) = self.engine().whole().ends
        for line in ("one = 1", "fail(one)", "def fail(x):", "E       AssertionError: as said"):
            self.assertIn(line, end["text"])


class Ways(ProjectCase):
    def way(self, *arguments):
        (end,) = self.engine(*arguments).whole().ends
        return "quick" if end["outcome"] == "failed" else "long"

    def test_quick_if_nobody_minds(self):
        self.write(test_a=WHICH_WAY)
        self.assertEqual(self.way(), "quick")

    def test_quick_if_a_conftest_prepares_tests(self):
        self.write(test_a=WHICH_WAY, conftest="def pytest_runtest_setup(item): item.ready = 1")
        self.assertEqual(self.way(), "quick")

    def test_long_if_somebody_looks_at_reports(self):
        self.write(test_a=WHICH_WAY, conftest=LOOKS_AT_REPORTS)
        self.assertEqual(self.way(), "long")

    def test_long_if_somebody_stands_around_a_phase(self):
        self.write(test_a=WHICH_WAY, conftest=STANDS_AROUND)
        self.assertEqual(self.way(), "long")

    def test_long_while_somebody_minds_of_whom_that_is_known(self):
        # What is found by its name is taken for it.
        self.write(
            _hypothesis_pytestplugin="def pytest_runtest_logreport(report): pass",
            hypothesis="",
            test_a=WHICH_WAY
            + "    def test_b(): import hypothesis\n"
            + "    def test_c(): test_way()\n",
        )
        run = self.engine("-p", "_hypothesis_pytestplugin").whole()
        self.assertEqual(run.outcomes, ["failed", "passed", "passed"])

    def test_long_if_phases_are_to_be_shown(self):
        self.write(test_a=WHICH_WAY)
        self.assertEqual(self.way("--setup-show"), "long")

    def test_a_test_that_closes_what_pytest_writes_to_is_the_last(self):
        self.write(test_a="import os\ndef test_a(): os.closerange(0, 4096)\ndef test_b(): pass")
        run = self.engine().whole()
        self.assertEqual([(e["outcome"], e["phase"]) for e in run.ends], [("failed", "call")])
        self.assertIn("Bad file descriptor", run.ends[0]["message"])

    def test_a_test_that_stops_the_session_is_to_blame_in_its_phase(self):
        self.write(test_a="import pytest\ndef test_a(): pytest.exit('enough')\ndef test_b(): pass")
        run = self.engine().whole()
        self.assertEqual([(e["outcome"], e["phase"]) for e in run.ends], [("failed", "call")])


if __name__ == "__main__":
    unittest.main()
