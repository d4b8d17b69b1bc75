//! Chores of the project: checks, simulations, quality reports. Run as `cargo xtask <chore>`.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a chore reports to a terminal")]

use std::path::Path;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

mod ci;
mod dist;
mod example;
mod gradle;
mod python;
mod quality;
mod record;
mod sim;
mod table;
mod tidy;
mod wildcards;

/// Chores of the unflake project.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Args {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Subcommand)]
enum Chore {
    /// Everything CI checks: formatting, lints, tidiness, tests, documentation.
    Ci,
    /// Wheel, archive and checksums for this platform, in target/dist.
    Dist(dist::Options),
    /// Find the flaky tests of the example project, with all that this takes.
    Example,
    /// Record what a newcomer sees of the example project, for docs/tour.md.
    Record,
    /// House rules that no lint knows: file lengths, crate directions, leftovers.
    Tidy,
    /// Detection on simulated suites with planted truth: precision, recall, cost.
    Sim(sim::Args),
    /// Our statistics against public data.
    Quality(quality::Options),
}

/// The folder of the workspace.
fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask is in the workspace")
}

fn main() -> ExitCode {
    let result = match Args::parse().chore {
        Chore::Ci => ci::run(),
        Chore::Dist(options) => dist::run(&options),
        Chore::Example => example::run(),
        Chore::Record => record::run(),
        Chore::Tidy => tidy::run(),
        Chore::Sim(args) => sim::run(&args),
        Chore::Quality(options) => quality::run(&options),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
