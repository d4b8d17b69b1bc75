//! `unflake completions`: a script that completes commands and options.

use std::io::{self, Write as _};

use crate::exit::Failure;

/// Options of `unflake completions`.
#[derive(Debug, clap::Args)]
pub(crate) struct CompletionsArgs {
    /// The shell
    pub shell: clap_complete::Shell,
}

/// Prints the script for a shell, which completes the whole command line.
pub(crate) fn run(args: &CompletionsArgs, mut whole: clap::Command) -> Result<(), Failure> {
    // Into memory first: the generator panics where it cannot write.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut whole, "unflake", &mut script);
    io::stdout().lock().write_all(&script)?;
    Ok(())
}
