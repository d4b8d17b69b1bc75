//! For programs; the contract is `schemas/lint.json`.

use serde::Serialize;
use unflake_model::TestId;

use crate::command::Command;
use crate::dirt::Shown;
use crate::document::{Document, WarningRow};
use crate::json::{Runner, seconds};
use crate::schema;
use unflake_known::inspection::{Inspection, Leaver, Left, Standing};

/// The report, indented, with a line break at its end.
pub fn render(inspection: &Inspection, shown: Shown) -> String {
    Document::new(&schema::LINT, Command::Lint, InspectionRow::of(inspection, shown)).text()
}

#[derive(Serialize)]
struct InspectionRow<'a> {
    ended: &'static str,
    runner: Runner<'a>,
    command_line: &'a str,
    tests: usize,
    not_run: usize,
    failed: usize,
    dirty: usize,
    wall_seconds: f64,
    results: Vec<Row<'a>>,
    unseen: Vec<UnseenRow<'a>>,
    not_counted: NotCounted,
    unused: &'a [String],
    warnings: Vec<WarningRow>,
}

#[derive(Serialize)]
struct Row<'a> {
    test: &'a str,
    outcome: &'static str,
    dirty: bool,
    changes: Vec<ChangeRow<'a>>,
    more: u64,
}

#[derive(Serialize)]
struct ChangeRow<'a> {
    r#where: &'a str,
    kind: &'static str,
    before: Option<&'a str>,
    after: Option<&'a str>,
    by: Option<&'a str>,
    standing: &'static str,
    harmless: Option<&'static str>,
    allowed: Option<&'a str>,
    put_back_by: Option<&'a str>,
    left_by: Option<&'a str>,
}

#[derive(Serialize)]
struct UnseenRow<'a> {
    test: &'a str,
    outcome: &'static str,
}

#[derive(Serialize)]
struct NotCounted {
    harmless: u64,
    allowed: u64,
}

impl<'a> InspectionRow<'a> {
    fn of(inspection: &'a Inspection, shown: Shown) -> Self {
        let rows = inspection.tests.iter().map(|leaver| Row::of(leaver, shown));
        let origin = &inspection.origin;
        Self {
            ended: inspection.ended.slug(),
            runner: Runner { name: &origin.runner, version: &origin.runner_version },
            command_line: &origin.command,
            tests: inspection.n_tests,
            not_run: inspection.n_not_run,
            failed: inspection.n_failed,
            dirty: inspection.n_dirty(),
            wall_seconds: seconds(inspection.wall_time),
            results: rows.filter(|row| !row.changes.is_empty()).collect(),
            unseen: inspection
                .unseen
                .iter()
                .map(|it| UnseenRow { test: it.test.as_str(), outcome: it.outcome.as_str() })
                .collect(),
            not_counted: NotCounted {
                harmless: inspection.n_harmless().values().sum(),
                allowed: inspection.n_allowed(),
            },
            unused: &inspection.unused,
            warnings: WarningRow::all(&inspection.warnings),
        }
    }
}

impl<'a> Row<'a> {
    fn of(leaver: &'a Leaver, shown: Shown) -> Self {
        let places = leaver.places.iter().filter(|left| shown.covers(&left.standing));
        Self {
            test: leaver.test.as_str(),
            outcome: leaver.outcome.as_str(),
            dirty: leaver.is_dirty(),
            changes: places.map(ChangeRow::of).collect(),
            more: leaver.n_more,
        }
    }
}

impl<'a> ChangeRow<'a> {
    fn of(Left { state, by, standing }: &'a Left) -> Self {
        let (mut harmless, mut allowed, mut put_back_by, mut left_by) = (None, None, None, None);
        match standing {
            Standing::Dirt { put_back_by: test } => put_back_by = test.as_ref().map(TestId::as_str),
            Standing::PutsBack { left_by: test } => left_by = Some(test.as_str()),
            Standing::Harmless(why) => harmless = Some(why.slug()),
            Standing::Allowed { entry } => allowed = Some(entry.as_str()),
        }
        Self {
            r#where: &state.place,
            kind: state.kind.slug(),
            before: state.before.as_deref(),
            after: state.after.as_deref(),
            by: by.as_deref(),
            standing: standing.slug(),
            harmless,
            allowed,
            put_back_by,
            left_by,
        }
    }
}
