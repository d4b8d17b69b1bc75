//! What a rerun study says, for people, for programs and for a pull request.
//!
//! The tables have the form of the published ones (root-cause spec 6.1, 6.2): a line for each flaky
//! test with its rate in the suite and alone, bursts and failing orders; a line for the suite with
//! the limits between which its rate had to lie.

use std::fmt::Write as _;
use std::time::Duration;

use serde::Serialize;
use unflake_known::RerunStudy;
use unflake_model::{Confidence, Tally, TestIndex};
use unflake_stats::rank::RankTest;
use unflake_stats::rate::interval;
use unflake_stats::rerun_study::{Advice, Place, Tables, TestRow, TimingHint};
use unflake_stats::suite_failure::Relatedness;

use crate::command::Command;
use crate::document::{Modules, WarningRow, of_modules};
use crate::schema;
use crate::words::{failed, percent, plural, span};
use crate::{Detail, Ink, Layout, Page, visible};

/// Tests shown to people.
const TESTS_MAX: usize = 100;

/// For people.
pub fn text(view: &RerunStudy, layout: Layout) -> String {
    let mut page = Page::new(layout);
    for line in head(view).lines() {
        page.prose(line);
    }
    if !view.tables.tests.is_empty() {
        page.blank();
        for line in aligned(&table(view)).lines() {
            page.line(&[(Ink::Plain, line)]);
        }
        for row in view.tables.tests.iter().take(TESTS_MAX) {
            page.blank();
            page.line(&[(Ink::Heading, &visible(view.suite.id(row.test).as_str()))]);
            for (name, line) in about(view, row) {
                page.row(name, &line);
            }
        }
        let n_more = view.tables.tests.len().saturating_sub(TESTS_MAX);
        if 0 < n_more {
            page.blank();
            page.prose(&format!("and {n_more} more"));
        }
        page.blank();
        for line in about_suite(view) {
            match line.strip_prefix("  ") {
                Some(line) => page.prose_below(line),
                None => page.prose(&line),
            }
        }
        if layout.detail != Detail::Brief {
            page.prose(
                "`unflake why TEST` says on what one depends, `unflake shake TEST` what \
                        makes it fail at random.",
            );
        }
    }
    for warning in &view.warnings {
        page.warning(warning);
    }
    page.finish()
}

/// For a pull request.
pub fn markdown(view: &RerunStudy) -> String {
    let mut text = format!("{}\n", head(view));
    if view.tables.tests.is_empty() {
        return text;
    }
    for (index, cells) in table(view).iter().enumerate() {
        let cells: Vec<String> = cells.iter().map(|cell| cell.replace('|', "\\|")).collect();
        let _ = writeln!(text, "| {} |", cells.join(" | "));
        if index == 0 {
            let _ = writeln!(text, "|{}", "---|".repeat(cells.len()));
        }
    }
    text.push('\n');
    for line in about_suite(view) {
        let _ = writeln!(text, "- {line}");
    }
    text
}

fn head(view: &RerunStudy) -> String {
    let Tables { n_runs, n_orders, tests, .. } = &view.tables;
    let mut text = format!(
        "{} of {} flaky, by {} in {}{}\n",
        tests.len(),
        plural(view.suite.n_tests() as u64, "test is", "tests are"),
        plural(*n_runs, "run", "runs"),
        plural(*n_orders as u64, "order", "orders"),
        view.campaign.as_ref().map(|name| format!(" (campaign {name})")).unwrap_or_default(),
    );
    if 0 < view.n_recalled {
        let _ = writeln!(text, "{} recalled.", plural(view.n_recalled, "run was", "runs were"));
    }
    if !view.is_whole {
        text.push_str("Not all runs were made; the same command goes on with the rest.\n");
    }
    text
}

/// One line for each flaky test, and one of titles.
fn table(view: &RerunStudy) -> Vec<Vec<String>> {
    let titles =
        ["VERDICT", "SUITE", "ALONE", "ORDERS", "RATES", "BURST", "CHI2 P", "EXACT P", "TEST"];
    let mut rows = vec![titles.map(str::to_owned).to_vec()];
    for row in view.tables.tests.iter().take(TESTS_MAX) {
        let classified = &row.classified;
        rows.push(vec![
            classified.verdict.slug().to_owned(),
            share(row.in_suite),
            if row.alone.attempts == 0 { "-".to_owned() } else { share(row.alone) },
            format!("{}/{}", classified.n_failing_orders, classified.n_orders),
            rates(&row.by_order),
            format!("{}", row.burst),
            p_value(classified.chi_square.map(|test| test.p_value)),
            p_value(classified.exact.map(|test| test.p_value)),
            visible(view.suite.id(row.test).as_str()).into_owned(),
        ]);
    }
    rows
}

/// The least and the greatest failure rate of an order.
fn rates(by_order: &[Tally]) -> String {
    let rates = || {
        let ran = by_order.iter().filter(|tally| 0 < tally.attempts);
        ran.map(|tally| tally.failures as f64 / tally.attempts as f64)
    };
    let (least, most) = (rates().fold(1.0, f64::min), rates().fold(0.0, f64::max));
    format!("{}-{} %", percent(least, 2), percent(most, 2))
}

fn share(tally: Tally) -> String {
    let rate = tally.failures as f64 / tally.attempts.max(1) as f64;
    format!("{}/{} {} %", tally.failures, tally.attempts, percent(rate, 2))
}

fn p_value(p: Option<f64>) -> String {
    match p {
        None => "-".to_owned(),
        Some(p) if p < 1e-3 => format!("{p:.0e}"),
        Some(p) => format!("{p:.3}"),
    }
}

/// What is said about one test, line by line.
fn about(view: &RerunStudy, row: &TestRow) -> Vec<(&'static str, String)> {
    let verdict = row.classified.verdict;
    let mut lines =
        vec![("kind", verdict.told()), ("suite", failed(row.in_suite, view.confidence))];
    if 0 < row.alone.attempts {
        lines.push(("alone", failed(row.alone, view.confidence)));
    }
    lines.push(("burst", burst(row)));
    lines.push(("to see", format!("a failure: {}", advice(&row.see_failure, view))));
    lines.push(("", format!("a pass: {}", advice(&row.see_pass, view))));
    if let (Some(pass), Some(fail)) = (row.timing.pass, row.timing.fail) {
        let meaning = match row.timing.hint {
            TimingHint::AsyncWait => "; failing takes much longer, as with async waits",
            TimingHint::NotAsync => {
                "; failing takes hardly longer, so probably nothing was waited for"
            }
            TimingHint::Unknown => "",
        };
        let (pass, fail) = (short(pass), short(fail));
        lines.push(("time", format!("{pass} when it passes, {fail} when it fails{meaning}")));
    }
    lines
}

/// Most tests take less than a second.
fn short(duration: Duration) -> String {
    if duration < Duration::from_secs(1) {
        format!("{} ms", duration.as_millis())
    } else {
        span(duration)
    }
}

fn burst(row: &TestRow) -> String {
    let most = plural(row.burst, "failure", "failures");
    let alone = match row.alone.attempts {
        0 => String::new(),
        _ => format!(", {} alone", row.burst_alone),
    };
    format!("at most {most} in a row in the suite{alone}")
}

fn advice(advice: &Advice, view: &RerunStudy) -> String {
    let confidence = view.confidence;
    let place = match advice.place {
        Place::Alone => "run it alone".to_owned(),
        Place::Suite => "run the suite".to_owned(),
        Place::Order(order) => match view.order_runs.get(order) {
            Some(run) => format!("`unflake replay {run}`, the suite in order {}", order + 1),
            None => format!("run the suite in order {}", order + 1),
        },
    };
    let often = match advice.runs {
        None => "it was never seen".to_owned(),
        Some(runs) => {
            let sure = percent(confidence.get(), 2);
            format!("{} for {sure} %", plural(runs, "run", "runs"))
        }
    };
    format!("{place} ({} % of runs; {often})", percent(advice.share, 2))
}

fn about_suite(view: &RerunStudy) -> Vec<String> {
    let row = &view.tables.suite;
    let (low, high) = (row.limits.start(), row.limits.end());
    let mut lines = vec![
        format!("The suite, because of them: {}", failed(row.failed, view.confidence)),
        format!(
            "  its tests fail in {low} to {high} of {} runs, depending on how many fail at once; \
             were they independent, in {} %",
            row.failed.attempts,
            percent(row.if_independent, 2)
        ),
    ];
    let words = row.relatedness.map(|relatedness| match relatedness {
        Relatedness::Related => "related: where any fails, the one that fails most does",
        Relatedness::NeverCoincident => "no two of them ever fail in the same run",
        Relatedness::Mixed => "some failures coincide, not all",
    });
    lines.extend(words.map(|words| format!("  {words}")));
    for group in &row.groups {
        let names: Vec<&str> = group.iter().map(|test| view.suite.id(*test).as_str()).collect();
        lines.push(format!("  fail together: {}", visible(&names.join(", "))));
    }
    if let Some(contrast) = &view.tables.contrast {
        let p = |test: Option<RankTest>| p_value(test.map(|test| test.p_value));
        lines.push(format!(
            "Alone, {} fail less often than in the suite, {} as often, {} more often (Wilcoxon p \
             {}, Kolmogorov-Smirnov p {})",
            contrast.n_less,
            contrast.n_equal,
            contrast.n_more,
            p(contrast.wilcoxon),
            p(contrast.kolmogorov_smirnov),
        ));
    }
    lines
}

/// Columns under each other.
fn aligned(rows: &[Vec<String>]) -> String {
    let n_columns = rows.first().map_or(0, Vec::len);
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max();
    let widths: Vec<usize> = (0..n_columns).map(|column| width(column).unwrap_or(0)).collect();
    let mut text = String::new();
    for row in rows {
        let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}"));
        text.push_str(cells.collect::<Vec<_>>().join("  ").trim_end());
        text.push('\n');
    }
    text
}

#[derive(Serialize)]
struct StudyJson<'a> {
    campaign: Option<&'a str>,
    complete: bool,
    tests: usize,
    runs: u64,
    orders: usize,
    runs_recalled: u64,
    confidence: f64,
    flaky: Vec<TestJson<'a>>,
    suite: SuiteJson<'a>,
    alone: Option<AloneJson>,
    warnings: Vec<WarningRow>,
}

#[derive(Serialize)]
struct TallyJson {
    failures: u64,
    attempts: u64,
    rate_low: f64,
    rate_high: f64,
}

#[derive(Serialize)]
struct TestJson<'a> {
    id: &'a str,
    verdict: &'static str,
    suite: TallyJson,
    alone: Option<TallyJson>,
    orders: Vec<[u64; 2]>,
    failing_orders: u64,
    burst: u64,
    burst_alone: u64,
    chi_square_p: Option<f64>,
    exact_p: Option<f64>,
    pass_seconds: Option<f64>,
    fail_seconds: Option<f64>,
    timing: &'static str,
    see_failure: AdviceJson,
    see_pass: AdviceJson,
}

#[derive(Serialize)]
struct AdviceJson {
    place: &'static str,
    order: Option<usize>,
    replay: Option<String>,
    share: f64,
    runs: Option<u64>,
}

#[derive(Serialize)]
struct SuiteJson<'a> {
    failed: TallyJson,
    failed_at_least: u64,
    failed_at_most: u64,
    share_if_independent: f64,
    relatedness: Option<&'static str>,
    groups: Vec<Vec<&'a str>>,
}

#[derive(Serialize)]
struct AloneJson {
    less: usize,
    equal: usize,
    more: usize,
    wilcoxon_p: Option<f64>,
    kolmogorov_smirnov_p: Option<f64>,
}

/// For programs.
pub fn json(modules: Modules<'_, &RerunStudy>) -> String {
    let reports = modules.iter().map(|(name, view)| (*name, study_json(view)));
    of_modules(&schema::STUDY, Command::Study, reports)
}

fn study_json(view: &RerunStudy) -> StudyJson<'_> {
    let id = |test: &TestIndex| view.suite.id(*test).as_str();
    let suite = &view.tables.suite;
    StudyJson {
        campaign: view.campaign.as_deref(),
        complete: view.is_whole,
        tests: view.suite.n_tests(),
        runs: view.tables.n_runs,
        orders: view.tables.n_orders,
        runs_recalled: view.n_recalled,
        confidence: view.confidence.get(),
        flaky: view.tables.tests.iter().map(|row| test_json(view, row)).collect(),
        suite: SuiteJson {
            failed: tally_json(suite.failed, view.confidence),
            failed_at_least: *suite.limits.start(),
            failed_at_most: *suite.limits.end(),
            share_if_independent: suite.if_independent,
            relatedness: suite.relatedness.map(|relatedness| match relatedness {
                Relatedness::Related => "related",
                Relatedness::NeverCoincident => "never-coincident",
                Relatedness::Mixed => "mixed",
            }),
            groups: suite.groups.iter().map(|group| group.iter().map(id).collect()).collect(),
        },
        alone: view.tables.contrast.map(|contrast| AloneJson {
            less: contrast.n_less,
            equal: contrast.n_equal,
            more: contrast.n_more,
            wilcoxon_p: contrast.wilcoxon.map(|test| test.p_value),
            kolmogorov_smirnov_p: contrast.kolmogorov_smirnov.map(|test| test.p_value),
        }),
        warnings: WarningRow::all(&view.warnings),
    }
}

fn tally_json(tally: Tally, confidence: Confidence) -> TallyJson {
    let limits = interval(tally, confidence);
    let Tally { failures, attempts } = tally;
    TallyJson { failures, attempts, rate_low: limits.lower, rate_high: limits.upper }
}

fn test_json<'a>(view: &'a RerunStudy, row: &TestRow) -> TestJson<'a> {
    TestJson {
        id: view.suite.id(row.test).as_str(),
        verdict: row.classified.verdict.slug(),
        suite: tally_json(row.in_suite, view.confidence),
        alone: (0 < row.alone.attempts).then(|| tally_json(row.alone, view.confidence)),
        orders: row.by_order.iter().map(|tally| [tally.failures, tally.attempts]).collect(),
        failing_orders: row.classified.n_failing_orders,
        burst: row.burst,
        burst_alone: row.burst_alone,
        chi_square_p: row.classified.chi_square.map(|test| test.p_value),
        exact_p: row.classified.exact.map(|test| test.p_value),
        pass_seconds: row.timing.pass.map(|pass| pass.as_secs_f64()),
        fail_seconds: row.timing.fail.map(|fail| fail.as_secs_f64()),
        timing: match row.timing.hint {
            TimingHint::AsyncWait => "async-wait",
            TimingHint::NotAsync => "not-async",
            TimingHint::Unknown => "unknown",
        },
        see_failure: advice_json(row.see_failure, view),
        see_pass: advice_json(row.see_pass, view),
    }
}

fn advice_json(advice: Advice, view: &RerunStudy) -> AdviceJson {
    let (place, order) = match advice.place {
        Place::Alone => ("alone", None),
        Place::Suite => ("suite", None),
        Place::Order(order) => ("order", Some(order)),
    };
    let replay = order.and_then(|order| view.order_runs.get(order).cloned());
    AdviceJson { place, order, replay, share: advice.share, runs: advice.runs }
}
