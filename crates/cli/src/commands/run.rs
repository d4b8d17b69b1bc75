//! `unflake run`.

use std::io::{self, Write as _};

use unflake_app::registry::{address, offer};
use unflake_app::run::{RunRequest, single};
use unflake_campaign::begin::Unfinished;
use unflake_engine::Interrupt;
use unflake_known::suite_run::{Sequence, SuiteRun};
use unflake_known::{Offer, Offered};
use unflake_model::Verdict;
use unflake_report::run::{json, text, view};
use unflake_report::{Layout, junit};

use crate::exit::{self, Failure};
use crate::opened::{Manner, Opened, Parts, Tracing, look_into};
use crate::progress::{Goal, Line};
use crate::run_args::{OrderArg, RunArgs, RunFormat};
use crate::running::{limits, not_run, stop_on_ctrl_c};
use crate::screen::Screen;
use crate::store_args::command_line;

/// Runs the tests once.
pub(crate) fn run(args: &RunArgs, screen: Screen) -> Result<u8, Failure> {
    let sequence = match args.order {
        OrderArg::Original => Sequence::Original,
        OrderArg::Reverse => Sequence::Reverse,
        OrderArg::Random => Sequence::Random,
    };
    let format = if args.json { RunFormat::Json } else { args.format };
    let keep = args.record.keep(Unfinished::Leave)?;
    let request = RunRequest { sequence, seed: args.seed, keep, command: command_line() };
    let interrupt = Interrupt::default();
    stop_on_ctrl_c(&interrupt);
    let typed = args.project.typed(&args.paths);
    let opened = Opened::find(typed, &interrupt)?;
    let limits = limits(opened.levels(args.isolation), args.project.timeout, 1);
    let manner = Manner { is_long: false, tracing: Tracing::No, interrupt: &interrupt };
    let ran = look_into(&opened.parts(), &manner, |part| {
        let mut line = Line::new(Goal::default(), screen);
        let ran = single(&request, part, &limits, &interrupt, &mut line);
        ran.map_err(|error| not_run(&error, part))
    })?;
    show(&ran, format, screen.layout())?;
    Ok(ran.code(code))
}

fn show(ran: &Parts<SuiteRun>, format: RunFormat, layout: Layout) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    let text = match format {
        RunFormat::Text => {
            ran.joined(|ran| text(ran, layout, &|verdict| next(verdict, &ran.origin.runner)))
        }
        RunFormat::Json => json(&ran.named()),
        RunFormat::Junit => {
            let views = ran.found.iter().map(|(name, ran)| (&**name, view(ran)));
            junit::write(&views.collect::<Vec<_>>(), &address, &mut out)?;
            String::new()
        }
    };
    out.write_all(text.as_bytes())?;
    out.flush()?;
    Ok(())
}

fn code(ran: &SuiteRun) -> u8 {
    match (ran.failing.is_empty(), ran.n_not_run) {
        (false, _) => exit::FOUND,
        (true, 0) => exit::SUCCESS,
        // Nothing failed, but not everything was run.
        (true, _) => exit::UNDECIDED,
    }
}

/// The command that goes on from what is known.
fn next(verdict: Option<Verdict>, runner: &str) -> &'static str {
    let Offer { fix, shake, .. } = offer(runner);
    let depends = |verdict| matches!(verdict, Verdict::OdVictim | Verdict::OdBrittle);
    if fix == Offered::Yes && verdict.is_some_and(depends) {
        "fix"
    } else if shake == Offered::Yes && verdict.is_some_and(Verdict::is_non_deterministic) {
        "shake"
    } else {
        "why"
    }
}
