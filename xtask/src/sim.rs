//! `cargo xtask sim`: the real analyses on suites whose truth was planted.
//!
//! There are six tables: our campaign beside iDFlakies on the same suites and with the same number
//! of test executions; what a whole campaign says about every planted kind; what is behind
//! findings; the role search case by case; detection frequencies against their closed forms; and
//! how often tests show that fail under a share of hash seeds. Fails if a confirmed verdict or a
//! named cause is wrong, if iDFlakies finds more, if a role is wrong, or if a frequency is outside
//! its interval.

mod behind;
mod bounds;
mod campaigns;
mod frequencies;
mod roles;
mod score;

/// What to simulate.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// How many suites.
    #[arg(long, default_value_t = 1000)]
    pub(crate) seeds: u64,
    /// The first seed.
    #[arg(long, default_value_t = 0)]
    pub(crate) first_seed: u64,
    /// Show every wrong or missed verdict.
    #[arg(long)]
    pub(crate) verbose: bool,
}

pub(crate) fn run(args: &Args) -> Result<(), String> {
    let mut faults = campaigns::run(args);
    faults.extend(behind::run(args));
    faults.extend(roles::run());
    faults.extend(frequencies::run());
    faults.extend(bounds::run());
    if faults.is_empty() { Ok(()) } else { Err(faults.join("\n       ")) }
}
