//! What can be typed for `detect` and `why`.

use std::ffi::OsString;
use std::time::Duration;

use clap::ValueEnum;
use clap::builder::{PossibleValue, PossibleValuesParser};
use unflake_adapter::{Adapter, Runner};
use unflake_app::registry::ADAPTERS;
use unflake_stats::rate::Rate;

use crate::opened::Typed;
use crate::project_args::ProjectArgs;
use crate::store_args::KeepArgs;

/// Options of `unflake detect`.
#[derive(Debug, clap::Args)]
pub(crate) struct DetectArgs {
    /// Files, folders or tests to look at, as the runner takes them [default: all]
    pub paths: Vec<OsString>,

    #[command(flatten)]
    pub study: StudyArgs,

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
    pub study: StudyArgs,

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
    pub look: LookArgs,
}

/// Options of `detect` and `why`.
#[derive(Debug, clap::Args)]
pub(crate) struct StudyArgs {
    #[command(flatten)]
    pub look: LookArgs,

    /// What to print
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub format: StudyFormat,

    /// Short for --format json
    #[arg(long, conflicts_with = "format")]
    pub json: bool,
}

impl StudyArgs {
    /// What to print.
    pub(crate) fn format(&self) -> StudyFormat {
        if self.json { StudyFormat::Json } else { self.format }
    }
}

/// Options of all commands that look into tests.
#[derive(Debug, clap::Args)]
pub(crate) struct LookArgs {
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

impl LookArgs {
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

/// How far to keep runs apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum IsolationArg {
    /// Own processes, files and network for each run, as far as the system allows
    All,
    /// Own processes and files
    NoNet,
    /// Own temporary folder only
    None,
}

/// What `detect` and `why` print.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum StudyFormat {
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

/// A share of all orders. None at all would take all orders, of which there is no end.
pub(crate) fn flake_rate(share: f64) -> Result<Rate, String> {
    let rate = Rate::new(share).map_err(|error| error.to_string())?;
    if 0.0 < share { Ok(rate) } else { Err(format!("`{share}` is no share of all orders")) }
}

/// A span such as `90s`, `5m`, `1h` or plain seconds.
pub(crate) fn span(text: &str) -> Result<Duration, String> {
    let (digits, unit) = match text.find(|c: char| c.is_ascii_alphabetic()) {
        Some(at) => text.split_at(at),
        None => (text, "s"),
    };
    let factor = match unit {
        "ms" => 0.001,
        "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        "d" => 86400.0,
        _ => return Err(format!("unknown unit `{unit}`; give ms, s, m, h or d")),
    };
    let number: f64 = digits.parse().map_err(|_| format!("`{digits}` is no number"))?;
    Duration::try_from_secs_f64(number * factor).map_err(|error| error.to_string())
}

/// A span that something may take.
pub(crate) fn time_limit(text: &str) -> Result<Duration, String> {
    let limit = span(text)?;
    if limit.is_zero() { Err("nothing is done in no time".to_owned()) } else { Ok(limit) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_time_is_no_limit() {
        assert_eq!(time_limit("1ms"), Ok(Duration::from_millis(1)));
        for text in ["0", "0s", "0.0m"] {
            assert_eq!(span(text), Ok(Duration::ZERO), "{text}");
            assert!(time_limit(text).is_err(), "{text}");
        }
    }

    #[test]
    fn spans_are_read_in_the_units_people_use() {
        assert_eq!(span("90s"), Ok(Duration::from_secs(90)));
        assert_eq!(span("1.5m"), Ok(Duration::from_secs(90)));
        assert_eq!(span("250ms"), Ok(Duration::from_millis(250)));
        assert_eq!(span("2"), Ok(Duration::from_secs(2)));
        assert_eq!(span("1h"), Ok(Duration::from_hours(1)));
        assert_eq!(span("30d"), Ok(Duration::from_hours(30 * 24)));
        for text in ["", "x", "1y", "-3s", "1e400s"] {
            assert!(span(text).is_err(), "{text}");
        }
    }
}
