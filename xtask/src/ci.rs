//! `cargo xtask ci`: everything that must hold before a change lands.

use std::process::Command;

use crate::{sim, tidy};

/// Simulated suites in every CI run: enough to catch a wrong verdict, quick enough to wait for.
const N_SEEDS: u64 = 25;

pub(crate) fn run() -> Result<(), String> {
    cargo(&["fmt", "--all", "--check"], &[])?;
    tidy::run()?;
    cargo(&["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"], &[])?;
    cargo(&["test", "--workspace", "--quiet"], &[])?;
    cargo(&["doc", "--workspace", "--no-deps", "--quiet"], &[("RUSTDOCFLAGS", "-D warnings")])?;
    step("cargo xtask sim");
    sim::run(&sim::Args { seeds: N_SEEDS, first_seed: 0, verbose: false })?;
    println!("\nall checks passed");
    Ok(())
}

fn step(command: &str) {
    println!("\n==> {command}");
}

#[expect(clippy::disallowed_methods, reason = "chores run cargo; analyses are what may not")]
fn cargo(arguments: &[&str], environment: &[(&str, &str)]) -> Result<(), String> {
    let command = format!("cargo {}", arguments.join(" "));
    step(&command);
    let status = Command::new("cargo")
        .args(arguments)
        .envs(environment.iter().copied())
        .status()
        .map_err(|error| format!("failed to start `{command}`: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("`{command}` failed: {status}")) }
}
