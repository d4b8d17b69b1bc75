"""The unflake agent: our code inside the test process.

It collects the tests once, then runs any order of them in a forked child, and tells the engine what
happened. Its messages are described in ``docs/design/agent-protocol.md``.

The map in ``agents/python/README.md`` says which module answers which question.

Every function that is needed while tests run is bound by ``from os import write`` and the like when
the module loads: a test that patches ``os.write`` or ``time.perf_counter`` changes the attribute of
the host's module, not our name. The modules are in ``sys.modules`` only while they load
(``__main__``), so tools that walk through it (freezegun, pyfakefs) do not find ours either.
"""
