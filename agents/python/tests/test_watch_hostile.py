"""To be watched has no effect: nothing of the program is called, and nothing takes for ever."""

import unittest

from engine import ProjectCase
from test_watch import KINDS, told

HOSTILE = """
    import types, weakref

    def caught(*_, **__): CALLS.append(1); raise RuntimeError("user code was called")
    CALLS = []

    class Meta(type):
        __eq__ = __getattribute__ = __instancecheck__ = __subclasscheck__ = caught
        __hash__ = caught
        __iter__ = __len__ = __repr__ = caught

    class Hostile(metaclass=Meta):
        __eq__ = __repr__ = __str__ = __len__ = __iter__ = __bool__ = caught
        __getattribute__ = __getattr__ = __setattr__ = __getitem__ = __contains__ = caught
        __reduce__ = __reduce_ex__ = __copy__ = __deepcopy__ = __format__ = __index__ = caught
        __class__ = __dict__ = property(caught)
        __hash__ = object.__hash__

    class HostileDict(dict):
        __iter__ = __len__ = __getitem__ = keys = values = items = __eq__ = __repr__ = caught
        __class__ = property(caught)

    class HostileList(list):
        __iter__ = __len__ = __getitem__ = __eq__ = __repr__ = caught

    class HostileText(str):
        __eq__ = __repr__ = __len__ = caught
        __hash__ = str.__hash__

    def raising():
        made = object.__new__(Hostile)
        return made

    THING = raising()
    THINGS = [raising()]
    KEYED = HostileDict()
    dict.__setitem__(KEYED, raising(), raising())
    dict.__setitem__(KEYED, HostileText("k"), 1)
    LISTED = HostileList([raising(), 1])
    NAMED = {HostileText("a"): 1}

    class Cycle: pass
    CYCLE = Cycle(); CYCLE.itself = CYCLE; CYCLE.list = [CYCLE]; CYCLE.list.append(CYCLE.list)

    class Lazy(types.ModuleType):
        def __getattribute__(self, name): caught()
"""


class Hostile(ProjectCase):
    def test_nothing_of_the_program_is_called(self):
        self.write(
            hostile=HOSTILE,
            test_it="""
            import sys, hostile
            lazy = hostile.Lazy("lazy")
            sys.modules["lazy"] = lazy
            def test_nothing(): pass
            def test_changes():
                hostile.THINGS.append(hostile.raising())
                hostile.THING = hostile.raising()
                dict.__setitem__(hostile.KEYED, "new", hostile.raising())
                list.append(hostile.LISTED, hostile.raising())
                hostile.NAMED[hostile.HostileText("b")] = 1
                hostile.CYCLE.list.append(1)
            def test_tells(): assert 0, len(hostile.CALLS)
            """,
        )
        engine = self.engine()
        run = engine.whole(watch=KINDS)
        # pytest itself calls some while it collects.
        self.assertEqual(run.ends[2]["message"], engine.whole().ends[2]["message"])
        self.assertEqual(run.outcomes, ["passed", "passed", "failed"])
        where = [[change[1] for change in told(end)] for end in run.ends]
        self.assertEqual(where[0], [])
        self.assertEqual(
            sorted(where[1]),
            [
                "hostile.CYCLE.list[2]",
                "hostile.KEYED['new']",
                "hostile.LISTED[2]",
                "hostile.NAMED[<hostile.HostileText>]",
                "hostile.THING",
                "hostile.THINGS[1]",
            ],
        )

    def test_what_the_program_drops_is_not_kept_alive(self):
        self.write(
            test_it="""
            import gc, weakref
            class Thing: pass
            THING = Thing(); THINGS = [Thing()]; KEYS = {Thing(): 1}; HOLDER = Thing()
            HOLDER.inner = Thing()
            REFS = tuple(map(weakref.ref, (THING, THINGS[0], HOLDER.inner, *KEYS)))
            def test_nothing(): pass
            def test_drops():
                global THING
                del THING, THINGS[0], HOLDER.inner
                KEYS.clear()
                gc.collect()
                assert [ref() for ref in REFS] == [None] * 4
            """
        )
        run = self.engine().whole(watch=KINDS)
        self.assertEqual(run.outcomes, ["passed", "passed"], run.ends)

    def test_huge_things_are_watched_in_part(self):
        self.write(
            test_it="""
            LIST = list(range(10**6)); DICT = dict.fromkeys(LIST); SET = set(LIST)
            DEEP = []
            for _ in range(10**5): DEEP = [DEEP]
            WIDE = [[n] for n in range(4000)]
            NODE = None
            for n in range(50000): NODE = {"next": NODE}
            def test_nothing(): pass
            def test_grows(): LIST.append(1); DICT[-1] = 1; SET.add(-1); WIDE[3999].append(1)
            """
        )
        run = self.engine().whole(watch=KINDS)
        self.assertEqual(
            [told(end) for end in run.ends],
            [
                [],
                [
                    (
                        "global",
                        f"test_it.{name}",
                        f"<{kind} of 1000000 items> (in part)",
                        f"<{kind} of 1000001 items> (in part)",
                    )
                    for name, kind in (("LIST", "list"), ("DICT", "dict"), ("SET", "set"))
                ]
                + [("global", "test_it.WIDE[3999][1]", None, "1")],
            ],
        )
        self.assertEqual(run.all("done"), [{"in_part": True}])

    def test_objects_may_change_while_they_are_looked_at(self):
        self.write(
            test_it="""
            import sys, threading
            BUSY = {n: [n] for n in range(1000)}
            def work():
                n = 1000
                while True:
                    BUSY[n] = [n]; del BUSY[n - 500]; n += 1
            def test_starts():
                sys.setswitchinterval(1e-6)
                threading.Thread(target=work, daemon=True).start()
            def test_a(): pass
            def test_b(): pass
            """
        )
        run = self.engine().whole(watch=KINDS)
        self.assertEqual((run.outcomes, run.is_done), (["passed"] * 3, True))

    def test_a_test_may_take_everything_away(self):
        self.write(
            test_it="""
            import builtins, os, sys, threading, logging, warnings
            def test_modules():
                for name in ("logging", "random", "asyncio"): sys.modules.pop(name, None)
            def test_replaced():
                os.environ = {}; sys.path = None; sys.argv = "x"; warnings.filters = ()
            def test_closed(): os.closerange(3, 1000)
            def test_removed(): os.mkdir("gone"); os.chdir("gone"); os.rmdir("../gone")
            def test_last(): pass
            """
        )
        engine = self.engine()
        run = engine.whole(watch=KINDS)
        self.assertEqual((run.outcomes, run.is_done), (engine.whole().outcomes, True), run.exited)

    def test_in_place_it_is_the_same(self):
        self.write(
            conftest="""
            import threading
            threading.Thread(target=threading.Event().wait, daemon=True).start()
            """,
            test_it="""
            STATE = {}
            def test_a(): STATE[1] = 1
            """,
        )
        engine = self.engine()
        self.assertIsNotNone(engine.collected["fork"])
        run = engine.run([0], watch=KINDS, in_place=True)
        self.assertEqual(told(run.ends[0]), [("global", "test_it.STATE[1]", None, "1")])


if __name__ == "__main__":
    unittest.main()
