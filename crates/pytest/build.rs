//! Compiles `native/tracer.rs` to the library that the agent loads where calls are traced.
//!
//! By the compiler that compiles this crate, for the same target, on its own: the file is no part
//! of the crate, which may not contain unsafe code. Where that does not work (a target without a
//! linker at hand), an empty file takes its place, and the agent traces without it.

use std::env;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;

const SOURCE: &str = "native/tracer.rs";

fn main() {
    println!("cargo::rerun-if-changed=native");
    println!("cargo::rerun-if-changed=build.rs");
    let library = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it")).join("tracer.so");
    if let Err(why) = compile(&library) {
        println!("cargo::warning=calls will be traced without native code: {why}");
        std::fs::write(&library, b"").expect("cargo's folder can be written to");
    }
}

#[expect(clippy::disallowed_methods, reason = "a build script starts the compiler")]
fn compile(library: &PathBuf) -> Result<(), String> {
    let variable = |name: &str| env::var_os(name).ok_or(format!("`{name}` is not set"));
    if env::var("CARGO_CFG_TARGET_OS").as_deref() != Ok("linux") {
        return Err("only made for Linux".to_owned());
    }
    let mut arguments: Vec<OsString> = ["--edition", "2024", "--crate-type", "cdylib", "-O"]
        .iter()
        .chain(&["-C", "panic=abort", "-C", "strip=symbols", "--cap-lints", "warn", "--target"])
        .map(OsString::from)
        .collect();
    arguments.push(variable("TARGET")?);
    if let Some(linker) = env::var_os("RUSTC_LINKER") {
        let mut option = OsString::from("linker=");
        option.push(linker);
        arguments.extend(["-C".into(), option]);
    }
    arguments.extend(["-o".into(), library.into(), SOURCE.into()]);
    let done = Command::new(variable("RUSTC")?).args(arguments).output();
    match done {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => Err(String::from_utf8_lossy(&output.stderr).lines().take(1).collect()),
        Err(error) => Err(error.to_string()),
    }
}
