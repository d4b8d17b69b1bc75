//! `unflake replay`.

use std::io::{self, Write as _};
use std::path::Path;

use serde::Serialize;
use unflake_adapter::Part;
use unflake_app::registry::adapter_of;
use unflake_app::replay::{By, Replay, ReplayError, ReplayRequest, replay};
use unflake_campaign::history::{History, PastCall, PastRun, RunName};
use unflake_engine::Interrupt;
use unflake_model::Repetition;
use unflake_report::{Detail, Ink, Layout, Page, is_script, plural, visible};

use crate::commands::history;
use crate::exit::{self, Failure};
use crate::opened::{Opened, Typed};
use crate::printer::json;
use crate::progress::{Goal, Line};
use crate::run_args::ReplayArgs;
use crate::running::{limits, not_run, stop_on_ctrl_c};
use crate::screen::Screen;

/// The version of what programs are told.
const SCHEMA_VERSION: u32 = 1;

/// Differences that people are told of; the rest is counted.
const SHOWN_MAX: usize = 20;

/// A command that names more tests is of no use to a person.
const COMMAND_BYTES_MAX: usize = 4000;

/// Runs it again.
pub(crate) fn run(args: &ReplayArgs, screen: Screen) -> Result<u8, Failure> {
    if args.times == 0 {
        return Err(Failure::input("--times: `0` times is never", "give 1 or more"));
    }
    let name: RunName = args.run.parse().map_err(|error| {
        Failure::input(format!("{error}"), "`unflake history` lists campaigns, reports name runs")
    })?;
    let opened = History::open(&args.place.file()?).and_then(|history| history.run(&name));
    let past = opened.map_err(|error| history::failure(&error))?;
    let replayed = again(&past, args, screen)?;
    let text =
        if args.json { for_programs(&replayed) } else { for_people(&replayed, screen.layout()) };
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()?;
    Ok(code(&replayed))
}

fn code(replay: &Replay) -> u8 {
    match (replay.differences.is_empty(), replay.tries == replay.tries_asked) {
        (false, _) => exit::FOUND,
        (true, true) => exit::SUCCESS,
        (true, false) => exit::UNDECIDED,
    }
}

fn again(past: &PastRun, args: &ReplayArgs, screen: Screen) -> Result<Replay, Failure> {
    let call = past.call().ok_or_else(|| Failure::Input {
        message: format!("the record of run {} does not say how it was called", past.name),
        hint: None,
    })?;
    let PastCall { call, levels, test_timeout } = call;
    let limits = limits(levels, test_timeout, 1);
    let by = if args.plain { By::PlainRunner } else { By::Agent };
    let interrupt = Interrupt::default();
    stop_on_ctrl_c(&interrupt);
    let own = &args.own.0;
    let typed = Typed { runner: None, own, paths: &[], options: &[], seed: None };
    let adapter = adapter_of(&past.campaign.runner).map_or_else(|| typed.adapter(), Ok)?;
    let opened = Opened::again(adapter, &call, typed, &interrupt)?;
    let part = part_of(past, &call.folder, &opened)?;
    let pinned = past.pinned(part);
    let request = ReplayRequest { run: past, by, tries: args.times };
    let mut line = Line::new(Goal::default(), screen);
    let part = pinned.as_deref().unwrap_or(part);
    replay(request, part, &limits, &interrupt, &mut line).map_err(failure)
}

/// The part that a run was made in.
fn part_of<'o>(past: &PastRun, folder: &Path, opened: &'o Opened) -> Result<&'o dyn Part, Failure> {
    let first = past.experiment.order.tests().first().map(|test| past.suite.id(*test).as_str());
    let has_it = |part: &&dyn Part| {
        let has_first = |ids: Vec<&str>| first.is_none_or(|first| ids.contains(&first));
        part.call().folder == folder && part.ids().is_none_or(has_first)
    };
    opened.parts().into_iter().find(has_it).ok_or_else(|| Failure::NotRun {
        message: format!("the tests of run {} in `{}` are not there", past.name, folder.display()),
        hint: Some("call it where the campaign was called".to_owned()),
    })
}

fn failure(error: ReplayError) -> Failure {
    match error {
        ReplayError::Study(error) => not_run(&error),
        ReplayError::Gone { .. } => Failure::NotRun {
            message: error.to_string(),
            hint: Some("check out the code as it was then".to_owned()),
        },
        ReplayError::NotPlain | ReplayError::Plain(_) => {
            Failure::NotRun { message: error.to_string(), hint: None }
        }
    }
}

fn for_people(replay: &Replay, layout: Layout) -> String {
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
        (0, 1) => "Ended otherwise than on record.".to_owned(),
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

#[derive(Serialize)]
struct ReplayRow<'a> {
    schema: u32,
    run: String,
    tests: usize,
    tries: u32,
    tries_asked: u32,
    as_recorded: u32,
    differences: Vec<DifferenceRow<'a>>,
    command: Option<&'a str>,
}

#[derive(Serialize)]
struct DifferenceRow<'a> {
    r#try: u32,
    test: &'a str,
    recorded: &'static str,
    now: &'static str,
    message: &'a str,
}

fn for_programs(replay: &Replay) -> String {
    let differences = replay.differences.iter().map(|difference| DifferenceRow {
        r#try: difference.try_number,
        test: difference.test.as_str(),
        recorded: difference.recorded.as_str(),
        now: difference.now.as_str(),
        message: &difference.message,
    });
    let row = ReplayRow {
        schema: SCHEMA_VERSION,
        run: replay.name.to_string(),
        tests: replay.n_tests,
        tries: replay.tries,
        tries_asked: replay.tries_asked,
        as_recorded: replay.n_as_recorded(),
        differences: differences.collect(),
        command: replay.command.as_deref(),
    };
    json(&row)
}
