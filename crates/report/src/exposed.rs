//! Which tests call something that can come out otherwise, and what?
//!
//! For people: the exposed tests, with the root cause that each such function makes likely. For
//! programs: every test, exposed or not.

use std::time::Duration;

use serde::Serialize;
use unflake_model::RootCause;

use crate::Layout;
use crate::command::Command;
use crate::document::{Modules, WarningRow, of_modules};
use crate::json::{Runner, seconds};
use crate::page::{Ink, Page};
use crate::schema;
use crate::visible::visible;
use crate::words::{more, percent, plural, span};
use unflake_known::exposed::{Exposed, ExposedBy, Row};

/// Tests that are listed.
const TESTS_MAX: usize = 100;
/// Functions of one test.
const FUNCTIONS_MAX: usize = 8;
/// What is said of a function whose cause nobody knows.
const UNKNOWN: &str = "unknown";

fn in_words(cause: Option<RootCause>) -> &'static str {
    cause.map_or(UNKNOWN, RootCause::slug)
}

/// For people.
pub fn text(exposed: &Exposed, layout: Layout) -> String {
    let mut page = Page::new(layout);
    let tests = plural(exposed.n_tests as u64, "test", "tests");
    let headline = format!(
        "{} of {tests} may come out otherwise, by what {}",
        exposed.n_exposed(),
        if exposed.n_exposed() == 1 { "it calls" } else { "they call" }
    );
    page.line(&[(Ink::Heading, &headline)]);
    for row in exposed.exposed().take(TESTS_MAX) {
        page.blank();
        page.line(&[(Ink::Plain, &visible(row.test.as_str()))]);
        for ExposedBy { cause, function, n_calls } in row.exposures.iter().take(FUNCTIONS_MAX) {
            let times = n_calls.map(|n| format!(", {}", plural(n, "call", "calls")));
            let told = format!("{}{}", visible(function), times.unwrap_or_default());
            page.row(in_words(*cause), &told);
        }
        if let Some(more) = more(row.exposures.len(), FUNCTIONS_MAX) {
            page.row("", &more);
        }
    }
    if let Some(more) = more(exposed.n_exposed(), TESTS_MAX) {
        page.blank();
        page.prose(&more);
    }
    for warning in &exposed.warnings {
        page.warning(warning);
    }
    page.blank();
    let all: Duration = exposed.rows.iter().map(|it| it.duration).sum();
    let some: Duration = exposed.exposed().map(|it| it.duration).sum();
    let share = percent(some.as_secs_f64() / all.as_secs_f64().max(f64::MIN_POSITIVE), 2);
    page.prose(&format!("Their share of the time of all tests, {}: {share} %.", span(all)));
    if exposed.rows.len() < exposed.n_tests {
        let n = exposed.n_tests - exposed.rows.len();
        page.prose(&format!("{} not run.", plural(n as u64, "test was", "tests were")));
    }
    page.finish()
}

#[derive(Serialize)]
struct ExposedTests<'a> {
    runner: Runner<'a>,
    command_line: &'a str,
    tests: usize,
    not_run: usize,
    exposed: usize,
    results: Vec<Entry<'a>>,
    warnings: Vec<WarningRow>,
}

#[derive(Serialize)]
struct Entry<'a> {
    test: &'a str,
    outcome: &'static str,
    seconds: f64,
    functions: usize,
    files: usize,
    exposed: bool,
    exposures: Vec<ExposureRow<'a>>,
}

#[derive(Serialize)]
struct ExposureRow<'a> {
    cause: Option<&'static str>,
    function: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    calls: Option<u64>,
}

impl<'a> Entry<'a> {
    fn of(row: &'a Row) -> Self {
        let exposure = |by: &'a ExposedBy| ExposureRow {
            cause: by.cause.map(RootCause::slug),
            function: &by.function,
            calls: by.n_calls,
        };
        Self {
            test: row.test.as_str(),
            outcome: row.outcome.as_str(),
            seconds: seconds(row.duration),
            functions: row.n_functions,
            files: row.n_files,
            exposed: !row.exposures.is_empty(),
            exposures: row.exposures.iter().map(exposure).collect(),
        }
    }
}

impl<'a> ExposedTests<'a> {
    fn of(exposed: &'a Exposed) -> Self {
        let origin = &exposed.origin;
        Self {
            runner: Runner { name: &origin.runner, version: &origin.runner_version },
            command_line: &origin.command,
            tests: exposed.n_tests,
            not_run: exposed.n_tests - exposed.rows.len(),
            exposed: exposed.n_exposed(),
            results: exposed.rows.iter().map(Entry::of).collect(),
            warnings: WarningRow::all(&exposed.warnings),
        }
    }
}

/// For programs.
pub fn json(modules: Modules<'_, Exposed>) -> String {
    let reports = modules.iter().map(|(name, exposed)| (*name, ExposedTests::of(exposed)));
    of_modules(&schema::TRACE, Command::Trace, reports)
}
