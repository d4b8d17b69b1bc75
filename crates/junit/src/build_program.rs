//! What Maven and Gradle have in common as programs.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use unflake_engine::Interrupt;
use unflake_engine::process::{CommandLine, Finished, run_to_end};

/// The wrapper that a project brings along, if it can be started.
pub(crate) fn wrapper(folder: &Path, name: &str) -> Option<PathBuf> {
    let wrapper = folder.join(name);
    let is_executable = fs::metadata(&wrapper)
        .is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0);
    is_executable.then_some(wrapper)
}

/// Calls a build tool in a folder, without a terminal.
pub(crate) fn call(
    program: &OsStr,
    folder: &Path,
    arguments: Vec<OsString>,
    time_max: Duration,
    interrupt: &Interrupt,
) -> io::Result<Finished> {
    let line = CommandLine {
        program: program.to_owned(),
        arguments,
        current_dir: folder.to_owned(),
        env: Vec::new(),
    };
    run_to_end(&line, time_max, interrupt)
}

/// A build tool and its options as they would be typed in its folder; `names` are that of its
/// wrapper and its own.
pub(crate) fn typed(program: &OsStr, names: [&str; 2], options: &[OsString]) -> Vec<String> {
    let [wrapper, own] = names;
    let is_wrapper = Path::new(program).is_absolute();
    let program = if is_wrapper { format!("./{wrapper}") } else { own.to_owned() };
    let options = options.iter().map(|option| option.to_string_lossy().into_owned());
    std::iter::once(program).chain(options).collect()
}
