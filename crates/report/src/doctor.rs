//! `unflake doctor`: what there is to run the tests with, and what is missing.

use serde::Serialize;
use unflake_known::Check;

use crate::command::Command;
use crate::document::Document;
use crate::page::{Layout, Page};
use crate::schema;
use crate::visible::visible;

/// For people.
pub fn text(checks: &[Check], layout: Layout) -> String {
    let mut page = Page::new(layout);
    for check in checks {
        let state = if check.missing.is_none() { "ok" } else { "missing" };
        let mut told: Vec<String> = check.found.lines().map(|it| visible(it).into()).collect();
        told.extend(check.missing.as_ref().map(|hint| format!("hint: {}", visible(hint))));
        page.behind(&format!("{state:<7}  {:<11}  ", check.what), &told.join("\n"));
    }
    page.finish()
}

/// For programs.
pub fn json(checks: &[Check], can_run: bool) -> String {
    let report = ChecksRow { can_run, checks: checks.iter().map(Row::of).collect() };
    Document::new(&schema::DOCTOR, Command::Doctor, report).text()
}

#[derive(Serialize)]
struct ChecksRow<'a> {
    can_run: bool,
    checks: Vec<Row<'a>>,
}

#[derive(Serialize)]
struct Row<'a> {
    what: &'a str,
    ok: bool,
    found: &'a str,
    hint: Option<&'a str>,
}

impl<'a> Row<'a> {
    fn of(check: &'a Check) -> Self {
        Self {
            what: check.what,
            ok: check.missing.is_none(),
            found: &check.found,
            hint: check.missing.as_deref(),
        }
    }
}
