"""The release workflow: its manners, and those of its steps that need no service."""

import re
import shutil
import unittest

from common import DIST, ROOT, VERSION, Case, load

WORKFLOW = load(".github/workflows/release.yml")
JOBS = WORKFLOW["jobs"]
STEPS = [step for job in JOBS.values() for step in job["steps"]]
BASH = ["bash", "-e"]


def script(name):
    (step,) = [step for step in STEPS if step.get("name") == name]
    return step["run"]


class Manners(unittest.TestCase):
    def test_what_others_wrote_is_pinned_to_a_commit(self):
        for step in STEPS:
            if "uses" in step:
                self.assertRegex(step["uses"], r"^[\w-]+/[\w-]+@[0-9a-f]{40}$")

    def test_nothing_of_github_becomes_text_of_a_script(self):
        for step in STEPS:
            self.assertNotIn("${{", step.get("run", ""))

    def test_rights_are_given_where_they_are_used_and_nothing_else_runs_there(self):
        self.assertEqual(WORKFLOW["permissions"], {"contents": "read"})
        given = {name: job["permissions"] for name, job in JOBS.items() if "permissions" in job}
        self.assertEqual(given, {"pypi": {"id-token": "write"}, "github": {"contents": "write"}})
        for name in given:
            uses = [step["uses"] for step in JOBS[name]["steps"] if "uses" in step]
            self.assertFalse([use for use in uses if use.startswith("actions/checkout")])

    def test_nothing_is_published_that_was_not_built_and_tried(self):
        self.assertEqual([JOBS[name]["needs"] for name in ("gather", "pypi", "github")],
                         ["build", "gather", "gather"])
        commands = [step["run"] for step in JOBS["build"]["steps"] if "run" in step]
        self.assertEqual(commands[-1], "cargo xtask dist --try")
        self.assertRegex(JOBS["build"]["steps"][-1]["uses"], "^actions/upload-artifact@")

    def test_documents_name_the_version_that_is_released(self):
        for name in ("README.md", "docs/install.md", "docs/ci.md"):
            text = (ROOT / name).read_text()
            named = re.findall(r"(?:expanded_assets/|--tag |unflake/unflake[@/])v(\d[\d.]*\d)", text)
            self.assertEqual(set(named), {VERSION}, name)

    def test_another_projects_name_is_not_published_to(self):
        self.assertEqual(JOBS["pypi"]["if"], "vars.PUBLISH_TO_PYPI == 'yes'")

    def test_the_compiler_is_the_one_that_the_project_names(self):
        (wanted,) = re.findall(r'^rust-version = "(.*)"$', (ROOT / "Cargo.toml").read_text(), re.M)
        self.assertIn(f"rustup default {wanted}\n", script("Install Rust"))


@unittest.skipUnless(shutil.which("sha256sum"), "where releases are gathered there is one")
class Steps(Case):
    def test_a_tag_that_is_not_the_version_stops_the_release(self):
        for tag, code in [(f"v{VERSION}", 0), ("v99.0.0", 1)]:
            how = {"GITHUB_REF_NAME": tag}
            ended = self.run_in(ROOT, *BASH, "-c", script("Compare tag and version"), **how)
            self.assertEqual(ended.returncode, code, ended.stdout)

    def test_the_packages_of_all_platforms_are_gathered_under_their_checksums(self):
        for name in ("one", "other"):
            shutil.copytree(DIST, self.folder / "built" / name)
        # The same under other names, as another platform would have it.
        other, here, there = self.folder / "built/other", f"unflake-{VERSION}-", "unflake-there-"
        for path in other.glob(f"{here}*"):
            path.rename(path.with_name(path.name.replace(here, there)))
        sums = (other / "SHA256SUMS").read_text().replace(here, there)
        (other / "SHA256SUMS").write_text(sums)
        ended = self.run_in(self.folder, *BASH, "-c", script("Gather and check"))
        self.assertEqual(ended.returncode, 0, ended.stdout)
        self.assertEqual(len(list((self.folder / "dist").iterdir())), 5)
        self.assertEqual(len(list((self.folder / "wheels").glob("*.whl"))), 2)

    def test_a_package_that_was_changed_is_not_released(self):
        shutil.copytree(DIST, self.folder / "built/one")
        (wheel,) = (self.folder / "built/one").glob("*.whl")
        with open(wheel, "ab") as file:
            file.write(b"x")
        ended = self.run_in(self.folder, *BASH, "-c", script("Gather and check"))
        self.assertNotEqual(ended.returncode, 0, ended.stdout)


if __name__ == "__main__":
    unittest.main()
