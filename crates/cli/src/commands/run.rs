//! `unflake run`.

use std::io::{self, Write as _};

use serde::Serialize;
use unflake_app::registry::{adapter_of, address};
use unflake_app::run::{Failing, Sequence, Single, SingleRequest, single};
use unflake_campaign::begin::Unfinished;
use unflake_campaign::history::Known;
use unflake_engine::Interrupt;
use unflake_known::{Ended, KnownFactor, View, quote};
use unflake_model::{Confidence, RunId, Spent, TestId, Verdict};
use unflake_report::{
    Detail, Ink, Layout, Page, factor_in_words, failed, junit, plural, span, visible,
};
use unflake_stats::rate::interval;

use crate::exit::{self, Failure};
use crate::opened::{Manner, Opened, Parts, Tracing, look_into};
use crate::printer::json;
use crate::progress::{Goal, Line};
use crate::run_args::{OrderArg, RunArgs, RunFormat};
use crate::running::{limits, not_run, stop_on_ctrl_c};
use crate::screen::Screen;
use crate::store_args::command_line;

/// The version of what programs are told.
const SCHEMA_VERSION: u32 = 1;

/// Failing tests that people are told of; the rest is counted.
const SHOWN_MAX: usize = 50;

/// Runs the tests once.
pub(crate) fn run(args: &RunArgs, screen: Screen) -> Result<u8, Failure> {
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
    let opened = Opened::find(typed, &interrupt)?;
    let limits = limits(opened.levels(args.isolation), args.project.timeout, 1);
    let manner = Manner { is_long: false, tracing: Tracing::No, interrupt: &interrupt };
    let ran = look_into(&opened.parts(), &manner, |part| {
        let mut line = Line::new(Goal::default(), screen);
        let ran = single(&request, part, &limits, &interrupt, &mut line);
        ran.map_err(|error| not_run(&error))
    })?;
    show(&ran, format, sequence, screen.layout())?;
    Ok(ran.code(code))
}

fn show(
    ran: &Parts<Single>,
    format: RunFormat,
    sequence: Sequence,
    layout: Layout,
) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    let text = match format {
        RunFormat::Text => ran.joined(false, |ran| for_people(ran, sequence, layout)),
        RunFormat::Json => ran.joined(true, |ran| json(&row(ran, sequence))),
        RunFormat::Junit => {
            let views = ran.found.iter().map(|(name, ran)| (&**name, view(ran)));
            junit::write(&views.collect::<Vec<_>>(), &address, &mut out)?;
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

fn for_people(ran: &Single, sequence: Sequence, layout: Layout) -> String {
    let n_tests = ran.suite.n_tests() as u64;
    let order = sequence.as_str();
    let run = ran.origin.run_name(RunId(0));
    let how_many = match ran.failing.len() {
        0 => format!("No failure among {}", plural(n_tests, "test", "tests")),
        n => format!("{n} of {} failed", plural(n_tests, "test", "tests")),
    };
    let took = span(ran.wall_time);
    let mut page = Page::new(layout);
    let headline = format!("{how_many}, in {order} order, in {took} (run {run})");
    page.prose_in(Ink::Heading, &headline);
    if 0 < ran.n_not_run {
        let tests = plural(ran.n_not_run as u64, "test was", "tests were");
        page.prose(&format!("{tests} not run."));
    }
    for failing in ran.failing.iter().take(SHOWN_MAX) {
        tell(&mut page, failing, &ran.origin.runner);
    }
    if SHOWN_MAX < ran.failing.len() {
        page.blank();
        page.prose(&format!("and {} more", ran.failing.len() - SHOWN_MAX));
    }
    for warning in &ran.warnings {
        page.warning(warning);
    }
    page.finish()
}

fn tell(page: &mut Page, failing: &Failing, runner: &str) {
    let message = failing.failure.message.lines().next().unwrap_or_default();
    page.blank();
    let outcome = format!("{}  ", failing.outcome.as_str());
    page.line_with_id((Ink::Warning, &outcome), (Ink::Heading, &visible(failing.test.as_str())));
    page.row("failure", &visible(message));
    match &failing.known {
        None => page.row("history", "nothing is on record"),
        Some(known) => {
            if let Some((verdict, campaign)) = &known.verdict {
                let told = format!("{}, in campaign {campaign}", verdict.told());
                page.row_in("history", Ink::Verdict(*verdict), &told);
            }
            page.row("before", &failed(known.tally, Confidence::USUAL));
            for factor in &known.factors {
                page.row("factor", &factor_in_words(factor));
                let commands: Vec<_> =
                    factor.command.iter().map(|command| visible(command)).collect();
                page.exact("reproduce", Ink::Command, &commands);
            }
            for group in &known.polluters {
                let names: Vec<&str> = group.iter().map(TestId::as_str).collect();
                let names = visible(&names.join(" then ")).into_owned();
                page.exact("polluter", Ink::Plain, &[names]);
                page.row("", "ran before it");
            }
        }
    }
    if page.detail() != Detail::Brief {
        let known = failing.known.as_ref().and_then(|known| known.verdict.as_ref());
        let verdict = known.map(|(verdict, _)| *verdict);
        let test = quote(&visible(failing.test.as_str()));
        page.commands("next", &[format!("unflake {} {test}", next(verdict, runner))]);
    }
}

/// The command that goes on from what is known.
fn next(verdict: Option<Verdict>, runner: &str) -> &'static str {
    let adapter = adapter_of(runner);
    let mends = adapter.is_some_and(|it| it.mends(runner));
    let shakes = adapter.is_some_and(|it| !it.abilities().factors.is_empty());
    match verdict {
        Some(Verdict::OdVictim | Verdict::OdBrittle) if mends => "fix",
        Some(verdict) if verdict.is_non_deterministic() && shakes => "shake",
        _ => "why",
    }
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
        n_seeds: 1,
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
    factors: Vec<FactorRow<'a>>,
}

/// What an earlier `shake` found.
#[derive(Serialize)]
struct FactorRow<'a> {
    factors: String,
    makes_it_fail: bool,
    command: Option<&'a str>,
    campaign: &'a str,
    older_code: bool,
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
        factors: known.factors.iter().map(factor_row).collect(),
    }
}

fn factor_row(known: &KnownFactor) -> FactorRow<'_> {
    FactorRow {
        factors: known.factors.to_string(),
        makes_it_fail: known.makes_it_fail,
        command: known.command.as_deref(),
        campaign: &known.campaign,
        older_code: known.is_of_older_code,
    }
}
