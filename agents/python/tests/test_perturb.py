"""Circumstances of a run: perturbed by seed, held fixed without, and gone with the process."""

import json
import os
import time
import unittest

from engine import ALL, PATIENCE, ProjectCase

FACTORS = (
    "cpu memory disk network waits switches clock date time-zone locale hash-seed listings random "
    "recursion descriptors umask columns neighbours"
).split()

LOOK = """
    import datetime, json, locale, os, random, resource, sys, tempfile, time, uuid
    from time import sleep, time as now
    def test_look(tmp_path):
        for name in "abcdefgh":
            (tmp_path / name).mkdir()
        seen = {
            "listing": os.listdir(tmp_path),
            "scanned": [entry.name for entry in os.scandir(tmp_path)],
            "walked": [path.name for path in tmp_path.iterdir()],
            "random": [random.random(), random.Random().random()],
            "uuid": str(uuid.uuid4()),
            "year": datetime.datetime.now().year - time.gmtime(os.stat(tmp_path).st_mtime).tm_year,
            "types": type(datetime.datetime.now()) is datetime.datetime,
            "clocks": abs(datetime.datetime.now().timestamp() - now()) < 60,
            "zone": time.strftime("%z"),
            "umask": os.umask(0o022),
            "columns": os.environ.get("COLUMNS"),
            "recursion": sys.getrecursionlimit(),
            "files": resource.getrlimit(resource.RLIMIT_NOFILE)[0],
            "memory": resource.getrlimit(resource.RLIMIT_DATA)[0],
            "cores": sorted(os.sched_getaffinity(0)),
            "sleep": type(sleep).__name__,
            "traced": sys.gettrace() is not None,
            "ours": [name for name in sys.modules if "unflake" in name],
            "hash": os.environ.get("PYTHONHASHSEED"),
        }
        with open(os.path.join(tempfile.gettempdir(), "seen.json"), "w") as file:
            json.dump(seen, file)
"""


def seen(run):
    with open(os.path.join(run.scratch, "tmp", "seen.json")) as file:
        return json.load(file)


class Perturbed(ProjectCase):
    def setUp(self):
        super().setUp()
        self.write(test_look=LOOK, test_more="def test_a(): pass\ndef test_b(): pass")

    def shaken(self, engine, *factors, seed=1, **how):
        perturb = {"factors": list(factors), "seed": seed}
        return engine.run(["test_look"], perturb=perturb, **how)

    def test_without_being_asked_nothing_is_otherwise(self):
        run = self.engine().run(["test_look"])
        self.assertEqual(run.all("perturbed"), [])
        self.assertEqual(seen(run)["sleep"], "builtin_function_or_method")
        self.assertEqual(seen(run)["ours"], [])

    def test_every_factor_is_applied_or_refused_with_a_reason(self):
        engine = self.engine(env={"PYTHONHASHSEED": "7"})
        for factor in FACTORS:
            run = self.shaken(engine, factor)
            self.assertEqual(run.outcomes, ["passed"], factor)
            (told,) = run.all("perturbed")
            named = [it["factor"] for it in told["applied"] + told["refused"]]
            self.assertEqual(named, [factor])
            self.assertTrue(all(it["how"] for it in told["applied"]))
            self.assertTrue(all(it["why"] for it in told["refused"]))

    def test_all_at_once_the_test_still_runs_under_full_isolation(self):
        run = self.shaken(self.engine(), *FACTORS, isolation=ALL)
        self.assertEqual(len(run.outcomes), 1)
        self.assertTrue(run.is_done)

    def test_a_factor_nobody_knows_is_refused(self):
        (told,) = self.shaken(self.engine(), "moon").all("perturbed")
        self.assertEqual([it["factor"] for it in told["refused"]], ["moon"])

    def test_the_same_seed_makes_the_same_choices_and_another_others(self):
        engine = self.engine()
        factors = "listings random umask columns time-zone descriptors recursion".split()
        keys = "listing scanned walked random uuid umask columns zone recursion".split()
        picked = [
            {key: seen(self.shaken(engine, *factors, seed=seed))[key] for key in keys}
            for seed in (3, 3, 4)
        ]
        self.assertEqual(picked[0], picked[1])
        for key in ("listing", "scanned", "walked", "random", "uuid"):
            self.assertNotEqual(picked[0][key], picked[2][key], key)

    def test_what_is_off_is_held_fixed(self):
        engine = self.engine()
        first, second = (seen(self.shaken(engine, seed=seed)) for seed in (1, 2))
        self.assertEqual(first["listing"], sorted(first["listing"]))
        for key in ("listing", "random", "uuid", "zone", "umask", "year"):
            self.assertEqual(first[key], second[key], key)

    def test_a_project_that_seeds_its_generator_keeps_its_numbers(self):
        self.write(conftest="import random\nrandom.seed(5)")
        engine = self.engine()
        drawn = [seen(self.shaken(engine, "random", seed=seed))["random"][0] for seed in (1, 2)]
        self.assertEqual(drawn[0], drawn[1])

    def test_the_clock_is_one_wherever_it_is_read(self):
        engine = self.engine()
        years = set()
        for seed in range(12):
            look = seen(self.shaken(engine, "date", seed=seed))
            self.assertTrue(look["types"] and look["clocks"], look)
            years.add(look["year"])
        self.assertGreater(len(years), 1, "none of twelve dates is in another year")

    def test_functions_taken_by_name_are_reached(self):
        self.assertEqual(seen(self.shaken(self.engine(), "waits"))["sleep"], "function")

    def test_how_strings_are_hashed_is_for_the_engine_to_decide(self):
        engine = self.engine(env={"PYTHONHASHSEED": "random"})
        (told,) = self.shaken(engine, "hash-seed").all("perturbed")
        self.assertEqual([it["factor"] for it in told["refused"]], ["hash-seed"])

    def test_nothing_is_left_for_the_next_run(self):
        engine = self.engine()
        before = seen(engine.run(["test_look"]))
        self.shaken(engine, *FACTORS)
        # A neighbour writes the same file.
        run = self.shaken(engine, *[factor for factor in FACTORS if factor != "neighbours"])
        after = seen(engine.run(["test_look"]))
        for key in set(before) - {"random", "uuid", "listing", "scanned", "walked"}:
            self.assertEqual(before[key], after[key], key)
        self.assertNotEqual(before["files"], seen(run)["files"])

    def test_no_companion_outlives_its_run(self):
        engine = self.engine()
        run = self.shaken(engine, "cpu", "neighbours")
        self.assertEqual([it["factor"] for it in run.all("perturbed")[0]["refused"]], [])
        engine.stop()
        # Killed they are; when the kernel comes to it is its own business.
        by = time.monotonic() + PATIENCE
        while _processes_in(self.folder) and time.monotonic() < by:
            os.sched_yield()
        self.assertEqual(_processes_in(self.folder), [])


def _processes_in(folder):
    """Processes whose working directory is there, or that a signal still reaches."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            if os.readlink(f"/proc/{pid}/cwd") == folder:
                os.kill(int(pid), 0)
                found.append(int(pid))
        except OSError:
            continue
    return found


if __name__ == "__main__":
    unittest.main()
