//! `cargo xtask ci`: everything that must hold before a change lands.

use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;

use crate::{dist, gradle, python, root, sim, tidy};

/// The number of simulated suites in every CI run: enough to catch a wrong verdict, few enough to
/// wait for.
const N_SEEDS: u64 = 25;

pub(crate) fn run() -> Result<(), String> {
    cargo(&["fmt", "--all", "--check"], &[])?;
    tidy::run()?;
    cargo(&["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"], &[])?;
    let python = python::interpreter(root())?;
    let plugins = python::plugins(root())?;
    gradle::installed()?;
    let test_python = [
        ("UNFLAKE_TEST_PYTHON", python.as_os_str()),
        ("UNFLAKE_TEST_PLUGINS", plugins.as_os_str()),
    ];
    cargo(&["test", "--workspace", "--quiet"], &test_python)?;
    agent_tests(&python, &plugins)?;
    dist::check()?;
    cargo(
        &["doc", "--workspace", "--no-deps", "--quiet"],
        &[("RUSTDOCFLAGS", OsStr::new("-D warnings"))],
    )?;
    step("cargo xtask sim");
    sim::run(&sim::Args { seeds: N_SEEDS, first_seed: 0, verbose: false })?;
    println!("\nall checks passed");
    Ok(())
}

#[expect(clippy::disallowed_methods, reason = "a chore starts programs")]
fn agent_tests(python: &Path, plugins: &Path) -> Result<(), String> {
    let tests = "agents/python/tests";
    step(&format!("python -m unittest discover {tests}"));
    let mut command = Command::new(python);
    command.args(["-B", "-m", "unittest", "discover", tests]).current_dir(root());
    command.env("UNFLAKE_TEST_PLUGINS", plugins);
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        other => Err(format!("the tests of the Python agent failed: {other:?}")),
    }
}

fn step(command: &str) {
    println!("\n==> {command}");
}

#[expect(clippy::disallowed_methods, reason = "chores run cargo; analyses are what may not")]
fn cargo(arguments: &[&str], environment: &[(&str, &OsStr)]) -> Result<(), String> {
    let command = format!("cargo {}", arguments.join(" "));
    step(&command);
    let status = Command::new("cargo")
        .args(arguments)
        .envs(environment.iter().copied())
        .status()
        .map_err(|error| format!("failed to start `{command}`: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("`{command}` failed: {status}")) }
}
