//! `unflake study`.

use std::ffi::OsString;
use std::io::{self, Write as _};
use std::time::Duration;

use clap::ValueEnum;
use unflake_app::study::{RerunRequest, study_reruns};
use unflake_detect::rerun_study::Batches;
use unflake_engine::Interrupt;
use unflake_known::RerunStudy;
use unflake_report::rerun_study::{json, markdown, text};

use crate::commands::detect::{budget, confidence};
use crate::exit::{self, Failure};
use crate::isolation::IsolationArg;
use crate::opened::{Manner, Opened, Parts, Tracing, look_into, share_of};
use crate::progress::{Goal, Line};
use crate::project_args::ProjectArgs;
use crate::running::{limits, n_processors, not_run, stop_on_ctrl_c};
use crate::screen::Screen;
use crate::store_args::KeepArgs;
use crate::typed_values::time_limit;

const EXAMPLES: &str = "\
Examples:
  unflake study
      10 batches of 10 runs, each batch in another order; then the flaky tests alone
  unflake study tests/unit --batches 40 --runs-per-batch 100 --time 8h
      as large as the published study; cut off, the same command goes on with it
  unflake study --json > study.json
      all tables for a program

Exit codes: 0 nothing flaky, 1 flaky tests, 3 tests could not be run, 4 nothing flaky in the part
of the runs that was made";

/// Options of `unflake study`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct StudyArgs {
    /// Files, folders or tests to run, as the runner takes them [default: all]
    pub paths: Vec<OsString>,

    /// Batches, each in another order: the original, the reverse, then shuffled ones
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub batches: u64,

    /// Runs in each batch
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub runs_per_batch: u64,

    /// Runs of each flaky test alone, at most as many as of the suite
    #[arg(long, value_name = "N", default_value_t = 100)]
    pub alone: u64,

    /// What to print
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub format: TablesFormat,

    /// Short for --format json
    #[arg(long, conflicts_with = "format")]
    pub json: bool,

    #[command(flatten)]
    pub project: ProjectArgs,

    /// Stop after this long, such as 90s, 5m or 1h [default: no limit]
    #[arg(long, value_name = "SPAN", value_parser = time_limit)]
    pub time: Option<Duration>,

    /// Stop after this many runs
    #[arg(long, value_name = "N")]
    pub runs: Option<u64>,

    /// How sure answers must be
    #[arg(long, value_name = "SHARE", default_value_t = 0.95)]
    pub confidence: f64,

    /// How many runs at once [default: the number of processors]
    #[arg(long, short, value_name = "N")]
    pub jobs: Option<usize>,

    /// Keep runs apart: files, processes, network
    #[arg(long, value_name = "LEVEL", default_value = "all")]
    pub isolation: IsolationArg,

    /// Decides the orders
    #[arg(long, value_name = "SEED", default_value_t = 0)]
    pub seed: u64,

    #[command(flatten)]
    pub keep: KeepArgs,
}

/// What `unflake study` prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum TablesFormat {
    /// For people
    Text,
    /// For programs
    Json,
    /// For a pull request
    Markdown,
}

/// Runs the suite again and again, and prints what that says.
pub(crate) fn run(args: &StudyArgs, screen: Screen) -> Result<u8, Failure> {
    let jobs = args.jobs.unwrap_or_else(n_processors);
    for (option, number) in [
        ("--batches", args.batches),
        ("--runs-per-batch", args.runs_per_batch),
        ("--jobs", jobs as u64),
    ] {
        if number == 0 {
            return Err(Failure::input(format!("{option}: `0` is none"), "give 1 or more"));
        }
    }
    let interrupt = Interrupt::default();
    stop_on_ctrl_c(&interrupt);
    let studies = studies(args, jobs, &interrupt, screen)?;
    let shown = match if args.json { TablesFormat::Json } else { args.format } {
        TablesFormat::Text => studies.joined(|study| text(study, screen.layout())),
        TablesFormat::Json => json(&studies.named()),
        TablesFormat::Markdown => studies.joined(markdown),
    };
    let mut out = io::stdout().lock();
    out.write_all(shown.as_bytes())?;
    out.flush()?;
    Ok(studies.code(code))
}

fn studies(
    args: &StudyArgs,
    jobs: usize,
    interrupt: &Interrupt,
    screen: Screen,
) -> Result<Parts<RerunStudy>, Failure> {
    let typed = args.project.typed(&args.paths);
    let opened = Opened::find(typed, interrupt)?;
    let time = share_of(args.time, opened.parts().len());
    let confidence = confidence(args.confidence)?;
    let request = RerunRequest {
        settings: Batches {
            seed: args.seed,
            n_batches: args.batches,
            runs_per_batch: args.runs_per_batch,
            alone_max: args.alone,
        },
        budget: budget(args.runs, time, jobs, confidence)?,
        wall_max: time.map(|time| time + time / 10),
        keep: args.keep.keep()?,
    };
    let limits = limits(opened.levels(args.isolation), args.project.timeout, jobs);
    let manner = Manner { is_long: true, tracing: Tracing::No, interrupt };
    look_into(&opened.parts(), &manner, |part| {
        let mut line = Line::new(Goal { time, ..Goal::default() }, screen);
        let study = study_reruns(&request, part, &limits, interrupt, &mut line);
        study.map_err(|error| not_run(&error, part))
    })
}

fn code(study: &RerunStudy) -> u8 {
    match (study.tables.tests.is_empty(), study.is_whole) {
        (false, _) => exit::FOUND,
        (true, true) => exit::SUCCESS,
        (true, false) => exit::UNDECIDED,
    }
}
