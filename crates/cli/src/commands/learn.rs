//! `unflake learn`.

use std::fs;
use std::io::{self, Write as _};
use std::path::PathBuf;

use unflake_app::learn::{LearnRequest, Lines, learn};
use unflake_calls::learn::{Beta, Drop, Grouping, Options};
use unflake_report::learn::{json, toml};
use unflake_report::plural;

use crate::exit::Failure;

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
    let report = if args.json { json(&lesson) } else { toml(&lesson) };
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
