//! `cargo xtask dist`: everything that is released for the platform of this machine, in one folder.
//!
//! | file | for |
//! |---|---|
//! | `unflake-VERSION-TARGET.tar.gz` | users without pip: binary, man pages, completions |
//! | `unflake-VERSION-py3-none-PLATFORM.whl` | pip, pipx and uvx |
//! | `SHA256SUMS` | checking that both are ours |

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{python, root};

/// Documents that the archive contains besides the binary.
const DOCUMENTS: [&str; 3] = ["README.md", "LICENSE-MIT", "LICENSE-APACHE"];

/// Where shells look for completions, below `share`.
const COMPLETIONS: [(&str, &str); 3] = [
    ("bash", "bash-completion/completions/unflake"),
    ("zsh", "zsh/site-functions/_unflake"),
    ("fish", "fish/vendor_completions.d/unflake.fish"),
];

/// The folder that maturin packs as files of the environment, if it exists.
const WHEEL_DATA: &str = "unflake.data";

/// Packs the archive, and computes the checksums.
const PACK: &str = "packaging/pack.py";

/// The tests of the packages.
const TESTS: &str = "packaging/tests";

#[derive(clap::Args)]
pub(crate) struct Options {
    /// The profile of Cargo to build with
    #[arg(long, value_name = "NAME", default_value = "release")]
    profile: String,

    /// Then install them, find the flaky tests of the example with them, and run the steps of the
    /// workflows
    #[arg(long = "try")]
    is_trial: bool,
}

pub(crate) fn run(options: &Options) -> Result<(), String> {
    let into = python::target(root()).join("dist");
    build(&options.profile, &into)?;
    if options.is_trial {
        test(&[("UNFLAKE_TEST_DIST", &into)])?;
    }
    println!("\nthe packages are in {}", into.display());
    Ok(())
}

/// Builds everything into a folder, which is emptied before.
#[expect(clippy::disallowed_methods, reason = "a chore starts programs")]
pub(crate) fn build(profile: &str, into: &Path) -> Result<(), String> {
    println!("\n==> cargo xtask dist --profile {profile}");
    let python = python::packager(root())?;
    let binary = binary(profile)?;
    let folder = into.join(format!("unflake-{}-{}", env!("CARGO_PKG_VERSION"), host()?));
    empty(into)?;
    let share = folder.join("share");
    put_manual_and_completions(&binary, &share)?;
    copy(&binary, &folder.join("unflake"))?;
    for name in DOCUMENTS {
        copy(&root().join(name), &folder.join(name))?;
    }
    wheel(&python, &binary, profile, into)?;
    python::run(Command::new(&python).arg("-I").arg(root().join(PACK)).arg(&folder))
}

/// Builds everything without optimisation, since none of the tests is about speed; installs it in
/// every way that we promise; and runs the steps of the workflows with it.
pub(crate) fn check() -> Result<(), String> {
    let target = python::target(root());
    let (built, installed) = (target.join("dist-dev"), target.join("installed-dev"));
    build("dev", &built)?;
    cargo_install(&installed)?;
    test(&[("UNFLAKE_TEST_DIST", &built), ("UNFLAKE_TEST_INSTALLED", &installed)])
}

#[expect(clippy::disallowed_methods, reason = "a chore starts programs")]
fn cargo_install(into: &Path) -> Result<(), String> {
    println!("\n==> cargo install --path crates/cli");
    let mut command = Command::new("cargo");
    command.args(["install", "--quiet", "--locked", "--debug", "--force", "--no-track"]);
    command.args(["--path", "crates/cli", "--root"]).arg(into);
    python::run(command.current_dir(root()))
}

/// Runs the tests of packages that were built.
#[expect(clippy::disallowed_methods, reason = "a chore starts programs")]
fn test(packages: &[(&str, &Path)]) -> Result<(), String> {
    println!("\n==> python -m unittest discover {TESTS}");
    let mut command = Command::new(python::packager(root())?);
    command.args(["-B", "-m", "unittest", "discover", TESTS]).current_dir(root());
    command.env("UNFLAKE_TEST_PYTHON", python::interpreter(root())?);
    python::run(command.envs(packages.iter().copied()))
}

/// Builds the binary with its default features, as maturin will build it.
#[expect(clippy::disallowed_methods, reason = "a chore starts programs")]
fn binary(profile: &str) -> Result<PathBuf, String> {
    let mut command = Command::new("cargo");
    command.args(["build", "--quiet", "--locked", "--package", "unflake", "--profile", profile]);
    python::run(command.current_dir(root()))?;
    let folder = if profile == "dev" { "debug" } else { profile };
    Ok(python::target(root()).join(folder).join("unflake"))
}

/// The target triple of this machine.
#[expect(clippy::disallowed_methods, reason = "a chore starts programs")]
fn host() -> Result<String, String> {
    let said = Command::new("rustc").arg("-vV").output();
    let said = said.map_err(|error| format!("failed to start `rustc`: {error}"))?;
    let text = String::from_utf8_lossy(&said.stdout);
    let host = text.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).ok_or_else(|| format!("`rustc -vV` names no host: {text}"))
}

#[expect(clippy::disallowed_methods, reason = "a chore starts programs")]
fn put_manual_and_completions(binary: &Path, share: &Path) -> Result<(), String> {
    let pages = share.join("man/man1");
    create(&pages)?;
    python::run(Command::new(binary).args(["man", "--into"]).arg(&pages))?;
    for (shell, name) in COMPLETIONS {
        let file = share.join(name);
        create(file.parent().unwrap_or(share))?;
        let script = fs::File::create(&file)
            .map_err(|error| format!("failed to write `{}`: {error}", file.display()))?;
        python::run(Command::new(binary).args(["completions", shell]).stdout(script))?;
    }
    Ok(())
}

#[expect(clippy::disallowed_methods, reason = "a chore starts programs")]
fn wheel(python: &Path, binary: &Path, profile: &str, into: &Path) -> Result<(), String> {
    let data = root().join(WHEEL_DATA);
    empty(&data)?;
    let mut command = Command::new(python);
    command.args(["-m", "maturin", "build", "--quiet", "--locked", "--profile", profile]);
    command.arg("--out").arg(into).current_dir(root());
    let built = put_manual_and_completions(binary, &data.join("data/share"))
        .and_then(|()| python::run(&mut command));
    // If it stayed, the next wheel would be packed with it, however old it is by then.
    remove(&data)?;
    built
}

/// Makes an empty folder.
fn empty(folder: &Path) -> Result<(), String> {
    remove(folder)?;
    create(folder)
}

fn remove(folder: &Path) -> Result<(), String> {
    if !folder.exists() {
        return Ok(());
    }
    fs::remove_dir_all(folder)
        .map_err(|error| format!("failed to remove `{}`: {error}", folder.display()))
}

fn create(folder: &Path) -> Result<(), String> {
    fs::create_dir_all(folder)
        .map_err(|error| format!("failed to make `{}`: {error}", folder.display()))
}

fn copy(from: &Path, to: &Path) -> Result<(), String> {
    fs::copy(from, to).map(|_| ()).map_err(|error| {
        format!("failed to copy `{}` to `{}`: {error}", from.display(), to.display())
    })
}
