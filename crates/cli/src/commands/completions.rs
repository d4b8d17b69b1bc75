//! `unflake completions`: a script that completes commands and options.

use std::io::{self, Write as _};

use clap::CommandFactory as _;

use crate::args::{Args, CompletionsArgs};
use crate::exit::Failure;

/// Prints the script for a shell.
pub(crate) fn run(args: &CompletionsArgs) -> Result<(), Failure> {
    // Into memory first: the generator panics where it cannot write.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Args::command(), "unflake", &mut script);
    io::stdout().lock().write_all(&script)?;
    Ok(())
}
