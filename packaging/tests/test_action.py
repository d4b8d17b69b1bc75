"""The GitHub Action: its own steps, run as GitHub runs them, on real projects."""

import re
import unittest

from common import BROKEN, DIST, FLAKY, ROOT, VERSION, VICTIM, Case, load, yaml

ACTION = load("action.yml")
INSTALL, RUN = ACTION["runs"]["steps"]
BASH = ["bash", "--noprofile", "--norc", "-eo", "pipefail"]
EXPRESSION = re.compile(r"\$\{\{ *(.*?) *\}\}")


class Shape(unittest.TestCase):
    def test_no_input_becomes_text_of_a_script(self):
        for step in ACTION["runs"]["steps"]:
            self.assertEqual(step["shell"], "bash")
            self.assertIsNone(EXPRESSION.search(step["run"]), step["name"])

    def test_it_installs_the_version_it_belongs_to(self):
        self.assertEqual(ACTION["inputs"]["version"]["default"], VERSION)

    def test_nothing_is_installed_that_only_has_the_same_name(self):
        self.assertIn("--no-index", INSTALL["run"])
        self.assertIn('"unflake==$UNFLAKE_VERSION"', INSTALL["run"])

    def test_the_workflows_of_the_documentation_use_inputs_that_exist(self):
        text = (ROOT / "docs/ci.md").read_text()
        blocks = re.findall(r"^```yaml\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
        workflows = [block for block in map(yaml.safe_load, blocks) if "jobs" in block]
        jobs = [job for workflow in workflows for job in workflow["jobs"].values()]
        steps = [step for job in jobs for step in job["steps"]]
        used = [step for step in steps if step.get("uses", "").startswith("unflake/unflake@")]
        self.assertEqual({step["with"]["command"] for step in used}, {"detect", "triage"})
        for step in used:
            self.assertEqual(step["uses"], f"unflake/unflake@v{VERSION}")
            self.assertLessEqual(step["with"].keys(), ACTION["inputs"].keys())


class StepsCase(Case):
    def setUp(self):
        super().setUp()
        self.temp = self.folder / "runner"
        self.temp.mkdir()

    def step(self, step, folder, inputs):
        values = {name: settings["default"] for name, settings in ACTION["inputs"].items()}
        values.update(inputs)

        def filled(text):
            return EXPRESSION.sub(lambda found: values[found[1][len("inputs."):]], text)

        script = self.temp / "step.sh"
        script.write_text(step["run"])
        where = folder / filled(step.get("working-directory", "."))
        env = {name: filled(value) for name, value in step["env"].items()}
        env.update(RUNNER_TEMP=str(self.temp), GITHUB_OUTPUT=str(self.temp / "output"))
        env.update(GITHUB_PATH=str(self.temp / "path"))
        env.update(GITHUB_STEP_SUMMARY=str(self.temp / "summary"))
        return self.run_in(where, *BASH, script, **env)

    def run_step(self, folder, **inputs):
        inputs = {name.replace("_", "-"): value for name, value in inputs.items()}
        return self.step(RUN, folder, inputs)

    def outputs(self):
        """Those of the last run: the file is appended to."""
        lines = (self.temp / "output").read_text().splitlines()
        return dict(line.split("=", 1) for line in lines)

    def summary(self):
        return (self.temp / "summary").read_text()


class Real(StepsCase):
    def setUp(self):
        super().setUp()
        installed = self.step(INSTALL, self.folder, {"from": str(DIST)})
        self.assertEqual(installed.returncode, 0, installed.stdout)

    def test_detect_finds_the_flaky_tests_of_the_example(self):
        self.shop()
        # Without a limit: a busy machine finds as much.
        ended = self.run_step(self.folder, time="", working_directory="shop")
        self.assertEqual(ended.returncode, 1, ended.stdout)
        self.assertIn("::error title=unflake detect::There are flaky tests.", ended.stdout)
        self.assertEqual(self.outputs()["exit-code"], "1")
        with open(self.outputs()["file"]) as file:
            found = file.read()
        for test in FLAKY:
            self.assertIn(test, self.summary())
            self.assertIn(test, found)
        # Later steps can call it, and their Python is still that of the project.
        (added,) = (self.temp / "path").read_text().splitlines()
        path = f"{added}:{self.env()['PATH']}"
        said = self.run_in(self.folder, "bash", "-c", "unflake --version; which python3", PATH=path)
        version, python = said.stdout.splitlines()
        self.assertEqual(version, f"unflake {VERSION}")
        self.assertFalse(python.startswith(str(self.temp)), python)

    def test_triage_lets_a_build_pass_that_is_only_flaky_and_no_other(self):
        folder = self.project(test_a=VICTIM)
        how = {"command": "triage", "report": "report.xml", "time": ""}
        ended = self.run_step(folder, **how)
        self.assertEqual(ended.returncode, 0, ended.stdout)
        self.assertIn("od-victim", self.summary())

        self.change(folder, test_b=BROKEN)
        ended = self.run_step(folder, **how)
        self.assertEqual(ended.returncode, 1, ended.stdout)
        self.assertIn("always-failing", self.summary())
        self.assertIn("it is broken, not flaky", ended.stdout)
        self.assertEqual(self.outputs()["exit-code"], "1")


class Fake(StepsCase):
    def fake(self, code):
        """A program that says what it was given, and ends as told."""
        programs = self.temp / "unflake-bin"
        programs.mkdir(exist_ok=True)
        (programs / "unflake").write_text(f'#!/bin/sh\nprintf "<%s>" "$@"\nexit {code}\n')
        (programs / "unflake").chmod(0o755)

    def ended(self, code, **inputs):
        self.fake(code)
        return self.run_step(self.folder, **inputs)

    def test_what_fails_a_build_is_for_the_user_to_say(self):
        table = {
            # command, fail-on: what the step ends with after exit codes 0 to 5.
            ("detect", ""): [0, 1, 2, 3, 0, 5],
            ("detect", "findings"): [0, 1, 2, 3, 0, 5],
            ("detect", "undecided"): [0, 1, 2, 3, 4, 5],
            ("detect", "never"): [0, 0, 2, 3, 0, 5],
            ("triage", ""): [0, 1, 2, 3, 4, 5],
            ("triage", "findings"): [0, 1, 2, 3, 0, 5],
            ("triage", "never"): [0, 0, 2, 3, 0, 5],
        }
        for (command, fail_on), expected in table.items():
            how = {"command": command, "report": "r.xml", "fail_on": fail_on}
            seen = [self.ended(code, **how).returncode for code in range(6)]
            self.assertEqual(seen, expected, (command, fail_on))

    def test_options_reach_the_program_word_by_word_and_no_shell(self):
        (self.folder / "a.py").touch()
        said = self.ended(0, time="5s; touch owned", args="--jobs 2 *.py $(touch owned)\n`x`")
        words = "<detect><--format><markdown><--time><5s; touch owned>"
        self.assertIn(words + "<--jobs><2><*.py><$(touch><owned)><`x`>", said.stdout)
        said = self.ended(0, command="triage", report="a report.xml", time="", args="")
        self.assertIn("<triage><a report.xml>", said.stdout)
        self.assertFalse((self.folder / "owned").exists())

    def test_inputs_that_make_no_sense_are_refused(self):
        for inputs in [{"command": "x"}, {"command": "triage"}, {"fail_on": "sometimes"}]:
            self.assertEqual(self.ended(0, **inputs).returncode, 2, inputs)


if __name__ == "__main__":
    unittest.main()
