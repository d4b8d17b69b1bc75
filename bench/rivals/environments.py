"""Python environments with pinned packages, kept under the target folder between runs."""

import os
import pathlib
import subprocess
import sys
from typing import Dict, List

ROOT = pathlib.Path(__file__).resolve().parents[2]
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", str(ROOT / "target"))).absolute()
VENVS = TARGET / "bench" / "venvs"

# Settings of the caller that would change what pytest does, or (no bytecode) what it costs.
UNWANTED = ("PYTHON", "PYTEST")


def pytest_packages() -> List[str]:
    """The pytest that every tool gets that does not bring its own."""
    return ["-r", str(ROOT / "agents" / "python" / "requirements.txt")]


def make(name: str, packages: List[str]) -> pathlib.Path:
    """The folder of the environment, which is made if it is not there as wanted."""
    folder = VENVS / name
    stamp = folder / "packages.installed"
    wanted = "\n".join([sys.version] + packages)
    if not (stamp.is_file() and stamp.read_text() == wanted):
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(folder)], check=True)
        pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet"]
        quiet = ["--disable-pip-version-check", "--no-warn-script-location"]
        subprocess.run(pip + quiet + packages, check=True, stdout=sys.stderr)
        stamp.write_text(wanted)
    return folder


def environment(folder: pathlib.Path) -> Dict[str, str]:
    """The variables of an activated environment: ipflakies starts `python3`, others `pytest`."""
    env = {key: value for key, value in os.environ.items() if not key.startswith(UNWANTED)}
    env["VIRTUAL_ENV"] = str(folder)
    env["PATH"] = str(folder / "bin") + os.pathsep + env.get("PATH", "")
    return env
