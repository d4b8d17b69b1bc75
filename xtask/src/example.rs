//! `cargo xtask example`: unflake on the example project, on a machine that has only Rust and
//! Python.

use std::process::Command;

use crate::{python, root};

/// Exit code of `unflake detect` when it has found something, as it must here.
const FOUND: i32 = 1;

#[expect(clippy::disallowed_methods, reason = "a chore starts programs")]
pub(crate) fn run() -> Result<(), String> {
    let root = root();
    let python = python::interpreter(root)?;
    println!("\n$ cd examples/shop && unflake detect");
    let mut command = Command::new("cargo");
    command.args(["run", "--quiet", "--package", "unflake"]);
    command.arg("--manifest-path").arg(root.join("Cargo.toml"));
    command.args(["--", "detect", "--python"]).arg(python);
    let status = command.current_dir(root.join("examples/shop")).status();
    match status.map(|status| status.code()) {
        Ok(Some(FOUND)) => Ok(()),
        other => Err(format!("`unflake detect` ended with {other:?} instead of {FOUND}")),
    }
}
