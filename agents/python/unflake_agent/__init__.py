"""The unflake agent: our code inside the test process.

It collects the tests once, then runs any order of them in a forked child, and tells the engine
what happened. The words it speaks are in ``docs/design/agent-protocol.md``.

====================  ==========================================================================
module                question it answers
====================  ==========================================================================
``__main__``          how do we get in without leaving traces?
``start``             which runner, and what if it cannot even collect?
``wire``              how is a message written and read?
``with_pytest``       what are pytest's tests, and how is one of them run?
``quick``             how can pytest run a quick test in a third of its time?
``neighbours``        which plugins and options of the project must stand back?
``with_unittest``     the same as ``with_pytest``, with the standard library alone
``serve``             which children live, and who has gone?
``child``             what happens in the life of one run?
``separate``          what would forked children still share, and how do they get their own?
``isolate``           what may a run not touch, and does the system let us enforce it?
``linux``             the system calls Python has no function for
``forkable``          is it safe to fork this process at all?
``watch``             what did each test leave changed, and what if it had not? (loaded when asked)
``trace``             which functions did each test call? (loaded when asked)
====================  ==========================================================================

Every function that is needed while tests run is bound by ``from os import write`` and the like when
the module loads: a test that patches ``os.write`` or ``time.perf_counter`` changes the attribute of
the host's module, not our name. The modules stand in ``sys.modules`` only while they load
(``__main__``), so tools that walk through it (freezegun, pyfakefs) do not find ours either.
"""
