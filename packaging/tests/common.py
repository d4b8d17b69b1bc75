"""What the tests of the packages share: where things are, projects to try them on, a shell."""

import os
import shutil
import subprocess
import tempfile
import textwrap
import unittest
from pathlib import Path

import yaml

try:
    import tomllib
except ImportError:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[2]
DIST = Path(os.environ["UNFLAKE_TEST_DIST"])
# A Python with pytest: that of the project which is looked into.
PYTHON = Path(os.environ["UNFLAKE_TEST_PYTHON"])
VERSION = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["version"]

FLAKY = [
    "tests/test_amounts.py::test_price_is_shown_in_euro",
    "tests/test_cart.py::test_total_is_rounded_to_cents",
    "tests/test_catalog.py::test_finds_a_book_by_isbn",
    "tests/test_coupons.py::test_a_coupon_can_be_registered",
    "tests/test_search.py::test_bestseller_is_on_the_first_page",
    "tests/test_shipping.py::test_parcel_arrives_within_three_days",
]

VICTIM = """
    STATE = []
    def test_polluter(): STATE.append(1)
    def test_victim(): assert not STATE
"""
BROKEN = "def test_broken(): assert 1 + 1 == 3"


def load(path):
    return yaml.safe_load((ROOT / path).read_text())


class Case(unittest.TestCase):
    """A folder of its own, which is also home, and nothing else of the surroundings."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name).resolve()
        self.home = self.folder / "home"
        self.home.mkdir()

    def env(self, **more):
        kept = {name: os.environ[name] for name in ("LANG", "TMPDIR") if name in os.environ}
        return {
            **kept,
            "HOME": str(self.home),
            # `python3` is the Python of the project here.
            "PATH": os.pathsep.join([str(PYTHON.parent), "/usr/local/bin", "/usr/bin", "/bin"]),
            **more,
        }

    def run_in(self, folder, *command, **more):
        words = [str(word) for word in command]
        return subprocess.run(
            words, cwd=folder, env=self.env(**more), stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )

    def shop(self):
        copy = self.folder / "shop"
        ignored = shutil.ignore_patterns("__pycache__", ".pytest_cache")
        return Path(shutil.copytree(ROOT / "examples/shop", copy, ignore=ignored))

    def project(self, **files):
        """A project with a red build behind it."""
        folder = self.folder / "project"
        folder.mkdir()
        return self.change(folder, **files)

    def change(self, folder, **files):
        """Changes files of it, and lets the build be red again."""
        for name, text in files.items():
            (folder / f"{name}.py").write_text(textwrap.dedent(text))
        report = "--junit-xml=report.xml"
        red = self.run_in(folder, PYTHON, "-m", "pytest", "-p", "no:cacheprovider", report)
        self.assertEqual(red.returncode, 1, red.stdout)
        return folder
