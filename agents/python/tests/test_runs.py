"""What a run is: any order, true next items, twice, side by side, each on its own."""

import os
import socket
import tempfile
import unittest

from engine import ALL, ProjectCase, only_where_permitted, permitted

TRAIL = """
    import os, pytest
    def note(word):
        with open(os.path.join(os.environ["TMPDIR"], "trail"), "a") as file:
            file.write(word + " ")
    @pytest.fixture(scope="session")
    def whole():
        note("session+"); yield; note("session-")
    @pytest.fixture(scope="module")
    def module(whole):
        note("module+"); yield; note("module-")
    @pytest.fixture
    def one(module):
        note("one+"); yield; note("one-")
"""


def trail(run):
    with open(os.path.join(run.scratch, "tmp", "trail")) as file:
        return file.read().split()


def outcomes_by_name(engine, run):
    """How the attempts of each test ended."""
    found = {}
    for end in run.ends:
        name = engine.ids[end["position"]].split("::")[-1]
        found.setdefault(name, []).append(end["outcome"])
    return found


class Orders(ProjectCase):
    def setUp(self):
        super().setUp()
        self.write(conftest=TRAIL)
        body = """
            from conftest import note
            def test_a(one): note("a")
            def test_b(one): note("b")
            class TestC:
                def test_c(self, one):
                    assert not hasattr(self, "mark")
                    self.mark = 1
            """
        self.write(test_x=body, test_y=body)

    def test_fixtures_live_as_long_as_in_a_plain_run(self):
        run = self.engine().run(["x.py::test_b", "x.py::test_a", "y.py::test_a"])
        self.assertEqual(
            " ".join(trail(run)),
            "session+ module+ one+ b one- one+ a one- module- module+ one+ a one- module- session-",
        )

    def test_twice_sets_up_again_what_is_not_for_the_whole_session(self):
        run = self.engine().run(["x.py::test_b", "x.py::test_a"], twice=True)
        self.assertEqual(
            " ".join(trail(run)),
            "session+ module+ one+ b one- module- module+ one+ b one- one+ a one- module- "
            "module+ one+ a one- module- session-",
        )
        told = [(end["position"], end["attempt"]) for end in run.ends]
        self.assertEqual(told, [(0, 0), (0, 1), (1, 0), (1, 1)])

    def test_twice_is_a_new_instance(self):
        run = self.engine().run(["x.py::TestC::test_c", "y.py::TestC::test_c"], twice=True)
        self.assertEqual(run.outcomes, ["passed"] * 4)

    def test_twice_of_all_kinds_of_items(self):
        self.write(
            test_kinds='''
            import unittest, pytest
            @pytest.mark.parametrize("x", [1, 2])
            def test_p(x): assert x == 1
            class TestU(unittest.TestCase):
                count = 0
                def test_u(self):
                    assert not hasattr(self, "mark")
                    self.mark = 1
            seen = []
            def test_again(): seen.append(1); assert len(seen) == 1
            def doc():
                """
                >>> 1
                1
                >>> seen, TestU.count
                ([], 0)
                >>> seen = 2
                """
            class TestShared:
                @classmethod
                def setup_class(cls): cls.left = [1]
                def test_s(self): self.left.pop()
            '''
        )
        engine = self.engine("--doctest-modules", "test_kinds.py")
        run = engine.whole(twice=True)
        expected = {
            "test_kinds.doc": ["passed"] * 2,
            "test_p[1]": ["passed"] * 2,
            "test_p[2]": ["failed"] * 2,
            "test_u": ["passed"] * 2,
            "test_again": ["passed", "failed"],
            "test_s": ["passed"] * 2,
        }
        self.assertEqual(outcomes_by_name(engine, run), expected)
        self.assertNotIn("once", engine.collected["tests"][0])

    def test_what_only_a_plugin_can_run_is_not_repeated(self):
        self.write(
            conftest="""
            import pytest
            class Item(pytest.Item):
                left = [1]
                def runtest(self): self.left.pop()
            class File(pytest.File):
                def collect(self): yield Item.from_parent(self, name="it")
            def pytest_collect_file(file_path, parent):
                if file_path.suffix == ".odd":
                    return File.from_parent(parent, path=file_path)
            """,
            test_f="def test_f(): pass",
        )
        self.write_file("a.odd", "")
        engine = self.engine("a.odd", "test_f.py")
        run = engine.whole(twice=True)
        expected = {"it": ["passed", "skipped"], "test_f": ["passed"] * 2}
        self.assertEqual(outcomes_by_name(engine, run), expected)
        self.assertEqual([test.get("once") for test in engine.collected["tests"]], [True, None])

    def test_the_same_order_twice_starts_from_the_same_state(self):
        self.write(test_z="seen = []\ndef test_z(): seen.append(1); assert len(seen) == 1")
        engine = self.engine()
        for _ in range(3):
            self.assertEqual(engine.run(["test_z"]).outcomes, ["passed"])


class SideBySide(ProjectCase):
    def test_output_is_not_mixed(self):
        self.write(
            test_a="""
            import os, time, pytest
            @pytest.mark.parametrize("x", range(4))
            def test_a(x):
                for _ in range(50):
                    print("say%d" % x); os.system("echo cry%d >&2" % x)
                assert 0
            """
        )
        engine = self.engine()
        runs = [engine.start([number]) for number in range(4)]
        for number, run in enumerate(runs):
            engine.wait(run)
            (end,) = run.ends
            self.assertEqual(end["stdout"], f"say{number}\n" * 50)
            self.assertEqual(end["stderr"], f"cry{number}\n" * 50)

    def test_cache_and_temporary_folders_are_not_shared(self):
        self.write(
            test_a="""
            import tempfile, os
            def test_a(cache, tmp_path):
                assert cache.get("x", None) is None
                cache.set("x", 1)
                assert str(tmp_path).startswith(os.environ["TMPDIR"])
                assert tempfile.gettempdir() == os.environ["TMPDIR"]
            """
        )
        engine = self.engine()
        self.assertEqual([engine.run([0]).outcomes for _ in range(2)], [["passed"]] * 2)

    def test_random_numbers_are_those_of_plain_runs(self):
        draw = """
            import random, os
            {}
            def test_a():
                with open(os.path.join(os.environ["TMPDIR"], "drawn"), "w") as file:
                    file.write(str(random.random()))
            """
        for seed, distinct in (("random.random()", 3), ("random.seed(5)", 1)):
            self.write(test_a=draw.format(seed))
            engine = self.engine()
            drawn = set()
            for _ in range(3):
                with open(os.path.join(engine.run([0]).scratch, "tmp", "drawn")) as file:
                    drawn.add(file.read())
            self.assertEqual(len(drawn), distinct, seed)

    @only_where_permitted("tree")
    def test_a_log_file_opened_at_import_is_not_written_in_the_tree(self):
        self.write(
            conftest="""
            import logging
            logging.getLogger().addHandler(logging.FileHandler("app.log"))
            """,
            test_a="import logging\ndef test_a(): logging.error('x')",
        )
        engine = self.engine()
        before = self.tree()
        self.assertEqual(engine.run([0], isolation=["tree"]).outcomes, ["passed"])
        self.assertEqual(self.tree(), before)


class Isolation(ProjectCase):
    def test_each_level_alone(self):
        self.write(test_a="def test_a(): pass")
        engine = self.engine()
        for level in sorted(permitted()):
            run = engine.run([0], isolation=[level])
            self.assertEqual(run.isolated, {"applied": [level], "refused": []})
            self.assertEqual(run.outcomes, ["passed"])

    @only_where_permitted("tree")
    def test_tree(self):
        self.write_file("data, with: odd\\name/kept", "kept")
        os.mkdir(os.path.join(self.folder, "folder"))
        self.write(
            test_a="""
            import os, shutil
            def test_a():
                assert os.path.exists(os.path.abspath("data, with: odd\\\\name/kept"))
                open("new", "w").close(); open("test_a.py", "a").write("x")
                os.rename("folder", "moved"); shutil.rmtree("data, with: odd\\\\name")
                import helper
            """,
            helper="",
        )
        before = self.tree()
        for isolation in (["tree"], ALL):
            run = self.engine().run([0], isolation=isolation)
            self.assertEqual(run.outcomes, ["passed"], run.ends)
            self.assertEqual(self.tree(), before)

    @only_where_permitted("tree")
    def test_a_tree_with_an_odd_name(self):
        self.folder = os.path.join(self.folder, "a,b:c\\d é")
        os.mkdir(self.folder)
        self.write(test_a="def test_a(): open('new', 'w').close()")
        run = self.engine().run([0], isolation=["tree"])
        self.assertEqual(run.isolated, {"applied": ["tree"], "refused": []})
        self.assertEqual(list(self.tree()), ["test_a.py"])

    @only_where_permitted("tree")
    def test_the_tree_is_the_git_top_level(self):
        os.mkdir(os.path.join(self.folder, ".git"))
        self.write(inner__test_a="def test_a(): open('../new', 'w').close()")
        self.write_file("inner/pytest.ini", "[pytest]")
        before = self.tree()
        self.folder, top = os.path.join(self.folder, "inner"), self.folder
        self.assertEqual(self.engine().run([0], isolation=["tree"]).outcomes, ["passed"])
        self.folder = top
        self.assertEqual(self.tree(), before)

    @only_where_permitted("tree", "home")
    def test_home(self):
        for inside in (False, True):
            with self.subTest(tree_in_home=inside), tempfile.TemporaryDirectory() as home:
                if inside:
                    self.folder = os.path.join(os.path.realpath(home), "project")
                self.write(
                    test_a="""
                    import os
                    def test_a():
                        assert open(os.path.expanduser("~/there")).read() == "x"
                        open(os.path.expanduser("~/new"), "w").close()
                        open("new", "w").close()
                    """
                )
                with open(os.path.join(home, "there"), "w") as file:
                    file.write("x")
                engine = self.engine(env={"HOME": home})
                run = engine.run([0], isolation=["tree", "home"])
                self.assertEqual(run.isolated["applied"], ["tree", "home"])
                self.assertEqual(run.outcomes, ["passed"], run.ends)
                self.assertFalse(os.path.exists(os.path.join(home, "new")))
                self.assertEqual(list(self.tree()), ["test_a.py"])

    @only_where_permitted("pid")
    def test_pid(self):
        self.write(
            test_a="""
            import os, subprocess
            def test_a():
                subprocess.Popen(["sleep", "1000"], start_new_session=True)
                assert os.getpid() == 2 and os.readlink("/proc/self") == "2"
                assert os.getpgrp() == os.getsid(0) == 2
            """
        )
        run = self.engine().run([0], isolation=["pid"])
        self.assertEqual(run.outcomes, ["passed"], run.ends)
        self.assertEqual(run.forked["pid"], run.hellos[0]["pid"])

    @only_where_permitted("net")
    def test_net(self):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen(1)
            port = taken.getsockname()[1]
            self.write(
                test_a=f"""
                import socket
                def test_a():
                    with socket.socket() as server, socket.socket() as client:
                        server.bind(("127.0.0.1", {port})); server.listen(1)
                        client.connect(server.getsockname())
                """
            )
            run = self.engine().run([0], isolation=["net"])
            self.assertEqual(run.outcomes, ["passed"], run.ends)

    @only_where_permitted("tree")
    def test_bytecode_is_written_as_the_user_has_it_only_where_it_is_dropped(self):
        self.write(
            test_a="""
            import os, helper
            def test_a():
                import later
                print(os.listdir("."))
                assert 0
            """,
            helper="",
            later="",
        )
        engine = self.engine()
        before = self.tree()
        for isolation, written in ([[], False], [["tree"], True]):
            (end,) = engine.run([0], isolation=isolation).ends
            self.assertEqual("__pycache__" in end["stdout"], written)
        self.assertEqual(self.tree(), before)


if __name__ == "__main__":
    unittest.main()
