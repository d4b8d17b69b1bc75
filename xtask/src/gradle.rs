//! Gradle for the tests of the Java adapter, as a Debian package instead of a download: it is the
//! same on every machine of a release.

use std::process::{Command, Stdio};

const PACKAGE: &str = "gradle";

/// Installs it, unless it is there.
pub(crate) fn installed() -> Result<(), String> {
    if is_there() {
        return Ok(());
    }
    println!("\n==> installing Debian's {PACKAGE}");
    let update = apt(&["update", "--quiet=2"]);
    let install = apt(&["install", "--yes", "--quiet=2", "--no-install-recommends", PACKAGE]);
    if is_there() {
        return Ok(());
    }
    let why = update.and(install).err().unwrap_or_else(|| "it does not start".to_owned());
    Err(format!(
        "the tests of Gradle projects need `gradle` on the path, and it cannot be installed: {why}"
    ))
}

#[expect(clippy::disallowed_methods, reason = "a chore starts programs")]
fn is_there() -> bool {
    let mut command = Command::new("gradle");
    let said = command.arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    said.is_ok_and(|status| status.success())
}

#[expect(clippy::disallowed_methods, reason = "a chore starts programs")]
fn apt(words: &[&str]) -> Result<(), String> {
    let mut command = Command::new("apt-get");
    match command.args(words).env("DEBIAN_FRONTEND", "noninteractive").status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("`apt-get {}` failed: {status}", words.join(" "))),
        Err(error) => Err(format!("`apt-get` cannot be run: {error}")),
    }
}
