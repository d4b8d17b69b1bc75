"""The wheel and the archive: what is in them, and that they work where nothing else is."""

import hashlib
import json
import os
import re
import subprocess
import sys
import tarfile
import unittest
import zipfile

from common import DIST, FLAKY, PYTHON, ROOT, VERSION, Case, tomllib

SHARE = [
    "share/man/man1/unflake.1",
    "share/man/man1/unflake-detect.1",
    "share/man/man1/unflake-triage.1",
    "share/bash-completion/completions/unflake",
    "share/zsh/site-functions/_unflake",
    "share/fish/vendor_completions.d/unflake.fish",
]
DOCUMENTS = ["README.md", "LICENSE-MIT", "LICENSE-APACHE"]


def only(pattern):
    (found,) = DIST.glob(pattern)
    return found


class Wheel(Case):
    def test_it_carries_the_binary_its_pages_and_its_licences_and_no_python(self):
        with zipfile.ZipFile(only("*.whl")) as wheel:
            names = wheel.namelist()
            metadata = wheel.read(f"unflake-{VERSION}.dist-info/METADATA").decode()
        data = f"unflake-{VERSION}.data"
        self.assertIn(f"{data}/scripts/unflake", names)
        for name in SHARE:
            self.assertIn(f"{data}/data/{name}", names)
        for name in ["LICENSE-MIT", "LICENSE-APACHE"]:
            self.assertIn(f"unflake-{VERSION}.dist-info/licenses/{name}", names)
        self.assertEqual([name for name in names if name.endswith(".py")], [])
        self.assertIn(f"\nVersion: {VERSION}\n", metadata)
        self.assertIn("\nLicense-Expression: MIT OR Apache-2.0\n", metadata)
        self.assertNotIn("Requires-Dist", metadata)
        self.assertIn("# unflake", metadata, "the README is what the package index shows")

    def test_from_a_fresh_environment_it_finds_the_flaky_tests_of_the_example(self):
        shop, fresh = self.shop(), self.folder / "fresh"
        made = self.run_in(self.folder, sys.executable, "-m", "venv", fresh)
        self.assertEqual(made.returncode, 0, made.stdout)
        pip = [fresh / "bin/python", "-m", "pip", "install", "--quiet", "--no-index"]
        how = ["--disable-pip-version-check", "--find-links", DIST, "unflake"]
        installed = self.run_in(self.folder, *pip, *how)
        self.assertEqual(installed.returncode, 0, installed.stdout)
        for name in SHARE:
            self.assertTrue((fresh / name).is_file(), name)

        found = subprocess.run(
            [fresh / "bin/unflake", "detect", "--json", "--python", PYTHON],
            cwd=shop, env=self.env(), stdin=subprocess.DEVNULL, capture_output=True, text=True,
        )
        self.assertEqual(found.returncode, 1, found.stderr)
        findings = json.loads(found.stdout)["findings"]
        self.assertEqual(sorted(finding["test"] for finding in findings), FLAKY)

        # As uvx has it: an environment for the tool alone, first on PATH. It is not the project's.
        with open(fresh / "pyvenv.cfg", "a") as settings:
            settings.write("uv = 0.9.0\n")
        path = os.pathsep.join([str(fresh / "bin"), self.env()["PATH"]])
        said = self.run_in(shop, "unflake", "doctor", PATH=path)
        self.assertEqual(said.returncode, 0, said.stdout)
        self.assertIn("31 tests", said.stdout)


class Archive(Case):
    def test_its_binary_runs_and_its_documents_lie_beside_it(self):
        archive = only("*.tar.gz")
        with tarfile.open(archive) as tar:
            entries = {entry.name: entry for entry in tar.getmembers()}
            top = archive.name[: -len(".tar.gz")]
            for name in [*SHARE, *DOCUMENTS]:
                self.assertIn(f"{top}/{name}", entries)
            self.assertEqual({entry.mtime for entry in entries.values()}, {0})
            self.assertEqual({entry.uname for entry in entries.values()}, {""})
            entry = entries[f"{top}/unflake"]
            self.assertEqual(entry.mode, 0o755)
            (self.folder / "unflake").write_bytes(tar.extractfile(entry).read())
        (self.folder / "unflake").chmod(0o755)
        said = self.run_in(self.folder, self.folder / "unflake", "--version")
        self.assertEqual(said.stdout, f"unflake {VERSION}\n")

    def test_the_checksums_are_those_of_all_files(self):
        lines = (DIST / "SHA256SUMS").read_text().splitlines()
        told = dict(reversed(line.split("  ", 1)) for line in lines)
        files = [path for path in DIST.iterdir() if path.name != "SHA256SUMS"]
        seen = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in files}
        self.assertEqual(told, seen)
        self.assertEqual(len(seen), 2)


@unittest.skipUnless("UNFLAKE_TEST_INSTALLED" in os.environ, "only what is released is tried")
class CargoInstall(Case):
    def test_what_cargo_installs_brings_all_it_needs(self):
        program = os.path.join(os.environ["UNFLAKE_TEST_INSTALLED"], "bin/unflake")
        said = self.run_in(self.shop(), program, "why", FLAKY[0], "--python", PYTHON)
        self.assertEqual(said.returncode, 1, said.stdout)
        self.assertIn("od-victim", said.stdout)


class Pins(unittest.TestCase):
    def test_one_maturin_builds_every_wheel(self):
        required = tomllib.loads((ROOT / "pyproject.toml").read_text())["build-system"]["requires"]
        pinned = (ROOT / "packaging/requirements.txt").read_text()
        self.assertEqual(required, re.findall(r"^maturin==\S+$", pinned, re.MULTILINE))


if __name__ == "__main__":
    unittest.main()
