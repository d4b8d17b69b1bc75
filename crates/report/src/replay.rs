//! `unflake replay`: whether a run on record ended again as it did.

use serde::Serialize;
use unflake_known::replay::Replay;
use unflake_model::Repetition;

use crate::command::Command;
use crate::document::Document;
use crate::page::{Detail, Ink, Layout, Page};
use crate::schema;
use crate::visible::visible;
use crate::words::{is_script, plural};

/// Differences that people are told of; the rest is counted.
const SHOWN_MAX: usize = 20;

/// A command that names more tests is of no use to a person.
const COMMAND_BYTES_MAX: usize = 4000;

/// For people.
pub fn text(replay: &Replay, layout: Layout) -> String {
    let tests = plural(replay.n_tests as u64, "test", "tests");
    let often = match replay.repetition {
        Repetition::Once => "",
        Repetition::Twice => ", each twice in a row",
        Repetition::Between { .. } => ", one of them again in between",
        Repetition::Apart { .. } => ", each apart from the others",
    };
    let mut page = Page::new(layout);
    page.prose_in(Ink::Heading, &format!("Run {}: {tests}{often}", replay.name));
    page.prose(&match (replay.n_as_recorded(), replay.tries) {
        (1, 1) => "Ended as on record.".to_owned(),
        (0, 1) => "Ended differently than on record.".to_owned(),
        (same, tries) => format!("Ended as on record {same} of {tries} times."),
    });
    if replay.tries < replay.tries_asked {
        page.prose(&format!("Stopped after {} of {} tries.", replay.tries, replay.tries_asked));
    }
    for difference in replay.differences.iter().take(SHOWN_MAX) {
        let (now, then) = (difference.now.as_str(), difference.recorded.as_str());
        let test = visible(difference.test.as_str());
        let which = match replay.tries_asked {
            1 => String::new(),
            _ => format!("try {}: ", difference.try_number + 1),
        };
        let what = format!("  {which}{now} instead of {then}  ");
        page.line_with_id((Ink::Plain, &what), (Ink::Plain, &test));
        let message = difference.message.lines().next().unwrap_or_default();
        page.row("", &visible(message));
    }
    if SHOWN_MAX < replay.differences.len() {
        page.prose(&format!("and {} more", replay.differences.len() - SHOWN_MAX));
    }
    let command = replay.command.as_ref().filter(|_| layout.detail != Detail::Brief);
    match command {
        Some(command) if is_readable(command) || layout.detail == Detail::Full => {
            page.blank();
            page.prose("With your own runner:");
            page.line(&[(Ink::Plain, "  "), (Ink::Command, &visible(command))]);
        }
        Some(_) => {
            page.blank();
            page.prose("The command for your own runner is long; -v shows it.");
        }
        None => (),
    }
    page.finish()
}

/// Whether a person would read it: neither a program in itself nor a list without end.
fn is_readable(command: &str) -> bool {
    command.len() <= COMMAND_BYTES_MAX && !is_script(command)
}

/// For programs.
pub fn json(replay: &Replay) -> String {
    let differences = replay.differences.iter().map(|difference| DifferenceRow {
        r#try: difference.try_number,
        test: difference.test.as_str(),
        recorded: difference.recorded.as_str(),
        now: difference.now.as_str(),
        message: &difference.message,
    });
    let row = ReplayRow {
        run: replay.name.to_string(),
        tests: replay.n_tests,
        tries: replay.tries,
        tries_asked: replay.tries_asked,
        as_recorded: replay.n_as_recorded(),
        differences: differences.collect(),
        plain_command: replay.command.as_deref(),
    };
    Document::new(&schema::REPLAY, Command::Replay, row).text()
}

#[derive(Serialize)]
struct ReplayRow<'a> {
    run: String,
    tests: usize,
    tries: u32,
    tries_asked: u32,
    as_recorded: u32,
    differences: Vec<DifferenceRow<'a>>,
    plain_command: Option<&'a str>,
}

#[derive(Serialize)]
struct DifferenceRow<'a> {
    r#try: u32,
    test: &'a str,
    recorded: &'static str,
    now: &'static str,
    message: &'a str,
}
