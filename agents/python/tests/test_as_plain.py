"""In the original order, the agent's outcomes are those of plain ``python -m pytest``."""

import os
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree

from engine import ALL, ProjectCase, environment, permitted

CONFTEST = """
    import pytest
    trail = []
    @pytest.fixture(scope="session")
    def whole(tmp_path_factory):
        trail.append("session up")
        yield tmp_path_factory.mktemp("x")
        trail.append("session down")
    @pytest.fixture(scope="module")
    def module(whole):
        trail.append("module up")
        yield whole
        trail.append("module down")
    @pytest.fixture(scope="class", params=[1, 2])
    def of_class(request, module):
        return request.param
"""

FEATURES = """
    import os, sys, logging, unittest, warnings
    import pytest
    from conftest import trail

    def test_first(module): assert module.exists()
    strange = ["a b", "[c]", "d/e", "ü", "日本", "f::g", "\\n", "\\ud800", ""]
    @pytest.mark.parametrize("x", strange)
    def test_ids(x, module): assert x != "d/e"
    class TestClass:
        def test_one(self, of_class): self.left = 1
        def test_two(self, of_class): assert not hasattr(self, "left")
        class TestInner:
            def test_deep(self): assert 0
    def test_module_was_kept(module): assert trail.count("module up") == 1
    @pytest.mark.xfail
    def test_xfail(): assert 0
    @pytest.mark.xfail
    def test_xpass(): pass
    @pytest.mark.xfail(strict=True)
    def test_xpass_strict(): pass
    @pytest.mark.xfail(run=False)
    def test_xfail_not_run(): os._exit(3)
    @pytest.mark.skip(reason="because")
    def test_skip(): pass
    def test_skip_inside(): pytest.skip("inside")
    @pytest.fixture
    def bad(): raise RuntimeError("set-up")
    @pytest.fixture
    def bad_later():
        yield
        raise RuntimeError("tear-down")
    def test_error(bad): pass
    def test_error_later(bad_later): pass
    def test_fail_and_error_later(bad_later): assert 0
    def test_exit(): sys.exit(3)
    def test_recursion():
        def f(): f()
        f()
    def test_capsys(capsys):
        print("out"); assert capsys.readouterr().out == "out\\n"
    def test_capfd(capfd):
        os.write(1, b"out\\xff"); os.system("echo more")
        assert "more" in capfd.readouterr().out
    def test_caplog(caplog):
        logging.warning("hm"); assert caplog.messages == ["hm"]
    def test_recwarn(recwarn):
        warnings.warn("x"); assert len(recwarn) == 1
    def test_monkeypatch(monkeypatch, tmp_path):
        monkeypatch.chdir(tmp_path); monkeypatch.setenv("A", "B")
    def test_clean_again(): assert "A" not in os.environ
    def test_cache(cache):
        cache.set("a/b", 1); assert cache.get("a/b", 0) == 1
    def test_plain_interpreter():
        assert os.path.realpath(sys.path[0]) in (os.getcwd(), os.path.dirname(__file__))
        assert sys.argv[0].endswith(os.path.join("pytest", "__main__.py"))
        assert not [name for name in sys.modules if "unflake" in name]
        assert not [p for p in sys.path if "unflake_agent" in p]
        assert not [name for name in os.environ if "UNFLAKE" in name.upper()]
        assert sys.modules["__main__"].__spec__.name == "pytest.__main__"
    class TestUnit(unittest.TestCase):
        @classmethod
        def setUpClass(cls): cls.ready = True
        def setUp(self): self.number = 1
        def test_ready(self): self.assertTrue(self.ready and self.number)
        def test_fails(self): self.fail()
        def test_subtests(self):
            for i in range(3):
                with self.subTest(i=i): pass
        @unittest.expectedFailure
        def test_expected(self): self.fail()
        @unittest.expectedFailure
        def test_unexpected(self): pass
        @unittest.skip("no")
        def test_skipped(self): pass
        def tearDown(self): del self.number
    class TestBroken(unittest.TestCase):
        @classmethod
        def setUpClass(cls): raise RuntimeError
        def test_never(self): pass
        def test_never_either(self): pass
"""

SUBTESTS = """
    import unittest
    class TestSub(unittest.TestCase):
        def test_one_of_three(self):
            for i in range(3):
                with self.subTest(i=i): self.assertNotEqual(i, 1)
"""

DOCTEST = '''
    def double(x):
        """
        >>> double(2)
        4
        >>> double(3)
        7
        """
        return 2 * x
    def half(x):
        """
        >>> half(4)
        2.0
        """
        return x / 2
'''

BROKEN = "import no_such_module_at_all\ndef test_x(): pass\n"

SEVERITY = ["passed", "skipped", "error", "failed"]


def plain(folder, arguments, env=None):
    """Outcomes by name as plain pytest tells them, in the original order."""
    return plain_as_it_is(folder, env, ["-p", "no:randomly", *arguments])


def plain_as_it_is(folder, env=None, arguments=()):
    """Outcomes by name as plain pytest tells them in JUnit XML, the worst if there are several."""
    with tempfile.TemporaryDirectory() as aside:
        report = os.path.join(aside, "junit.xml")
        command = [sys.executable, "-B", "-m", "pytest", "-q", "--junitxml", report]
        command += ["-o", "cache_dir=" + aside, "--continue-on-collection-errors", *arguments]
        subprocess.run(command, cwd=folder, env=environment(env), capture_output=True)
        cases = list(ElementTree.parse(report).iter("testcase"))
    found = {}
    for case in cases:
        kinds = {child.tag for child in case}
        outcome = "passed"
        for tag, name in (("skipped", "skipped"), ("error", "error"), ("failure", "failed")):
            if tag in kinds:
                outcome = name
        key = (case.get("classname"), case.get("name"))
        before = found.get(key, "passed")
        found[key] = max(before, outcome, key=SEVERITY.index)
    return found


def junit_key(name):
    """The class and name that JUnit XML has for a node id (the rules of pytest's own writer)."""
    path, _, parameters = name.partition("[")
    parts = path.split("::")
    if parts[0].endswith(".py"):
        parts[0] = parts[0][: -len(".py")]
    parts[0] = parts[0].replace("/", ".")
    last = parts.pop() + ("[" + parameters if parameters else "")
    return ".".join(parts), last


class AsPlain(ProjectCase):
    maxDiff = None

    def compare(self, arguments=(), isolation=()):
        expected = plain(self.folder, arguments)
        before = self.tree()
        engine = self.engine(*arguments)
        run = engine.whole(isolation=isolation)
        self.assertTrue(run.is_done)
        self.assertEqual(run.exited, {"run": 1, "code": 0})
        told = {}
        for name, end in zip(engine.ids, run.ends):
            told[junit_key(name)] = end["outcome"]
        self.assertEqual(told, {key: told_as for key, told_as in expected.items() if key in told})
        self.assertEqual(self.tree(), before)
        return engine, run, expected

    def write_features(self):
        self.write(conftest=CONFTEST, test_features=FEATURES, sub__test_more=FEATURES)
        self.write(test_sub=SUBTESTS, doc=DOCTEST)

    def test_features(self):
        self.write_features()
        engine, run, expected = self.compare(["--doctest-modules"])
        self.assertEqual(len(run.ends), len(expected))
        self.assertGreater(len(run.ends), 70)
        self.assertEqual({end["outcome"] for end in run.ends}, set(SEVERITY))

    def test_features_in_full_isolation(self):
        self.write_features()
        _, run, _ = self.compare(["--doctest-modules"], isolation=ALL)
        self.assertEqual(set(run.isolated["applied"]), permitted(), run.isolated["refused"])

    def test_features_without_capture(self):
        self.write(conftest=CONFTEST, test_features=FEATURES)
        self.compare(["-s"])

    def test_collection_errors_do_not_stop_the_rest(self):
        self.write(test_broken=BROKEN, test_good="def test_x(): pass")
        engine, run, _ = self.compare()
        self.assertEqual(engine.ids, ["test_good.py::test_x"])
        (error,) = engine.collected["errors"]
        self.assertEqual(error["where"], "test_broken.py")
        self.assertIn("no_such_module_at_all", error["text"])

    def test_ten_thousand_strange_ids(self):
        self.write(
            test_many="""
            import pytest
            @pytest.mark.parametrize("x", ["%d [/] ü 日" % i for i in range(10000)])
            def test_x(x): assert not x.startswith("77")
            """
        )
        engine = self.engine()
        self.assertEqual(len(set(engine.ids)), 10000)
        chosen = [9999, 77, 0]
        self.assertEqual(engine.run(chosen).outcomes, ["passed", "failed", "passed"])

    def test_options_of_the_project_do_not_break_it(self):
        self.write_file(
            "pytest.ini",
            """
            [pytest]
            addopts = -x --maxfail=1 --lf --sw --strict-markers --basetemp=here -ra -vv
            log_file = tests.log
            """,
        )
        self.write(
            test_a="""
            import logging
            def test_a(): assert 0
            def test_b(tmp_path): logging.error("x")
            def test_c(): assert 0
            """
        )
        before = self.tree()
        engine = self.engine()
        self.assertEqual(engine.whole().outcomes, ["failed", "passed", "failed"])
        self.assertEqual(self.tree(), before)

    def test_classes_and_files(self):
        self.write(sub__test_a="class TestX:\n  def test_m(self): pass\ndef test_f(): pass")
        (method, function) = self.engine().collected["tests"]
        self.assertEqual(method["class"], "sub/test_a.py::TestX")
        self.assertEqual(function["class"], "sub/test_a.py")
        self.assertEqual(method["file"], "sub/test_a.py")


class Details(ProjectCase):
    def test_of_a_failure(self):
        self.write(
            test_a="""
            import os, sys
            def test_a():
                print("said")
                sys.stderr.write("cried")
                os.write(1, b"\\xff")
                assert 1 == 2, "\\ud800"
            """
        )
        (end,) = self.engine().whole().ends
        self.assertEqual((end["outcome"], end["phase"]), ("failed", "call"))
        self.assertEqual(end["message"].split("\n")[0], end["message"])
        self.assertIn("AssertionError", end["message"])
        self.assertIn("assert 1 == 2", end["text"])
        self.assertIn("said", end["stdout"])
        self.assertIn("cried", end["stderr"])

    def test_of_a_failure_that_was_shown_before_are_brief(self):
        self.write(test_a="def test_a():\n  x = 1\n  assert x == 2, 'why'")
        (end,) = self.engine().run([0], brief=[0]).ends
        self.assertEqual(end["message"], "AssertionError: why")
        self.assertNotIn("x = 1", end["text"])

    def test_texts_are_bounded(self):
        self.write(test_a="def test_a():\n  print('x' * 1000000)\n  assert 0")
        (end,) = self.engine().whole().ends
        self.assertLess(len(end["stdout"]), 70000)
        self.assertIn("bytes cut out", end["stdout"])

    def test_phases(self):
        self.write(
            test_a="""
            import pytest
            @pytest.fixture
            def bad(): raise RuntimeError("no")
            @pytest.fixture
            def late():
                yield
                raise RuntimeError("no")
            def test_a(bad): pass
            def test_b(late): pass
            @pytest.mark.skip(reason="why")
            def test_c(): pass
            """
        )
        ends = self.engine().whole().ends
        self.assertEqual([e["outcome"] for e in ends], ["error", "error", "skipped"])
        self.assertEqual([e["phase"] for e in ends], ["setup", "teardown", "setup"])
        self.assertIn("RuntimeError: no", ends[1]["message"])
        self.assertIn("why", ends[2]["message"])


if __name__ == "__main__":
    unittest.main()
