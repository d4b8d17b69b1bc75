//! `unflake fix`.
//!
//! The change goes to standard output, for `git apply`; what there is to say about it, to standard
//! error.

use std::io::{self, Write as _};

use serde::Serialize;
use unflake_app::causes::with_causes;
use unflake_app::fix::{Fix, FixError, FixRequest, Patch, apply, fix};
use unflake_model::{TestId, Verdict};
use unflake_report::{plural, visible};

use crate::commands::study::{Task, goal};
use crate::exit::{self, Failure};
use crate::printer::json;
use crate::progress::Line;
use crate::running::not_run;
use crate::study_args::FixArgs;
use crate::subject::Subject;

/// The version of what programs are told.
const SCHEMA_VERSION: u32 = 1;

/// Looks for a change, and prints or makes it.
pub(crate) fn run(args: &FixArgs) -> Result<u8, Failure> {
    let task = Task::about(&args.look, &args.test)?;
    let Subject::Python(project) = &task.subject else {
        let message = "changes of test files can be thought of for pytest only so far";
        return Err(Failure::input(message, "`unflake why` says on what the test depends"));
    };
    let goal = goal(&task.request, &args.look);
    let request = FixRequest { study: &task.request, all: args.all };
    let fixed = fix(request, project, &task.limits, &task.interrupt, &mut Line::new(goal));
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
        exit::note(&for_people(&fixed, args));
        let patch = best.filter(|_| !args.apply);
        out.write_all(patch.map_or("", |patch| &patch.proposal.diff).as_bytes())?;
    }
    out.flush()?;
    Ok(code(&fixed))
}

fn code(fixed: &Fix) -> u8 {
    let mut verdicts = fixed.study.exhibits.iter().map(|exhibit| exhibit.finding.verdict);
    let is_open = verdicts.any(|verdict| verdict == Verdict::InsufficientEvidence);
    match (fixed.patches.is_empty(), fixed.is_cut_short || is_open) {
        (false, _) => exit::SUCCESS,
        (true, false) => exit::FOUND,
        (true, true) => exit::UNDECIDED,
    }
}

fn for_people(fixed: &Fix, args: &FixArgs) -> String {
    let test = visible(&args.test);
    let mut text = Vec::new();
    let exhibit = fixed.study.exhibits.first();
    let verdict = exhibit.map_or("", |exhibit| exhibit.finding.verdict.slug());
    match fixed.patches.first() {
        Some(patch) => {
            let done = if args.apply { "Changed" } else { "Change" };
            text.push(format!("{test}: {verdict}\n{done}: {}\n", visible(&patch.proposal.title)));
            text.push(format!("  {}\n", checked(patch)));
            let safety = if patch.proposal.is_safe { "safe" } else { "a way round" };
            text.push(format!("  {safety}: {}\n", patch.proposal.why));
        }
        None if fixed.is_cut_short => {
            text.push(format!("{test}: {verdict}, and it ended before a change was found\n"));
        }
        None => text.push(format!("{test}: {verdict}, and no change was found that helps\n")),
    }
    for patch in fixed.patches.iter().skip(1) {
        text.push(format!("Also helps: {}\n", visible(&patch.proposal.title)));
    }
    for rejected in &fixed.rejected {
        let (title, why) = (visible(&rejected.title), visible(&rejected.why));
        text.push(format!("Does not help: {title}\n  {why}\n"));
    }
    if fixed.patches.is_empty() {
        let reasons = fixed.reasons.iter().map(|reason| format!("  {}\n", visible(reason)));
        text.extend(reasons);
    }
    text.concat()
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
        rejected: fixed
            .rejected
            .iter()
            .map(|rejected| RejectedRow { title: &rejected.title, why: &rejected.why })
            .collect(),
        reasons: &fixed.reasons,
    };
    json(&row)
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
