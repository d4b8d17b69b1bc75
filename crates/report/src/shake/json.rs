//! For programs; the contract is `schemas/shake.json`.

use serde::Serialize;
use unflake_model::{Confidence, Tally};
use unflake_stats::rate::{interval, upper_bound};

use crate::command::Command;
use crate::document::{Document, WarningRow};
use crate::json::{Runner, seconds};
use crate::schema;
use unflake_known::shaking::{Shaking, Shook};

/// The report, indented, with a line break at its end.
pub fn render(shaking: &Shaking, command: Command) -> String {
    let confidence = shaking.confidence;
    let report = ShakingRow {
        test: shaking.test.as_str(),
        ended: shaking.ended.slug(),
        runner: Runner { name: &shaking.origin.runner, version: &shaking.origin.runner_version },
        command_line: &shaking.origin.command,
        seed: shaking.origin.seed,
        confidence: confidence.get(),
        runs: shaking.spent.runs,
        wall_seconds: seconds(shaking.wall_time),
        fixed: RateRow::of(shaking.fixed, confidence),
        factors: shaking.exhibits.iter().map(|shook| FactorRow::of(shook, confidence)).collect(),
        quiet: shaking
            .screened
            .iter()
            .map(|(factor, tally)| QuietRow {
                factor: factor.slug(),
                failed: tally.failures,
                runs: tally.attempts,
                rate_at_most: upper_bound(*tally, confidence),
            })
            .collect(),
        refused: shaking
            .refused
            .iter()
            .map(|(factor, why)| RefusedRow { factor: factor.slug(), why })
            .collect(),
        warnings: WarningRow::all(&shaking.warnings),
    };
    Document::new(&schema::SHAKE, command, report).text()
}

#[derive(Serialize)]
struct ShakingRow<'a> {
    test: &'a str,
    ended: &'static str,
    runner: Runner<'a>,
    command_line: &'a str,
    seed: u64,
    confidence: f64,
    runs: u64,
    wall_seconds: f64,
    fixed: RateRow,
    factors: Vec<FactorRow<'a>>,
    quiet: Vec<QuietRow>,
    refused: Vec<RefusedRow<'a>>,
    warnings: Vec<WarningRow>,
}

#[derive(Serialize)]
struct RateRow {
    failed: u64,
    runs: u64,
    lower: f64,
    upper: f64,
}

impl RateRow {
    fn of(tally: Tally, confidence: Confidence) -> Self {
        let limits = interval(tally, confidence);
        let (failed, runs) = (tally.failures, tally.attempts);
        Self { failed, runs, lower: limits.lower, upper: limits.upper }
    }
}

#[derive(Serialize)]
struct FactorRow<'a> {
    factors: Vec<&'static str>,
    how: &'a [String],
    seed: u64,
    cause: Option<&'static str>,
    verdict: Option<&'static str>,
    makes_it: &'static str,
    decided_by: &'static str,
    without: RateRow,
    with: RateRow,
    this_seed: RateRow,
    p_value: f64,
    failing_seconds: Option<f64>,
    passing_seconds: Option<f64>,
    failure: Option<&'a str>,
    run: Option<&'a str>,
    replayed: TriedRow,
    plain: Option<PlainRow<'a>>,
}

#[derive(Serialize)]
struct TriedRow {
    shown: u32,
    tries: u32,
}

#[derive(Serialize)]
struct PlainRow<'a> {
    command: &'a str,
    shown: u32,
    tries: u32,
}

impl<'a> FactorRow<'a> {
    fn of(shook: &'a Shook, confidence: Confidence) -> Self {
        Self {
            factors: shook.factors.iter().map(unflake_model::Factor::slug).collect(),
            how: &shook.how,
            seed: shook.seed,
            cause: shook.cause.map(unflake_model::RootCause::slug),
            verdict: shook.verdict().map(unflake_model::Verdict::slug),
            makes_it: if shook.makes_it_fail { "fail" } else { "pass" },
            decided_by: shook.decides.slug(),
            without: RateRow::of(shook.without, confidence),
            with: RateRow::of(shook.with, confidence),
            this_seed: RateRow::of(shook.under_seed, confidence),
            p_value: shook.p_value,
            failing_seconds: shook.took.0.map(seconds),
            passing_seconds: shook.took.1.map(seconds),
            failure: shook.failure.as_ref().map(|failure| failure.message.as_str()),
            run: shook.run.as_deref(),
            replayed: TriedRow { shown: shook.replayed.as_predicted, tries: shook.replayed.tries },
            plain: shook.plain.as_ref().map(|plain| PlainRow {
                command: &plain.command,
                shown: plain.tried.as_predicted,
                tries: plain.tried.tries,
            }),
        }
    }
}

#[derive(Serialize)]
struct QuietRow {
    factor: &'static str,
    failed: u64,
    runs: u64,
    rate_at_most: f64,
}

#[derive(Serialize)]
struct RefusedRow<'a> {
    factor: &'static str,
    why: &'a str,
}
