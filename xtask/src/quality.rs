//! `cargo xtask quality`: our statistics against what others measured and published.
//!
//! There is one module per data file, each ending in tables that put our numbers beside the
//! published ones. Only one comparison can be wrong in a way that is our fault: p-values of the
//! same test on the same counts. If one of them disagrees, the chore fails. Everything else differs
//! for reasons in the data (fewer projects, another selection of tests), and the report says which.

use std::path::PathBuf;

mod curve;
mod dependencies_java;
mod printed;
mod read;
mod rerun_counts_python;
mod rerun_rates_java;
mod summary;

/// The seed of everything that is sampled or resampled here.
const SEED: u64 = 2021;

/// What to report on.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// The folder with the data files.
    #[arg(long, value_name = "DIR")]
    pub(crate) data: PathBuf,

    /// Run times and exposure of real tests, as bench/reruns/measure.py writes them.
    #[arg(long, value_name = "FILE")]
    pub(crate) durations: Option<PathBuf>,

    /// Where to put pictures.
    #[arg(long, value_name = "DIR")]
    pub(crate) plots: Option<PathBuf>,
}

/// Prints all reports on the data files in this folder. If a file cannot be used, the others are
/// reported all the same.
pub(crate) fn run(options: &Options) -> Result<(), String> {
    let reports = [
        |options: &Options| rerun_rates_java::report(&options.data),
        rerun_counts_python::report,
        rerun_counts_python::contest,
        |options: &Options| dependencies_java::report(&options.data),
    ];
    let faults: Vec<String> = reports.iter().filter_map(|report| report(options).err()).collect();
    if faults.is_empty() { Ok(()) } else { Err(faults.join("\n       ")) }
}

/// Prints a heading.
fn headline(text: &str) {
    println!("\n{text}\n{}", "=".repeat(text.chars().count()));
}
