//! A Python with pinned packages for examples and tests, made by us, under `target`.

use std::path::{Path, PathBuf};
use std::process::Command;

/// What the examples and the tests need.
const REQUIREMENTS: &str = "agents/python/requirements.txt";

/// The interpreter of the environment, which is made or brought up to date if need be.
#[expect(clippy::disallowed_methods, reason = "a chore starts programs")]
pub(crate) fn interpreter(root: &Path) -> Result<PathBuf, String> {
    let target =
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    let folder = target.join("python");
    let python = folder.join("bin/python");
    let requirements = root.join(REQUIREMENTS);
    let wanted = std::fs::read_to_string(&requirements)
        .map_err(|error| format!("failed to read `{}`: {error}", requirements.display()))?;
    let stamp = folder.join("requirements.installed");
    if std::fs::read_to_string(&stamp).is_ok_and(|installed| installed == wanted) {
        return Ok(python);
    }
    println!("\n==> making a Python environment in {}", folder.display());
    run(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&folder))?;
    let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r"];
    run(Command::new(&python).args(pip).arg(&requirements))?;
    std::fs::write(&stamp, wanted)
        .map_err(|error| format!("failed to write `{}`: {error}", stamp.display()))?;
    Ok(python)
}

fn run(command: &mut Command) -> Result<(), String> {
    let status = command.status();
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("`{command:?}` failed: {status}")),
        Err(error) => Err(format!("failed to start `{command:?}`: {error}")),
    }
}
