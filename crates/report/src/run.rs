//! `unflake run`: the tests that failed, with what was known about them.

use serde::Serialize;
use unflake_known::suite_run::{Failing, Known, SuiteRun};
use unflake_known::{Ended, KnownFactor, View, quote};
use unflake_model::{Confidence, RunId, Spent, TestId, Verdict};

use crate::command::Command;
use crate::document::{Modules, WarningRow, of_modules};
use crate::json::{RateRow, seconds};
use crate::page::{Detail, Ink, Layout, Page};
use crate::schema;
use crate::visible::visible;
use crate::words::{factor_in_words, failed, plural, span};

/// Failing tests that people are told of; the rest is counted.
const SHOWN_MAX: usize = 50;

/// For people. `next` names the command that goes on from a verdict, or from none.
pub fn text(
    ran: &SuiteRun,
    layout: Layout,
    next: &dyn Fn(Option<Verdict>) -> &'static str,
) -> String {
    let n_tests = ran.suite.n_tests() as u64;
    let order = ran.sequence.as_str();
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
        tell(&mut page, failing, next);
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

fn tell(page: &mut Page, failing: &Failing, next: &dyn Fn(Option<Verdict>) -> &'static str) {
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
        page.commands("next", &[format!("unflake {} {test}", next(verdict))]);
    }
}

/// As the formats for whole campaigns take it: each test with its one attempt, and no finding.
pub fn view(ran: &SuiteRun) -> View<'_> {
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

/// For programs.
pub fn json(modules: Modules<'_, &SuiteRun>) -> String {
    let rows = modules.iter().map(|(name, ran)| (*name, RunRow::of(ran)));
    of_modules(&schema::RUN, Command::Run, rows)
}

#[derive(Serialize)]
struct RunRow<'a> {
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
    #[serde(flatten)]
    rate: RateRow,
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

impl<'a> RunRow<'a> {
    fn of(ran: &'a SuiteRun) -> Self {
        Self {
            run: ran.origin.run_name(RunId(0)),
            order: ran.sequence.as_str(),
            seed: ran.origin.seed,
            tests: ran.suite.n_tests(),
            failed: ran.failing.len(),
            not_run: ran.n_not_run,
            wall_seconds: seconds(ran.wall_time),
            failures: ran.failing.iter().map(FailureRow::of).collect(),
            warnings: WarningRow::all(&ran.warnings),
        }
    }
}

impl<'a> FailureRow<'a> {
    fn of(failing: &'a Failing) -> Self {
        Self {
            test: failing.test.as_str(),
            outcome: failing.outcome.as_str(),
            message: &failing.failure.message,
            text: &failing.failure.text,
            known: failing.known.as_ref().map(KnownRow::of),
        }
    }
}

impl<'a> KnownRow<'a> {
    fn of(known: &'a Known) -> Self {
        let group = |group: &'a Vec<TestId>| group.iter().map(TestId::as_str).collect();
        Self {
            verdict: known.verdict.as_ref().map(|(verdict, _)| verdict.slug()),
            campaign: known.verdict.as_ref().map(|(_, campaign)| campaign.as_str()),
            rate: RateRow::of(known.tally, Confidence::USUAL),
            polluters_before: known.polluters.iter().map(group).collect(),
            factors: known.factors.iter().map(FactorRow::of).collect(),
        }
    }
}

impl<'a> FactorRow<'a> {
    fn of(known: &'a KnownFactor) -> Self {
        Self {
            factors: known.factors.to_string(),
            makes_it_fail: known.makes_it_fail,
            command: known.command.as_deref(),
            campaign: &known.campaign,
            older_code: known.is_of_older_code,
        }
    }
}
