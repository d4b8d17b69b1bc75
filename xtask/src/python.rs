//! A Python with pinned packages for examples and tests, made by us under `target`.

use std::path::{Path, PathBuf};
use std::process::Command;

/// What the examples and the tests need.
const REQUIREMENTS: &str = "agents/python/requirements.txt";

/// Plugins of pytest that must not interfere.
const PLUGINS: &str = "agents/python/requirements-plugins.txt";

/// What builds wheels and reads workflows.
const PACKAGING: &str = "packaging/requirements.txt";

const PIP: [&str; 5] = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"];

/// The interpreter that runs examples and tests.
pub(crate) fn interpreter(root: &Path) -> Result<PathBuf, String> {
    environment(&target(root).join("python"), &root.join(REQUIREMENTS))
}

/// The interpreter that builds wheels. It is separate, so that a package which only packaging needs
/// cannot be what makes a test pass.
pub(crate) fn packager(root: &Path) -> Result<PathBuf, String> {
    environment(&target(root).join("python-packaging"), &root.join(PACKAGING))
}

/// The interpreter of an environment, which is made or updated if necessary.
#[expect(clippy::disallowed_methods, reason = "a chore starts programs")]
fn environment(folder: &Path, requirements: &Path) -> Result<PathBuf, String> {
    let python = folder.join("bin/python");
    installed(requirements, folder, |requirements| {
        println!("\n==> making a Python environment in {}", folder.display());
        run(Command::new("python3").args(["-m", "venv", "--clear"]).arg(folder))?;
        run(Command::new(&python).args(PIP).arg("-r").arg(requirements))
    })?;
    Ok(python)
}

/// A folder with plugins, for tests to put on the path of an interpreter: in the environment itself
/// they would affect every run.
#[expect(clippy::disallowed_methods, reason = "a chore starts programs")]
pub(crate) fn plugins(root: &Path) -> Result<PathBuf, String> {
    let python = interpreter(root)?;
    let folder = target(root).join("python-plugins");
    installed(&root.join(PLUGINS), &folder, |requirements| {
        println!("\n==> installing plugins in {}", folder.display());
        let mut command = Command::new(&python);
        command.args(PIP).args(["--no-deps", "--upgrade", "--target"]).arg(&folder);
        run(command.arg("-r").arg(requirements))
    })?;
    Ok(folder)
}

/// The folder of all build results.
pub(crate) fn target(root: &Path) -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from)
}

/// Installs the requirements of a file into a folder, unless that was done before.
fn installed(
    requirements: &Path,
    folder: &Path,
    install: impl FnOnce(&Path) -> Result<(), String>,
) -> Result<(), String> {
    let wanted = std::fs::read_to_string(requirements)
        .map_err(|error| format!("failed to read `{}`: {error}", requirements.display()))?;
    let stamp = folder.join("requirements.installed");
    if std::fs::read_to_string(&stamp).is_ok_and(|installed| installed == wanted) {
        return Ok(());
    }
    install(requirements)?;
    std::fs::write(&stamp, wanted)
        .map_err(|error| format!("failed to write `{}`: {error}", stamp.display()))
}

/// Runs a program that must succeed.
pub(crate) fn run(command: &mut Command) -> Result<(), String> {
    let status = command.status();
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("`{command:?}` failed: {status}")),
        Err(error) => Err(format!("failed to start `{command:?}`: {error}")),
    }
}
