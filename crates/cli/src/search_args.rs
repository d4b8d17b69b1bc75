//! What can be typed for `detect` and `why`.

use std::ffi::OsString;
use std::time::Duration;

use clap::ValueEnum;
use clap::builder::{PossibleValue, PossibleValuesParser};
use unflake_adapter::{Adapter, Runner};
use unflake_app::registry::ADAPTERS;

use crate::isolation::IsolationArg;
use crate::opened::Typed;
use crate::project_args::ProjectArgs;
use crate::store_args::KeepArgs;
use crate::typed_values::{span, time_limit};

/// Options of `unflake detect`.
#[derive(Debug, clap::Args)]
pub(crate) struct DetectArgs {
    /// Files, folders or tests to look at, as the runner takes them [default: all]
    pub paths: Vec<OsString>,

    #[command(flatten)]
    pub findings: FindingsArgs,

    /// Find tests that fail in at least this share of all orders
    #[arg(long, value_name = "RATE", default_value_t = 0.05)]
    pub flake_rate: f64,

    /// Look for tests that fail at random only, each rerun where a second of running finds most
    #[arg(long, conflicts_with_all = ["flake_rate", "strategy"])]
    pub reruns: bool,

    /// With --reruns, stop when finding another is expected to take longer than this
    #[arg(long, value_name = "SPAN", default_value = "10m", value_parser = span)]
    #[arg(requires = "reruns")]
    pub price: Duration,

    /// Run rounds of one kind of order and nothing else, as iDFlakies does
    #[arg(long, value_name = "NAME", conflicts_with = "flake_rate")]
    pub strategy: Option<StrategyArg>,

    /// With --strategy: how many rounds
    #[arg(long, value_name = "N", default_value_t = 20, requires = "strategy")]
    pub rounds: u64,
}

/// The kinds of orders that iDFlakies runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum StrategyArg {
    /// The original order, again and again
    OriginalOrder,
    /// Classes shuffled
    RandomClass,
    /// Classes shuffled, and the tests in each
    RandomClassMethod,
    /// Classes last to first, once
    ReverseClass,
    /// Everything last to first, once
    ReverseClassMethod,
}

/// Options of `unflake why`.
#[derive(Debug, clap::Args)]
pub(crate) struct WhyArgs {
    /// The test, as the runner spells it; or a list of iDFlakies (flaky-lists.json)
    pub test: String,

    #[command(flatten)]
    pub findings: FindingsArgs,

    /// Do not call it healthy before a test that fails in this share of its runs, of orders and of
    /// hash seeds would have been seen to
    #[arg(long, value_name = "RATE", default_value_t = 0.05)]
    pub flake_rate: f64,
}

/// Options of `unflake fix`.
#[derive(Debug, clap::Args)]
pub(crate) struct FixArgs {
    /// The test, as the runner spells it
    pub test: String,

    /// Write the best change into the files, instead of printing it
    #[arg(long)]
    pub apply: bool,

    /// Try all changes that come to mind, not only until one helps
    #[arg(long)]
    pub all: bool,

    /// Print for programs: all changes that help, what was tried and what speaks against it
    #[arg(long)]
    pub json: bool,

    #[command(flatten)]
    pub look: SearchArgs,
}

/// Options of `detect` and `why`.
#[derive(Debug, clap::Args)]
pub(crate) struct FindingsArgs {
    #[command(flatten)]
    pub look: SearchArgs,

    /// What to print
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub format: FindingsFormat,

    /// Short for --format json
    #[arg(long, conflicts_with = "format")]
    pub json: bool,
}

impl FindingsArgs {
    /// What to print.
    pub(crate) fn format(&self) -> FindingsFormat {
        if self.json { FindingsFormat::Json } else { self.format }
    }
}

/// Options of all commands that look into tests.
#[derive(Debug, clap::Args)]
pub(crate) struct SearchArgs {
    /// Who runs the tests
    #[arg(long, value_name = "NAME", default_value = AUTO)]
    #[arg(value_parser = PossibleValuesParser::new(runners()))]
    pub runner: String,

    #[command(flatten)]
    pub project: ProjectArgs,

    /// Stop looking after this long, such as 90s, 5m or 1h; what was found by then is still tried
    /// with the project's own runner [default: no limit]
    #[arg(long, value_name = "SPAN", value_parser = time_limit)]
    pub time: Option<Duration>,

    /// Stop looking after this many runs [default: no limit]
    #[arg(long, value_name = "N")]
    pub runs: Option<u64>,

    /// How sure answers must be
    #[arg(long, value_name = "SHARE", default_value_t = 0.95)]
    pub confidence: f64,

    /// How much to find out about each flaky test
    #[arg(long, value_name = "DEPTH", default_value = "roles")]
    pub depth: DepthArg,

    /// How many runs at once [default: the number of processors; for `shake`, 1]
    #[arg(long, short, value_name = "N")]
    pub jobs: Option<usize>,

    /// Keep runs apart: files, processes, network
    #[arg(long, value_name = "LEVEL", default_value = "all")]
    pub isolation: IsolationArg,

    /// Decides everything random
    #[arg(long, value_name = "SEED", default_value_t = 0)]
    pub seed: u64,

    #[command(flatten)]
    pub keep: KeepArgs,
}

impl SearchArgs {
    /// What was typed about the project, with the parts of it that were named.
    pub(crate) fn typed<'a>(&'a self, paths: &'a [OsString]) -> Typed<'a> {
        let runner = Some(self.runner.as_str()).filter(|name| *name != AUTO);
        Typed { runner, seed: Some(self.seed), ..self.project.typed(paths) }
    }
}

/// The names that `--runner` takes, with what they mean.
fn runners() -> Vec<PossibleValue> {
    let auto = PossibleValue::new(AUTO)
        .help("The one that the files of the project speak for, else the first that is there");
    let of = |runner: &Runner| PossibleValue::new(runner.name).help(runner.description);
    let all = ADAPTERS.into_iter().flat_map(Adapter::runners);
    [auto].into_iter().chain(all.map(of)).collect()
}

/// The runner that is found by looking.
const AUTO: &str = "auto";

/// How much to find out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum DepthArg {
    /// Only the kind
    Kind,
    /// All polluters, cleaners and state-setters, by a search that asks few questions
    Roles,
    /// The same by asking about every single test, state put back before the next
    Exhaustive,
    /// The same with a process for each question, as the literature does
    OneByOne,
}

/// What `detect` and `why` print.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum FindingsFormat {
    /// For people
    Text,
    /// One line for each finding
    Table,
    /// For programs
    Json,
    /// For a pull request
    Markdown,
    /// JUnit XML with all attempts
    Junit,
    /// A list as iDFlakies writes it (flaky-lists.json)
    Idflakies,
}
