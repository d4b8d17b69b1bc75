//! `unflake run`.

use std::io::{self, Write as _};

use serde::Serialize;
use unflake_app::begin::Unfinished;
use unflake_app::single::{Failing, Known, Sequence, Single, SingleRequest, single};
use unflake_engine::Interrupt;
use unflake_model::{Confidence, RunId, Spent, TestId};
use unflake_report::{Ended, View, failed, junit, plural, span, visible};
use unflake_stats::rate::interval;

use crate::exit::{self, Failure};
use crate::printer::json;
use crate::progress::{Goal, Line};
use crate::run_args::{OrderArg, RunArgs, RunFormat};
use crate::running::{limits, not_run, stop_on_ctrl_c};
use crate::store_args::command_line;
use crate::subject::{Manner, Parts, Subject, look_into};

/// The version of what programs are told.
const SCHEMA_VERSION: u32 = 1;

/// Failing tests that people are told of; the rest is counted.
const SHOWN_MAX: usize = 50;

/// Runs the tests once.
pub(crate) fn run(args: &RunArgs) -> Result<u8, Failure> {
    let sequence = match args.order {
        OrderArg::Original => Sequence::Original,
        OrderArg::Reverse => Sequence::Reverse,
        OrderArg::Random => Sequence::Random,
    };
    let format = if args.json { RunFormat::Json } else { args.format };
    let keep = args.record.keep(Unfinished::Leave)?;
    let request = SingleRequest { sequence, seed: args.seed, keep, command: command_line() };
    let interrupt = Interrupt::default();
    stop_on_ctrl_c(&interrupt);
    let typed = args.project.typed(&args.paths);
    let subject = Subject::find(typed, &interrupt)?;
    let limits = limits(subject.levels(args.isolation), args.project.timeout, 1);
    let manner = Manner { is_long: false, tracing: None, interrupt: &interrupt };
    let ran = look_into(&subject.parts(), &manner, |part| {
        let mut line = Line::new(Goal::default());
        let ran = single(&request, part, &limits, &interrupt, &mut line);
        ran.map_err(|error| not_run(&error))
    })?;
    show(&ran, format, sequence)?;
    Ok(ran.code(code))
}

fn show(ran: &Parts<Single>, format: RunFormat, sequence: Sequence) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    let text = match format {
        RunFormat::Text => ran.joined(false, |ran| for_people(ran, sequence)),
        RunFormat::Json => ran.joined(true, |ran| json(&row(ran, sequence))),
        RunFormat::Junit => {
            let views = ran.found.iter().map(|(name, ran)| (&**name, view(ran)));
            junit::write(&views.collect::<Vec<_>>(), &mut out)?;
            String::new()
        }
    };
    out.write_all(text.as_bytes())?;
    out.flush()?;
    Ok(())
}

fn code(ran: &Single) -> u8 {
    match (ran.failing.is_empty(), ran.n_not_run) {
        (false, _) => exit::FOUND,
        (true, 0) => exit::SUCCESS,
        // Nothing failed, but not everything was run.
        (true, _) => exit::UNDECIDED,
    }
}

fn for_people(ran: &Single, sequence: Sequence) -> String {
    let n_tests = ran.suite.n_tests() as u64;
    let order = sequence.as_str();
    let run = ran.origin.run_name(RunId(0));
    let how_many = match ran.failing.len() {
        0 => format!("No failure among {}", plural(n_tests, "test", "tests")),
        n => format!("{n} of {} failed", plural(n_tests, "test", "tests")),
    };
    let took = span(ran.wall_time);
    let mut text = vec![format!("{how_many}, in {order} order, in {took} (run {run})\n")];
    if 0 < ran.n_not_run {
        let tests = plural(ran.n_not_run as u64, "test was", "tests were");
        text.push(format!("{tests} not run.\n"));
    }
    for failing in ran.failing.iter().take(SHOWN_MAX) {
        text.push(told(failing));
    }
    if SHOWN_MAX < ran.failing.len() {
        text.push(format!("\nand {} more\n", ran.failing.len() - SHOWN_MAX));
    }
    for warning in &ran.warnings {
        let (slug, message) = (warning.slug(), warning.message());
        text.push(format!("\nwarning  {slug}\n  {}\n  {}\n", visible(&message), warning.advice()));
    }
    text.concat()
}

fn told(failing: &Failing) -> String {
    let message = failing.failure.message.lines().next().unwrap_or_default();
    let (test, outcome) = (visible(failing.test.as_str()), failing.outcome.as_str());
    let mut text = vec![format!("\n{outcome}  {test}\n")];
    if !message.is_empty() {
        text.push(format!("  {:<11}{}\n", "failure", visible(message)));
    }
    let Some(known) = &failing.known else {
        text.push(format!("  {:<11}nothing is on record\n", "history"));
        return text.concat();
    };
    if let Some((verdict, campaign)) = &known.verdict {
        let meaning = verdict.meaning();
        text.push(format!("  {:<11}{verdict} in campaign {campaign}: {meaning}\n", "history"));
    }
    text.push(format!("  {:<11}{}\n", "before", failed(known.tally, Confidence::USUAL)));
    for group in &known.polluters {
        let names: Vec<&str> = group.iter().map(TestId::as_str).collect();
        let names = names.join(" then ");
        text.push(format!("  {:<11}{} ran before it\n", "polluter", visible(&names)));
    }
    text.concat()
}

/// For JUnit XML: each test with its one attempt.
fn view(ran: &Single) -> View<'_> {
    View {
        suite: &ran.suite,
        exhibits: &[],
        causes: &[],
        changes: &[],
        set_up_failing: &[],
        records: &ran.records,
        warnings: &ran.warnings,
        spent: Spent::default(),
        n_recalled: 0,
        wall_time: ran.wall_time,
        n_orders: 1,
        flake_rate_detectable: 1.0,
        confidence: Confidence::USUAL,
        ended: Ended::Confident,
        origin: &ran.origin,
    }
}

#[derive(Serialize)]
struct RunRow<'a> {
    schema: u32,
    run: String,
    order: &'static str,
    seed: u64,
    tests: usize,
    failed: usize,
    not_run: usize,
    wall_seconds: f64,
    failures: Vec<FailureRow<'a>>,
    warnings: Vec<WarningRow>,
}

#[derive(Serialize)]
struct FailureRow<'a> {
    test: &'a str,
    outcome: &'static str,
    message: &'a str,
    text: &'a str,
    known: Option<KnownRow<'a>>,
}

#[derive(Serialize)]
struct KnownRow<'a> {
    verdict: Option<&'static str>,
    campaign: Option<&'a str>,
    failures: u64,
    runs: u64,
    low: f64,
    high: f64,
    polluters_before: Vec<Vec<&'a str>>,
}

#[derive(Serialize)]
struct WarningRow {
    kind: &'static str,
    message: String,
    advice: &'static str,
}

fn row(ran: &Single, sequence: Sequence) -> RunRow<'_> {
    let failures = ran.failing.iter().map(|failing| FailureRow {
        test: failing.test.as_str(),
        outcome: failing.outcome.as_str(),
        message: &failing.failure.message,
        text: &failing.failure.text,
        known: failing.known.as_ref().map(known_row),
    });
    let warnings = ran.warnings.iter().map(|warning| WarningRow {
        kind: warning.slug(),
        message: warning.message(),
        advice: warning.advice(),
    });
    RunRow {
        schema: SCHEMA_VERSION,
        run: ran.origin.run_name(RunId(0)),
        order: sequence.as_str(),
        seed: ran.origin.seed,
        tests: ran.suite.n_tests(),
        failed: ran.failing.len(),
        not_run: ran.n_not_run,
        wall_seconds: (ran.wall_time.as_secs_f64() * 1e3).round() / 1e3,
        failures: failures.collect(),
        warnings: warnings.collect(),
    }
}

fn known_row(known: &Known) -> KnownRow<'_> {
    let limits = interval(known.tally, Confidence::USUAL);
    let rounded = |value: f64| (value * 1e6).round() / 1e6;
    let groups = known.polluters.iter();
    KnownRow {
        verdict: known.verdict.as_ref().map(|(verdict, _)| verdict.slug()),
        campaign: known.verdict.as_ref().map(|(_, campaign)| campaign.as_str()),
        failures: known.tally.failures,
        runs: known.tally.attempts,
        low: rounded(limits.lower),
        high: rounded(limits.upper),
        polluters_before: groups.map(|group| group.iter().map(TestId::as_str).collect()).collect(),
    }
}
