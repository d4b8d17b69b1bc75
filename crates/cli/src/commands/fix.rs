//! `unflake fix`.
//!
//! The change goes to standard output, for `git apply`; what there is to say about it, to standard
//! error.

use std::io::{self, Write as _};

use serde::Serialize;
use unflake_adapter::with_causes;
use unflake_app::fix::{Fix, FixError, FixRequest, Patch, Rejected, apply, fix};
use unflake_known::quote;
use unflake_model::{TestId, Verdict};
use unflake_report::{Detail, Ink, Layout, Page, plural, visible};

use crate::commands::study::{Task, goal};
use crate::exit::{self, Failure};
use crate::printer::json;
use crate::progress::Line;
use crate::running::not_run;
use crate::screen::Screen;
use crate::study_args::FixArgs;

/// The version of what programs are told.
const SCHEMA_VERSION: u32 = 1;

/// Looks for a change, and prints or makes it.
pub(crate) fn run(args: &FixArgs, screen: Screen) -> Result<u8, Failure> {
    let hint = "`unflake why` says on what the test depends";
    args.look.typed(&[]).require(|it| it.mends, "`fix` changes test files", hint)?;
    let task = Task::about(&args.look, &args.test)?;
    let part = task.part()?;
    let goal = goal(&task.request);
    let request = FixRequest { study: &task.request, all: args.all };
    let mut line = Line::new(goal, screen);
    let fixed = fix(request, part, &task.limits, &task.interrupt, &mut line);
    drop(line);
    let fixed = fixed.map_err(|error| match error {
        FixError::Study(error) => not_run(&error),
        FixError::Mend(_) => Failure::NotRun { message: with_causes(&error), hint: None },
    })?;
    let best = fixed.patches.first();
    if let Some(patch) = best.filter(|_| args.apply) {
        apply(&patch.proposal).map_err(|error| Failure::NotRun {
            message: with_causes(&error),
            hint: Some("run the same command again".to_owned()),
        })?;
    }
    let mut out = io::stdout().lock();
    if args.json {
        out.write_all(for_programs(&fixed, args.apply).as_bytes())?;
    } else {
        exit::note(&for_people(&fixed, args, screen.notes()));
        let patch = best.filter(|_| !args.apply);
        out.write_all(patch.map_or("", |patch| &patch.proposal.diff).as_bytes())?;
    }
    out.flush()?;
    Ok(code(&fixed))
}

fn code(fixed: &Fix) -> u8 {
    let mut verdicts = fixed.study.exhibits.iter().map(|exhibit| exhibit.finding.verdict);
    let is_open = verdicts.any(|verdict| verdict == Verdict::InsufficientEvidence);
    let is_open = is_open || fixed.is_cut_short || !fixed.not_tried.is_empty();
    match (fixed.patches.is_empty(), is_open) {
        (false, _) => exit::SUCCESS,
        (true, false) => exit::FOUND,
        (true, true) => exit::UNDECIDED,
    }
}

fn for_people(fixed: &Fix, args: &FixArgs, layout: Layout) -> String {
    let mut page = Page::new(layout);
    page.line(&[(Ink::Heading, &visible(&args.test))]);
    if let Some(exhibit) = fixed.study.exhibits.first() {
        let verdict = exhibit.finding.verdict;
        page.row_in("kind", Ink::Verdict(verdict), &verdict.told());
    }
    match fixed.patches.first() {
        Some(patch) => {
            let done = if args.apply { "changed" } else { "change" };
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
        next(&mut page, fixed, args);
    }
    if !fixed.patches.is_empty() && !args.apply {
        // The change follows, on a terminal on the same screen.
        page.blank();
    }
    page.finish()
}

/// What to do with the change, or without one.
fn next(page: &mut Page, fixed: &Fix, args: &FixArgs) {
    let test = quote(&visible(&args.test));
    match fixed.patches.first() {
        Some(_) if args.apply => page.row("next", "look at it with `git diff`, and commit it"),
        Some(_) => {
            page.row("next", "to write the change below into the files:");
            page.commands("", &[format!("unflake fix {test} --apply")]);
        }
        None => {
            let verdict = fixed.study.exhibits.first().map(|exhibit| exhibit.finding.verdict);
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
        "with plain pytest the test passes alone and after {groups} it depends on; {tests} as \
         before{repaired}"
    )
}

#[derive(Serialize)]
struct FixRow<'a> {
    schema: u32,
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

fn for_programs(fixed: &Fix, is_applied: bool) -> String {
    let exhibit = fixed.study.exhibits.first();
    let finding = exhibit.map(|exhibit| &exhibit.finding);
    let row = FixRow {
        schema: SCHEMA_VERSION,
        test: finding.map_or("", |finding| fixed.study.suite.id(finding.test).as_str()),
        verdict: finding.map_or("", |finding| finding.verdict.slug()),
        applied: is_applied && !fixed.patches.is_empty(),
        cut_short: fixed.is_cut_short,
        patches: fixed.patches.iter().map(patch_row).collect(),
        rejected: fixed.rejected.iter().map(rejected_row).collect(),
        not_tried: fixed.not_tried.iter().map(rejected_row).collect(),
        reasons: &fixed.reasons,
    };
    json(&row)
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
