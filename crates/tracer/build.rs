//! Compiles `src/library` to the shared library that the agent loads for traced runs.
//!
//! It uses the compiler that compiles this crate, for the same target: Cargo itself can make a
//! shared library of a crate, but stable Rust cannot embed it into another crate. If that does not
//! work (a target without a linker), an empty file takes its place, and the agent traces without
//! it.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

const SOURCES: &str = "src/library";

fn main() {
    println!("cargo::rerun-if-changed={SOURCES}");
    println!("cargo::rerun-if-changed=build.rs");
    let library = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it")).join("tracer.so");
    if let Err(why) = compile(&library) {
        println!("cargo::warning=calls will be traced without native code: {why}");
        std::fs::write(&library, b"").expect("cargo's folder can be written to");
    }
}

#[expect(clippy::disallowed_methods, reason = "a build script starts the compiler")]
fn compile(library: &Path) -> Result<(), String> {
    let variable = |name: &str| env::var_os(name).ok_or(format!("`{name}` is not set"));
    if env::var("CARGO_CFG_TARGET_OS").as_deref() != Ok("linux") {
        return Err("only made for Linux".to_owned());
    }
    // Lints are reported once, when this is compiled as part of the crate.
    let mut arguments: Vec<OsString> = ["--edition", "2024", "--crate-name", "unflake_tracer"]
        .iter()
        .chain(&["--crate-type", "cdylib", "-O", "-C", "panic=abort", "-C", "strip=symbols"])
        .chain(&["--cap-lints", "allow", "--target"])
        .map(OsString::from)
        .collect();
    arguments.push(variable("TARGET")?);
    if let Some(linker) = env::var_os("RUSTC_LINKER") {
        let mut option = OsString::from("linker=");
        option.push(linker);
        arguments.extend(["-C".into(), option]);
    }
    let source = Path::new(SOURCES).join("mod.rs");
    arguments.extend(["-o".into(), library.into(), source.into()]);
    let done = Command::new(variable("RUSTC")?).args(arguments).output();
    match done {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => Err(String::from_utf8_lossy(&output.stderr).lines().take(1).collect()),
        Err(error) => Err(error.to_string()),
    }
}
