//! What can be typed for `run` and `replay`.

use std::ffi::OsString;

use clap::ValueEnum;

use crate::isolation::IsolationArg;
use crate::own_args::OwnArgs;
use crate::project_args::ProjectArgs;
use crate::store_args::{RecordArgs, StoreArgs};

/// Options of `unflake run`.
#[derive(Debug, clap::Args)]
pub(crate) struct RunArgs {
    /// Files, folders or tests to run, as the runner takes them [default: all]
    pub paths: Vec<OsString>,

    #[command(flatten)]
    pub project: ProjectArgs,

    /// In which order
    #[arg(long, value_name = "ORDER", default_value = "original")]
    pub order: OrderArg,

    /// Decides the random order
    #[arg(long, value_name = "SEED", default_value_t = 0)]
    pub seed: u64,

    /// Keep the run apart from the rest; without, tests see and leave what they always do
    #[arg(long, value_name = "LEVEL", default_value = "none")]
    pub isolation: IsolationArg,

    #[command(flatten)]
    pub record: RecordArgs,

    /// What to print
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub format: RunFormat,

    /// Short for --format json
    #[arg(long, conflicts_with = "format")]
    pub json: bool,
}

/// In which order `run` runs the tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum OrderArg {
    /// As the runner has them
    Original,
    /// The other way round
    Reverse,
    /// Classes shuffled, and the tests within each
    Random,
}

/// What `run` prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum RunFormat {
    /// The tests that failed, for people
    Text,
    /// The same, for programs
    Json,
    /// JUnit XML with all tests
    Junit,
}

/// Options of `unflake replay`.
#[derive(Debug, clap::Args)]
pub(crate) struct ReplayArgs {
    /// The run, as reports spell it: CAMPAIGN/NUMBER, or NUMBER for the last campaign
    pub run: String,

    /// How often
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub times: u32,

    /// With the project's own runner in a cold process, instead of as it was run
    #[arg(long)]
    pub plain: bool,

    #[command(flatten)]
    pub own: OwnArgs,

    #[command(flatten)]
    pub place: StoreArgs,

    /// Show values that look like secrets, instead of ***; the history never has them
    #[arg(long)]
    pub show_secrets: bool,

    /// Print for programs
    #[arg(long)]
    pub json: bool,
}
