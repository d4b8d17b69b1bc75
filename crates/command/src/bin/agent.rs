//! The agent by itself, for the tests of this crate. Users have it in `unflake`.

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments = std::env::args_os().skip(1);
    unflake_command::agent::run(arguments).map_or(ExitCode::FAILURE, ExitCode::from)
}
