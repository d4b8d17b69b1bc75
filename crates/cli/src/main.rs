//! The command line of unflake.
//!
//! Three steps: arguments (what was typed, [`args`]), the command that resolves and runs them
//! ([`commands`]), and how it ended ([`exit`]). Data goes to stdout, everything else to stderr.
//!
//! To add a command: a variant in [`args::Command`], a file in `commands/`, an arm in [`run`].

mod args;
mod commands;
mod exit;
mod orders_file;
mod printer;
mod progress;
mod study_args;
mod suite_file;

use std::process::ExitCode;

use clap::Parser as _;

use args::{Args, Command};
use exit::Failure;

fn main() -> ExitCode {
    match Args::try_parse() {
        Ok(args) => exit::code(run(args.command)),
        Err(message) => exit::usage(&message),
    }
}

fn run(command: Command) -> Result<u8, Failure> {
    match command {
        Command::Detect(args) => commands::study::detect(&args),
        Command::Why(args) => commands::study::why(&args),
        Command::Orders(args) => commands::orders::run(&args).map(|()| exit::SUCCESS),
        Command::Completions(args) => commands::completions::run(&args).map(|()| exit::SUCCESS),
    }
}
