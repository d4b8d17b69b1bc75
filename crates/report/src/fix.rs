//! `unflake fix`: the changes that help, and what speaks against the others.

use serde::Serialize;
use unflake_known::fix::{Fix, Patch, Rejected};
use unflake_known::quote;
use unflake_model::{TestId, Verdict};

use crate::command::Command;
use crate::document::Document;
use crate::page::{Detail, Ink, Layout, Page};
use crate::schema;
use crate::visible::visible;
use crate::words::plural;

/// For people: what is to be said about the change, which itself is printed apart.
pub fn text(fixed: &Fix, test: &str, is_applied: bool, layout: Layout) -> String {
    let mut page = Page::new(layout);
    page.line(&[(Ink::Heading, &visible(test))]);
    if let Some(exhibit) = fixed.findings.exhibits.first() {
        let verdict = exhibit.finding.verdict;
        page.row_in("kind", Ink::Verdict(verdict), &verdict.told());
    }
    match fixed.patches.first() {
        Some(patch) => {
            let done = if is_applied { "changed" } else { "change" };
            page.row(done, &visible(&patch.proposal.title));
            page.row("seen", &checked(patch));
            let safety = if patch.proposal.is_safe { "safe" } else { "a way round" };
            page.row(safety, &patch.proposal.why);
        }
        None if fixed.is_cut_short => page.row("change", "it ended before a change was found"),
        None if !fixed.not_tried.is_empty() => {
            page.row("change", "not all changes could be tried");
        }
        None => page.row("change", "no change was found that helps"),
    }
    for patch in fixed.patches.iter().skip(1) {
        page.row("also helps", &visible(&patch.proposal.title));
    }
    for rejected in &fixed.rejected {
        page.row("does not help", &visible(&rejected.title));
        page.row("", &visible(&rejected.why));
    }
    for untried in &fixed.not_tried {
        page.row("not tried", &visible(&untried.title));
        page.row("", &visible(&untried.why));
    }
    if fixed.patches.is_empty() {
        for (number, reason) in fixed.reasons.iter().enumerate() {
            page.row(if number == 0 { "because" } else { "" }, &visible(reason));
        }
    }
    if layout.detail != Detail::Brief {
        next(&mut page, fixed, test, is_applied);
    }
    if !fixed.patches.is_empty() && !is_applied {
        // The change follows, on a terminal on the same screen.
        page.blank();
    }
    page.finish()
}

/// What to do with the change, or without one.
fn next(page: &mut Page, fixed: &Fix, test: &str, is_applied: bool) {
    let test = quote(&visible(test));
    match fixed.patches.first() {
        Some(_) if is_applied => page.row("next", "look at it with `git diff`, and commit it"),
        Some(_) => {
            page.row("next", "to write the change below into the files:");
            page.commands("", &[format!("unflake fix {test} --apply")]);
        }
        None => {
            let verdict = fixed.findings.exhibits.first().map(|exhibit| exhibit.finding.verdict);
            let is_random = verdict.is_some_and(Verdict::is_non_deterministic);
            let command = if is_random { "shake" } else { "why" };
            page.commands("next", &[format!("unflake {command} {test}")]);
        }
    }
}

/// What was seen with the change, as a sentence without its end.
fn checked(patch: &Patch) -> String {
    let checked = &patch.checked;
    let groups = plural(checked.n_groups as u64, "group of tests", "groups of tests");
    let tests = plural(checked.n_tests as u64, "test ends", "tests end");
    let repaired = match checked.repaired.len() as u64 {
        0 => String::new(),
        n => format!("; repairs {} more", plural(n, "test", "tests")),
    };
    format!(
        "with the plain runner the test passes alone and after {groups} it depends on; {tests} as \
         before{repaired}"
    )
}

/// For programs.
pub fn json(fixed: &Fix, is_applied: bool) -> String {
    let exhibit = fixed.findings.exhibits.first();
    let finding = exhibit.map(|exhibit| &exhibit.finding);
    let row = FixRow {
        test: finding.map_or("", |finding| fixed.findings.suite.id(finding.test).as_str()),
        verdict: finding.map_or("", |finding| finding.verdict.slug()),
        applied: is_applied && !fixed.patches.is_empty(),
        cut_short: fixed.is_cut_short,
        patches: fixed.patches.iter().map(patch_row).collect(),
        rejected: fixed.rejected.iter().map(rejected_row).collect(),
        not_tried: fixed.not_tried.iter().map(rejected_row).collect(),
        reasons: &fixed.reasons,
    };
    Document::new(&schema::FIX, Command::Fix, row).text()
}

#[derive(Serialize)]
struct FixRow<'a> {
    test: &'a str,
    verdict: &'a str,
    applied: bool,
    cut_short: bool,
    patches: Vec<PatchRow<'a>>,
    rejected: Vec<RejectedRow<'a>>,
    not_tried: Vec<RejectedRow<'a>>,
    reasons: &'a [String],
}

#[derive(Serialize)]
struct PatchRow<'a> {
    how: &'a str,
    title: &'a str,
    why: &'a str,
    safe: bool,
    files: Vec<String>,
    groups_passed: usize,
    tests_compared: usize,
    repaired: Vec<&'a str>,
    diff: &'a str,
}

#[derive(Serialize)]
struct RejectedRow<'a> {
    title: &'a str,
    why: &'a str,
}

fn rejected_row(rejected: &Rejected) -> RejectedRow<'_> {
    RejectedRow { title: &rejected.title, why: &rejected.why }
}

fn patch_row(patch: &Patch) -> PatchRow<'_> {
    let Patch { proposal, checked } = patch;
    let files = proposal.files.iter();
    PatchRow {
        how: &proposal.how,
        title: &proposal.title,
        why: &proposal.why,
        safe: proposal.is_safe,
        files: files.map(|file| file.path.display().to_string()).collect(),
        groups_passed: checked.n_groups,
        tests_compared: checked.n_tests,
        repaired: checked.repaired.iter().map(TestId::as_str).collect(),
        diff: &proposal.diff,
    }
}
