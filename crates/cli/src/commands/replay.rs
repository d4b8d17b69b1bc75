//! `unflake replay`.

use std::io::{self, Write as _};
use std::path::Path;

use unflake_adapter::Part;
use unflake_app::registry::adapter_of;
use unflake_app::replay::{By, ReplayError, ReplayRequest, replay};
use unflake_campaign::history::{History, PastCall, PastRun};
use unflake_engine::Interrupt;
use unflake_known::RunName;
use unflake_known::replay::Replay;
use unflake_report::replay::{json, text};

use crate::commands::history;
use crate::exit::{self, Failure};
use crate::opened::{Opened, Typed};
use crate::progress::{Goal, Line};
use crate::run_args::ReplayArgs;
use crate::running::{limits, not_run, stop_on_ctrl_c};
use crate::screen::Screen;

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
    let shown = if args.json { json(&replayed) } else { text(&replayed, screen.layout()) };
    let mut out = io::stdout().lock();
    out.write_all(shown.as_bytes())?;
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
    replay(request, part, &limits, &interrupt, &mut line).map_err(|error| failure(error, part))
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

fn failure(error: ReplayError, part: &dyn Part) -> Failure {
    match error {
        ReplayError::Campaign(error) => not_run(&error, part),
        ReplayError::Gone { .. } => Failure::NotRun {
            message: error.to_string(),
            hint: Some("check out the code as it was then".to_owned()),
        },
        ReplayError::NotPlain | ReplayError::Plain(_) => {
            Failure::NotRun { message: error.to_string(), hint: None }
        }
    }
}
