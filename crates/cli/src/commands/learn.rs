//! `unflake learn`.

use std::fmt::Write as _;
use std::fs;
use std::io::{self, Write as _};
use std::path::PathBuf;

use serde::Serialize;
use unflake_app::learn::{LearnRequest, Lesson, Lines, learn};
use unflake_calls::folds::Fold;
use unflake_calls::learn::{Beta, Chosen, Drop, Grouping, Options, Score};
use unflake_model::RootCause;
use unflake_report::{percent, plural};

use crate::exit::Failure;
use crate::printer::json;

/// The version of the contract with programs.
const SCHEMA_VERSION: u32 = 1;

const LEARN_HELP: &str = "\
Examples:
  unflake trace --write shop.jsonl
      in a project that `unflake detect` has looked into: what is learned from
  unflake learn shop.jsonl bank.jsonl > functions.toml
      the functions that flaky tests of both projects call and others do not, to be reviewed;
      `functions = \"functions.toml\"` under [trace] in unflake.toml has them used
  unflake learn --per-cause --beta 24 *.jsonl
      for each root cause by itself, where the lines say the `cause`

A line: {\"project\": \"shop\", \"test\": \"tests/test_a.py::test_b\", \"seconds\": 0.01, \"flaky\": true,
  \"cause\": \"time\", \"functions\": [\"shop.cart:total\"], \"native\": [\"datetime:datetime.now\"]}

A function of the file that is written:
  [[function]]
  name = \"datetime:datetime.now\"
  cause = \"time\"";

/// Options of `unflake learn`.
#[derive(Debug, clap::Args)]
#[command(after_help = LEARN_HELP)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch that can be typed")]
pub(crate) struct LearnArgs {
    /// Traced tests, as `unflake trace --write` writes them
    #[arg(required = true)]
    pub files: Vec<PathBuf>,

    /// How many times more a missed flaky test weighs than a sound one run again
    #[arg(long, default_value_t = 5.0)]
    pub beta: f64,

    /// Learn for each root cause by itself
    #[arg(long)]
    pub per_cause: bool,

    /// Take only functions that are not written in the language of the tests
    #[arg(long)]
    pub native_only: bool,

    /// Take also functions that flaky tests of one project only call
    #[arg(long)]
    pub keep_solo: bool,

    /// Take also functions of which nobody knows what they make likely
    #[arg(long)]
    pub keep_cryptic: bool,

    /// How many times to learn from a part of the tests, to be judged on the rest
    #[arg(long, value_name = "N", default_value_t = 5,
          value_parser = clap::value_parser!(u32).range(2..=100))]
    pub folds: u32,

    /// Decides which tests are in which part
    #[arg(long, value_name = "SEED", default_value_t = 0)]
    pub seed: u64,

    /// For programs
    #[arg(long)]
    pub json: bool,
}

/// Prints the functions that tell flaky tests from others.
pub(crate) fn run(args: &LearnArgs) -> Result<(), Failure> {
    let mut lines = Lines::default();
    for file in &args.files {
        let shown = file.display();
        let hint = "`unflake trace --write FILE` makes such files";
        let text = fs::read_to_string(file)
            .map_err(|error| Failure::input(format!("cannot read `{shown}`: {error}"), hint))?;
        lines.read(&text).map_err(|error| Failure::input(format!("`{shown}`, {error}"), hint))?;
    }
    let lesson = learn(lines, &request(args)?);
    if lesson.n_flaky == 0 {
        let n = plural(lesson.n_tests as u64, "test", "tests");
        let message = format!("there is nothing to learn: none of {n} is known to be flaky");
        let hint = "`unflake detect` finds out; or set \"flaky\": true in lines of tests you know";
        return Err(Failure::input(message, hint));
    }
    let report = if args.json { json(&Report::of(&lesson)) } else { toml(&lesson) };
    let mut out = io::stdout().lock();
    out.write_all(report.as_bytes())?;
    out.flush()?;
    Ok(())
}

fn request(args: &LearnArgs) -> Result<LearnRequest, Failure> {
    let beta = Beta::new(args.beta)
        .map_err(|error| Failure::input(error.to_string(), "the usual ones are 5 and 24"))?;
    let grouping = if args.per_cause { Grouping::PerCause } else { Grouping::Pooled };
    let drop = Drop {
        is_solo_dropped: !args.keep_solo,
        is_cryptic_dropped: !args.keep_cryptic,
        only: None,
    };
    Ok(LearnRequest {
        options: Options { beta, grouping, drop },
        is_native_only: args.native_only,
        n_folds: args.folds as usize,
        seed: args.seed,
    })
}

/// The file to be reviewed; a comment says what each function does.
fn toml(lesson: &Lesson) -> String {
    let mut text = String::new();
    let mut line = |words: String| {
        text += &words;
        text.push('\n');
    };
    let tests = plural(lesson.n_tests as u64, "test", "tests");
    let projects = plural(lesson.n_projects as u64, "project", "projects");
    line(format!("# Learned from {tests} of {projects}, {} of them flaky.", lesson.n_flaky));
    if lesson.n_unlabelled > 0 {
        let (one, many) = ("test without a label was", "tests without a label were");
        line(format!("# {} left out.", plural(lesson.n_unlabelled as u64, one, many)));
    }
    line(format!("# On these tests: {}.", words(lesson.learned.score)));
    for (number, fold) in (1..).zip(&lesson.folds) {
        let aside = plural(fold.n_tests as u64, "test", "tests");
        let score = words(fold.score);
        line(format!("# Learned without part {number} ({aside}), on that part: {score}."));
    }
    line(format!("# The functions known by hand, on these tests: {}.", words(lesson.manual)));
    for chosen in &lesson.learned.chosen {
        line(String::new());
        line(entry(chosen));
    }
    text
}

fn entry(Chosen { function, cause, alone, added }: &Chosen) -> String {
    let mut text = format!(
        "# Exposes {} of which {} flaky; {} and {} more than those above.\n[[function]]\n",
        plural(alone.n as u64, "test", "tests"),
        plural(alone.n_flaky as u64, "is", "are"),
        added.n,
        added.n_flaky,
    );
    // What JSON has quoted, TOML reads.
    let name = serde_json::to_string(&function.to_string()).expect("a text");
    let _ = write!(text, "name = {name}");
    if let Some(cause) = cause {
        let _ = write!(text, "\ncause = \"{cause}\"");
    }
    text
}

fn words(score: Score) -> String {
    let cost = percent(score.cost, 2);
    match score.recall.map(|recall| percent(recall, 2)) {
        Some(recall) => format!("exposes {recall} % of the flaky tests, {cost} % of all"),
        None => format!("exposes {cost} % of all; none is flaky"),
    }
}

#[derive(Serialize)]
struct Report {
    schema: u32,
    tests: usize,
    flaky: usize,
    projects: usize,
    unlabelled: usize,
    recall: Option<f64>,
    cost: f64,
    functions: Vec<FunctionRow>,
    folds: Vec<FoldRow>,
    manual: ScoreRow,
}

#[derive(Serialize)]
struct FunctionRow {
    name: String,
    cause: Option<&'static str>,
    tests: usize,
    flaky: usize,
    more_tests: usize,
    more_flaky: usize,
}

#[derive(Serialize)]
struct FoldRow {
    tests: usize,
    flaky: usize,
    recall: Option<f64>,
    cost: f64,
    functions: Vec<String>,
}

#[derive(Serialize)]
struct ScoreRow {
    recall: Option<f64>,
    cost: f64,
}

impl Report {
    fn of(lesson: &Lesson) -> Self {
        let Score { recall, cost } = lesson.learned.score;
        Self {
            schema: SCHEMA_VERSION,
            tests: lesson.n_tests,
            flaky: lesson.n_flaky,
            projects: lesson.n_projects,
            unlabelled: lesson.n_unlabelled,
            recall,
            cost,
            functions: lesson.learned.chosen.iter().map(FunctionRow::of).collect(),
            folds: lesson.folds.iter().map(FoldRow::of).collect(),
            manual: ScoreRow { recall: lesson.manual.recall, cost: lesson.manual.cost },
        }
    }
}

impl FunctionRow {
    fn of(chosen: &Chosen) -> Self {
        Self {
            name: chosen.function.to_string(),
            cause: chosen.cause.map(RootCause::slug),
            tests: chosen.alone.n,
            flaky: chosen.alone.n_flaky,
            more_tests: chosen.added.n,
            more_flaky: chosen.added.n_flaky,
        }
    }
}

impl FoldRow {
    fn of(fold: &Fold) -> Self {
        let Score { recall, cost } = fold.score;
        let functions = fold.learned.chosen.iter().map(|it| it.function.to_string()).collect();
        Self { tests: fold.n_tests, flaky: fold.n_flaky, recall, cost, functions }
    }
}
