//! JUnit XML with all attempts, for continuous integration.
//!
//! Every test of the suite is a `testcase`. Reruns are written as Maven's Surefire does: a test
//! that also passed counts as passed, and each failed attempt is a `flakyFailure` or `flakyError`;
//! of a test that never passed, the first failed attempt is its `failure` or `error`, the others
//! are `rerunFailure` or `rerunError`. Readers that know nothing of reruns see plain passes and
//! failures. Verdict and counts are properties, commands are `system-out`.
//!
//! What a test is called is for those to say who know its runner: a report of ours is read where
//! the runner's own is, and there the same test must have the same name.
//!
//! Written as it goes, so that 100,000 tests need no memory. Control characters, most of which XML
//! 1.0 cannot hold even as references, are removed. Bounded: [`ATTEMPTS_MAX`] failed attempts per
//! test, the end of each text; the counts are always complete.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::time::Duration;

use quick_xml::Writer;
use quick_xml::events::{BytesDecl, BytesEnd, BytesStart, BytesText, Event};
use unflake_model::{OutcomeKind, TestId, TestIndex};

use crate::visible::{first_line, tail};
use unflake_known::junit_xml::{Address, RUN};
use unflake_known::{Exhibit, FailedAttempt, Origin, Record, View};

/// What a suite is called that has no name.
const NAME: &str = "unflake";
/// Failed attempts written per test.
pub const ATTEMPTS_MAX: usize = 100;
/// Bytes kept of each text, from its end.
const TEXT_BYTES_MAX: usize = 16 * 1024;
/// Characters kept of each message.
const MESSAGE_CHARS_MAX: usize = 1000;

/// Writes the reports about the modules of a project, or the one about all of it, which needs no
/// name. Tests are called as `address` says that their runner calls them.
pub fn write(
    modules: &[(&str, View<'_>)],
    address: &dyn Fn(&Origin, &TestId) -> Address,
    out: &mut impl Write,
) -> io::Result<()> {
    let mut xml = Writer::new_with_indent(&mut *out, b' ', 2);
    xml.write_event(Event::Decl(BytesDecl::new("1.0", Some("UTF-8"), None)))?;
    let counted: Vec<Counts> = modules.iter().map(|(_, view)| Counts::of(view)).collect();
    let suites = BytesStart::new("testsuites");
    xml.write_event(Event::Start(Counts::sum(&counted).attributes(suites, NAME)))?;
    for ((name, view), counts) in modules.iter().zip(&counted) {
        let name = if name.is_empty() { NAME } else { name };
        let suite = counts.attributes(BytesStart::new("testsuite"), name);
        xml.write_event(Event::Start(suite))?;
        let exhibits: BTreeMap<TestIndex, &Exhibit> =
            view.exhibits.iter().map(|exhibit| (exhibit.finding.test, exhibit)).collect();
        for test in view.suite.tests() {
            let address = address(view.origin, view.suite.id(test));
            test_case(&mut xml, view, (test, &address), exhibits.get(&test).copied())?;
        }
        xml.write_event(Event::End(BytesEnd::new("testsuite")))?;
    }
    xml.write_event(Event::End(BytesEnd::new("testsuites")))?;
    out.write_all(b"\n")
}

/// How a test counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Standing {
    Passed,
    Failed,
    Error,
    Skipped,
    NotRun,
}

fn standing(record: Option<&Record>) -> Standing {
    match record {
        Some(record) if 0 < record.tally.passes() => Standing::Passed,
        Some(record) if 0 < record.tally.failures => {
            match record.failures.first().map(|attempt| attempt.outcome) {
                Some(outcome) if is_error(outcome) => Standing::Error,
                _ => Standing::Failed,
            }
        }
        Some(record) if 0 < record.skipped => Standing::Skipped,
        _ => Standing::NotRun,
    }
}

/// Whether something other than the test's own assertions ended it.
fn is_error(outcome: OutcomeKind) -> bool {
    matches!(outcome, OutcomeKind::Error | OutcomeKind::Crashed | OutcomeKind::TimedOut)
}

#[derive(Default)]
struct Counts {
    tests: usize,
    failures: usize,
    errors: usize,
    skipped: usize,
    time: Duration,
}

impl Counts {
    fn of(view: &View<'_>) -> Self {
        let mut counts =
            Self { tests: view.suite.n_tests(), time: view.wall_time, ..Self::default() };
        for test in view.suite.tests() {
            match standing(view.records.get(test.get())) {
                Standing::Passed => (),
                Standing::Failed => counts.failures += 1,
                Standing::Error => counts.errors += 1,
                Standing::Skipped | Standing::NotRun => counts.skipped += 1,
            }
        }
        counts
    }

    fn sum(all: &[Self]) -> Self {
        Self {
            tests: all.iter().map(|each| each.tests).sum(),
            failures: all.iter().map(|each| each.failures).sum(),
            errors: all.iter().map(|each| each.errors).sum(),
            skipped: all.iter().map(|each| each.skipped).sum(),
            time: all.iter().map(|each| each.time).sum(),
        }
    }

    fn attributes<'e>(&self, element: BytesStart<'e>, suite: &str) -> BytesStart<'e> {
        let numbers = [
            ("tests", self.tests),
            ("failures", self.failures),
            ("errors", self.errors),
            ("skipped", self.skipped),
        ];
        let mut element = with(element, "name", suite);
        for (name, number) in numbers {
            element = with(element, name, &number.to_string());
        }
        with(element, "time", &seconds(self.time))
    }
}

fn test_case(
    xml: &mut Writer<impl Write>,
    view: &View<'_>,
    (test, address): (TestIndex, &Address),
    exhibit: Option<&Exhibit>,
) -> io::Result<()> {
    let case = with(BytesStart::new("testcase"), "classname", &address.class);
    let case = with(case, "name", &address.name);
    let case = with(case, "time", &seconds(view.suite.duration(test)));
    let record = view.records.get(test.get());
    if exhibit.is_none() && standing(record) == Standing::Passed {
        return xml.write_event(Event::Empty(case));
    }
    xml.write_event(Event::Start(case))?;
    if let Some(exhibit) = exhibit {
        properties(xml, exhibit)?;
    }
    match (standing(record), record) {
        (Standing::Skipped, _) => skipped(xml, "skipped every time")?,
        (Standing::NotRun, _) | (_, None) => skipped(xml, "never run")?,
        (standing, Some(record)) => attempts(xml, view.origin, record, standing)?,
    }
    if let Some(exhibit) = exhibit {
        let text = explanation(exhibit, record);
        element(xml, BytesStart::new("system-out"), &text)?;
    }
    xml.write_event(Event::End(BytesEnd::new("testcase")))
}

fn properties(xml: &mut Writer<impl Write>, exhibit: &Exhibit) -> io::Result<()> {
    let finding = &exhibit.finding;
    let properties = [
        ("unflake.verdict", finding.verdict.slug().to_owned()),
        ("unflake.confirmed", exhibit.is_confirmed().to_string()),
        ("unflake.failures", finding.tally.failures.to_string()),
        ("unflake.attempts", finding.tally.attempts.to_string()),
    ];
    xml.write_event(Event::Start(BytesStart::new("properties")))?;
    for (name, value) in properties {
        let property = with(BytesStart::new("property"), "name", name);
        xml.write_event(Event::Empty(with(property, "value", &value)))?;
    }
    xml.write_event(Event::End(BytesEnd::new("properties")))
}

fn skipped(xml: &mut Writer<impl Write>, message: &str) -> io::Result<()> {
    xml.write_event(Event::Empty(with(BytesStart::new("skipped"), "message", message)))
}

fn attempts(
    xml: &mut Writer<impl Write>,
    origin: &Origin,
    record: &Record,
    standing: Standing,
) -> io::Result<()> {
    if record.failures.is_empty() && standing != Standing::Passed {
        let message = format!("failed {}", crate::words::of(record.tally));
        let failure = with(BytesStart::new("failure"), "message", &message);
        return xml.write_event(Event::Empty(with(failure, "type", "failed")));
    }
    for (number, attempt) in record.failures.iter().take(ATTEMPTS_MAX).enumerate() {
        let is_first = number == 0;
        let name = match (standing == Standing::Passed, is_first, is_error(attempt.outcome)) {
            (true, _, false) => "flakyFailure",
            (true, _, true) => "flakyError",
            (false, true, false) => "failure",
            (false, true, true) => "error",
            (false, false, false) => "rerunFailure",
            (false, false, true) => "rerunError",
        };
        failed_attempt(xml, origin, name, attempt)?;
    }
    Ok(())
}

/// Surefire puts the text of reruns into an element of its own.
fn failed_attempt(
    xml: &mut Writer<impl Write>,
    origin: &Origin,
    name: &'static str,
    attempt: &FailedAttempt,
) -> io::Result<()> {
    let message = first_line(&attempt.failure.message, MESSAGE_CHARS_MAX);
    let start = with(BytesStart::new(name), "message", &message);
    let start = with(start, "type", attempt.outcome.as_str());
    let run = origin.run_name(attempt.run);
    let text = format!("{RUN}{run}\n{}", tail(&attempt.failure.text, TEXT_BYTES_MAX));
    if matches!(name, "failure" | "error") {
        return element(xml, start, &text);
    }
    xml.write_event(Event::Start(start))?;
    element(xml, BytesStart::new("stackTrace"), &text)?;
    xml.write_event(Event::End(BytesEnd::new(name)))
}

fn explanation(exhibit: &Exhibit, record: Option<&Record>) -> String {
    let verdict = exhibit.finding.verdict;
    let mut lines = vec![format!("{verdict}: {}\n", verdict.meaning())];
    lines.extend(exhibit.reproduce.iter().map(|command| format!("reproduce: {command}\n")));
    let n_written = record.map_or(0, |record| record.failures.len().min(ATTEMPTS_MAX));
    let n_failures = record.map_or(0, |record| record.tally.failures);
    let n_left_out = n_failures.saturating_sub(n_written as u64);
    if 0 < n_left_out {
        let attempts = crate::words::plural(n_left_out, "failed attempt", "failed attempts");
        lines.push(format!("{attempts} without text here\n"));
    }
    lines.concat()
}

fn element(xml: &mut Writer<impl Write>, start: BytesStart<'_>, text: &str) -> io::Result<()> {
    let end = start.to_end().into_owned();
    xml.write_event(Event::Start(start))?;
    xml.write_event(Event::Text(BytesText::new(&legal(text))))?;
    xml.write_event(Event::End(end))
}

fn with<'e>(mut element: BytesStart<'e>, name: &str, value: &str) -> BytesStart<'e> {
    element.push_attribute((name, &*legal(value)));
    element
}

/// The text without what XML 1.0 has no place for (production 2, `Char`), or advises against: the
/// controls from U+007F to U+009F, which a terminal might obey.
fn legal(text: &str) -> Cow<'_, str> {
    let is_legal = |c: char| {
        let is_noncharacter = matches!(c, '\u{fffe}' | '\u{ffff}');
        matches!(c, '\t' | '\n' | '\r') || !(c.is_control() || is_noncharacter)
    };
    if text.chars().all(is_legal) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.chars().filter(|c| is_legal(*c)).collect())
}

fn seconds(duration: Duration) -> String {
    format!("{:.3}", duration.as_secs_f64())
}
