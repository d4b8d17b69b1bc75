//! `unflake triage`: which failures of a report are flaky, and of what kind.

use serde::Serialize;
use unflake_known::quote;
use unflake_known::triage::{Triage, Triaged};
use unflake_model::{Confidence, Tally, TestId, Verdict};

use crate::command::Command;
use crate::document::{Document, WarningRow};
use crate::page::{Detail, Ink, Layout, Page};
use crate::schema;
use crate::visible::visible;
use crate::words::{percent, plural};

/// For people.
pub fn text(found: &Triage, layout: Layout) -> String {
    let n_failed = found.tests.len() + found.not_looked_into.len() + found.unknown.len();
    // Those that are not here were reported, too.
    let n_reported = found.n_reported + found.unknown.len();
    let n_reported = plural(n_reported as u64, "reported test", "reported tests");
    let mut page = Page::new(layout);
    page.prose_in(Ink::Heading, &format!("{n_failed} of {n_reported} failed"));
    for triaged in &found.tests {
        let verdict = triaged.verdict;
        page.blank();
        page.line(&[(Ink::Heading, &visible(triaged.test.as_str()))]);
        page.row_in("kind", Ink::Verdict(verdict), &verdict.told());
        for (name, line) in about(triaged) {
            page.row(name, &line);
        }
        if let Some(command) = next(triaged).filter(|_| layout.detail != Detail::Brief) {
            page.commands("next", &[visible(&command)]);
        }
    }
    for (what, names) in [
        ("Not among the tests here", found.unknown.iter().map(String::as_str).collect()),
        (
            "Not looked into",
            found.not_looked_into.iter().map(TestId::as_str).collect::<Vec<&str>>(),
        ),
    ] {
        if !names.is_empty() {
            page.blank();
            page.prose(&format!("{what}: {}", visible(&names.join(", "))));
        }
    }
    for warning in &found.warnings {
        page.warning(warning);
    }
    page.finish()
}

fn about(triaged: &Triaged) -> Vec<(&'static str, String)> {
    let seen = &triaged.seen;
    let counted = |tally: Tally| format!("failed {} of {}", tally.failures, tally.attempts);
    let before = plural(triaged.n_before as u64, "test", "tests");
    let mut lines =
        vec![("report", visible(&triaged.message).into_owned()), ("alone", counted(seen.alone))];
    // Not every runner can run a test twice in one process.
    if 0 < seen.again.attempts {
        lines.push(("again", format!("{}, right after in the same process", counted(seen.again))));
    }
    let same_prefix = format!("{}, after {before} as in the report", counted(seen.same_prefix));
    lines.push(("same prefix", same_prefix));
    if 0 < seen.after_all.attempts {
        lines.push(("after all", format!("{}, after all other tests", counted(seen.after_all))));
    }
    if !seen.seeds.is_empty() {
        let n_failing = seen.seeds.iter().filter(|tally| 0 < tally.failures).count();
        let seeds = plural(seen.seeds.len() as u64, "seed", "seeds");
        lines.push(("other seeds", format!("failed under {n_failing} of {seeds}, each run twice")));
    }
    lines.extend(triaged.sure.map(|sure| ("sure", format!("{} %", percent(sure, 2)))));
    let never_seen = match triaged.verdict {
        Verdict::Ud => Some("fails"),
        Verdict::AlwaysFailing => Some("passes"),
        Verdict::OdVictim
        | Verdict::OdBrittle
        | Verdict::OdUnknownRole
        | Verdict::Ndod
        | Verdict::Ndoi
        | Verdict::NodUndecided
        | Verdict::Id
        | Verdict::Env
        | Verdict::Nio
        | Verdict::InsufficientEvidence
        | Verdict::NotFlaky => None,
    };
    if let Some(outcome) = never_seen {
        let rate = percent(triaged.rate_detectable(Confidence::USUAL), 2);
        let line = format!("one that {outcome} in {rate} % of runs would have shown it (95 %)");
        lines.push(("sure", line));
    }
    lines
}

/// The command that finds out more.
fn next(triaged: &Triaged) -> Option<String> {
    let test = quote(triaged.test.as_str());
    match triaged.verdict {
        Verdict::AlwaysFailing | Verdict::InsufficientEvidence => None,
        Verdict::Ud | Verdict::NodUndecided => Some("unflake study".to_owned()),
        Verdict::OdVictim
        | Verdict::OdBrittle
        | Verdict::OdUnknownRole
        | Verdict::Ndod
        | Verdict::Ndoi
        | Verdict::Id
        | Verdict::Env
        | Verdict::Nio
        | Verdict::NotFlaky => Some(format!("unflake why {test}")),
    }
}

/// For programs.
pub fn json(found: &Triage) -> String {
    let report = TriageRow {
        reported: found.n_reported,
        failed: found.tests.iter().map(row).collect(),
        unknown: &found.unknown,
        not_looked_into: found.not_looked_into.iter().map(TestId::as_str).collect(),
        warnings: WarningRow::all(&found.warnings),
    };
    Document::new(&schema::TRIAGE, Command::Triage, report).text()
}

#[derive(Serialize)]
struct TriageRow<'a> {
    reported: usize,
    failed: Vec<TriagedRow<'a>>,
    unknown: &'a [String],
    not_looked_into: Vec<&'a str>,
    warnings: Vec<WarningRow>,
}

#[derive(Serialize)]
struct TriagedRow<'a> {
    id: &'a str,
    message: &'a str,
    verdict: &'static str,
    flaky: Option<bool>,
    sure: Option<f64>,
    tests_before: usize,
    alone: Count,
    again: Count,
    same_prefix: Count,
    after_all: Count,
    seeds: Vec<Count>,
    next: Option<String>,
}

#[derive(Serialize)]
struct Count {
    failures: u64,
    attempts: u64,
}

fn row(triaged: &Triaged) -> TriagedRow<'_> {
    let count = |tally: Tally| Count { failures: tally.failures, attempts: tally.attempts };
    let seen = &triaged.seen;
    TriagedRow {
        id: triaged.test.as_str(),
        message: &triaged.message,
        verdict: triaged.verdict.slug(),
        flaky: (triaged.verdict != Verdict::InsufficientEvidence)
            .then(|| triaged.verdict.is_flaky()),
        sure: triaged.sure,
        tests_before: triaged.n_before,
        alone: count(seen.alone),
        again: count(seen.again),
        same_prefix: count(seen.same_prefix),
        after_all: count(seen.after_all),
        seeds: seen.seeds.iter().map(|tally| count(*tally)).collect(),
        next: next(triaged),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use unflake_model::Retried;

    #[test]
    fn what_was_not_tried_has_no_line() {
        let tally = |attempts| Tally { attempts, failures: 0 };
        let labels = |n_again| {
            let seen = Retried { alone: tally(3), again: tally(n_again), ..Retried::default() };
            let triaged = Triaged {
                test: "a::b".parse().unwrap(),
                message: "1 != 2".to_owned(),
                n_before: 1,
                seen,
                verdict: Verdict::InsufficientEvidence,
                sure: None,
            };
            about(&triaged).into_iter().map(|(label, _)| label).collect::<Vec<_>>()
        };
        assert_eq!(labels(3), ["report", "alone", "again", "same prefix"]);
        assert_eq!(labels(0), ["report", "alone", "same prefix"]);
    }
}
