"""The GitLab template: its own script, run as GitLab runs it, on real projects."""

import re
import unittest

from common import BROKEN, DIST, FLAKY, ROOT, VERSION, VICTIM, Case, load, yaml

TEMPLATE = load("ci/gitlab.yml")
SHELLS = {"bash": ["bash", "-eo", "pipefail"], "sh": ["sh", "-e"]}


def job(name):
    """A job with what it extends, merged as GitLab merges."""
    own = TEMPLATE[name]
    if "extends" not in own:
        return own
    above = job(own["extends"])
    variables = {**above.get("variables", {}), **own.get("variables", {})}
    return {**above, **own, "variables": variables}


class Shape(unittest.TestCase):
    def test_it_installs_the_version_it_belongs_to(self):
        self.assertEqual(TEMPLATE[".unflake"]["variables"]["UNFLAKE_VERSION"], VERSION)

    def test_nothing_is_installed_that_only_has_the_same_name(self):
        install = TEMPLATE[".unflake"]["script"][0]
        self.assertIn("--no-index", install)
        self.assertIn('"unflake==$UNFLAKE_VERSION"', install)

    def test_jobs_are_hidden_until_a_pipeline_extends_them(self):
        self.assertEqual([name for name in TEMPLATE if not name.startswith(".")], [])

    def test_the_pipelines_of_the_documentation_extend_what_exists(self):
        text = (ROOT / "docs/ci.md").read_text()
        blocks = re.findall(r"^```yaml\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
        pipelines = [block for block in map(yaml.safe_load, blocks) if "include" in block]
        jobs = [job for pipeline in pipelines for job in pipeline.values()]
        used = [job for job in jobs if isinstance(job, dict) and "extends" in job]
        self.assertEqual({job["extends"] for job in used}, {".unflake-detect", ".unflake-triage"})
        for extending in used:
            known = job(extending["extends"])["variables"].keys()
            self.assertLessEqual(extending.get("variables", {}).keys(), known)


class Script(Case):
    def play(self, name, folder, shell, **variables):
        settings = job(name)
        script = self.folder / "script.sh"
        script.write_text("\n".join(settings["script"]))
        env = {**settings["variables"], "CI": "true", "CI_PROJECT_DIR": str(folder), **variables}
        env["UNFLAKE_FROM"] = str(DIST)
        return self.run_in(folder, *SHELLS[shell], script, **env)

    def test_detect_finds_the_flaky_tests_of_the_example(self):
        shop = self.shop()
        before = {path for path in shop.rglob("*") if "__pycache__" not in path.parts}
        ended = self.play(".unflake-detect", shop, "sh", UNFLAKE_TIME="")
        self.assertEqual(ended.returncode, 1, ended.stdout)
        found = (shop / "unflake.txt").read_text()
        for test in FLAKY:
            self.assertIn(test, found)
            self.assertIn(test, ended.stdout)
        after = {path for path in shop.rglob("*") if "__pycache__" not in path.parts}
        self.assertEqual(after - before, {shop / "unflake.txt"})

    def test_triage_fails_where_a_test_is_broken(self):
        folder = self.project(test_a=VICTIM, test_b=BROKEN)
        ended = self.play(".unflake-triage", folder, "bash", UNFLAKE_TIME="")
        self.assertEqual(ended.returncode, 1, ended.stdout)
        found = (folder / "unflake.txt").read_text()
        self.assertIn("od-victim", found)
        self.assertIn("always-failing", found)

    def test_what_fails_a_pipeline_is_for_the_user_to_say(self):
        table = {
            "findings": [0, 1, 2, 3, 0, 5],
            "undecided": [0, 1, 2, 3, 4, 5],
            "never": [0, 0, 2, 3, 0, 5],
            "sometimes": [2] * 6,
        }
        for fail_on, expected in table.items():
            for shell in SHELLS:
                seen = [self.faked(shell, code, fail_on).returncode for code in range(6)]
                self.assertEqual(seen, expected, (fail_on, shell))

    def faked(self, shell, code, fail_on, **variables):
        """The second half of the script, with a program that ends as told."""
        programs = self.folder / "faked/bin"
        programs.mkdir(parents=True, exist_ok=True)
        (programs / "unflake").write_text(f'#!/bin/sh\nprintf "<%s>" "$@"\nexit {code}\n')
        (programs / "unflake").chmod(0o755)
        settings = job(".unflake-detect")
        first, second = settings["script"]
        checks = first[: first.index("unflake_folder=")]
        script = self.folder / "script.sh"
        script.write_text(f"{checks}\nunflake_folder='{programs.parent}'\n{second}")
        env = {**settings["variables"], "UNFLAKE_FAIL_ON": fail_on, **variables}
        return self.run_in(self.folder, *SHELLS[shell], script, **env)

    def test_options_reach_the_program_word_by_word_and_no_shell(self):
        (self.folder / "a.py").touch()
        for shell in SHELLS:
            args = "--jobs 2 *.py $(touch owned)\n`x`"
            said = self.faked(shell, 0, "never", UNFLAKE_ARGS=args, UNFLAKE_TIME="1; touch owned")
            words = "<detect><--format><markdown><--time><1; touch owned>"
            self.assertIn(words + "<--jobs><2><*.py><$(touch><owned)><`x`>", said.stdout)
        self.assertFalse((self.folder / "owned").exists())


if __name__ == "__main__":
    unittest.main()
