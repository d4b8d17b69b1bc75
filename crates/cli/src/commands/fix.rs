//! `unflake fix`.
//!
//! The change goes to standard output, for `git apply`; what there is to say about it, to standard
//! error.

use std::io::{self, Write as _};

use unflake_adapter::with_causes;
use unflake_app::fix::{FixError, FixRequest, apply, fix};
use unflake_known::fix::Fix;
use unflake_model::Verdict;
use unflake_report::fix::{json, text};

use crate::commands::detect::{Task, goal};
use crate::exit::{self, Failure};
use crate::progress::Line;
use crate::running::not_run;
use crate::screen::Screen;
use crate::search_args::FixArgs;

/// Looks for a change, and prints or makes it.
pub(crate) fn run(args: &FixArgs, screen: Screen) -> Result<u8, Failure> {
    let hint = "`unflake why` says on what the test depends";
    args.look.typed(&[]).require(|it| it.mends, "`fix` changes test files", hint)?;
    let task = Task::about(&args.look, &args.test)?;
    let part = task.part()?;
    let goal = goal(&task.request);
    let request = FixRequest { findings: &task.request, all: args.all };
    let mut line = Line::new(goal, screen);
    let fixed = fix(request, part, &task.limits, &task.interrupt, &mut line);
    drop(line);
    let fixed = fixed.map_err(|error| match error {
        FixError::Campaign(error) => not_run(&error, part),
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
        out.write_all(json(&fixed, args.apply).as_bytes())?;
    } else {
        exit::note(&text(&fixed, &args.test, args.apply, screen.notes()));
        let patch = best.filter(|_| !args.apply);
        out.write_all(patch.map_or("", |patch| &patch.proposal.diff).as_bytes())?;
    }
    out.flush()?;
    Ok(code(&fixed))
}

fn code(fixed: &Fix) -> u8 {
    let mut verdicts = fixed.findings.exhibits.iter().map(|exhibit| exhibit.finding.verdict);
    let is_open = verdicts.any(|verdict| verdict == Verdict::InsufficientEvidence);
    let is_open = is_open || fixed.is_cut_short || !fixed.not_tried.is_empty();
    match (fixed.patches.is_empty(), is_open) {
        (false, _) => exit::SUCCESS,
        (true, false) => exit::FOUND,
        (true, true) => exit::UNDECIDED,
    }
}
