//! `unflake doctor`.

use std::ffi::OsString;
use std::io::{self, Write as _};
use std::time::Duration;

use unflake_engine::Interrupt;
use unflake_known::Check;
use unflake_report::doctor::{json, text};

use crate::config::{self, Config};
use crate::exit::{self, Failure};
use crate::isolation::IsolationArg;
use crate::opened::Typed;
use crate::own_args::OwnArgs;
use crate::running::{here, limits, n_processors, stop_on_ctrl_c};
use crate::screen::Screen;
use crate::store_args::StoreArgs;

/// No test is run, so none can take long.
const TEST_TIMEOUT: Duration = Duration::from_mins(1);

/// Options of `unflake doctor`.
#[derive(Debug, clap::Args)]
pub(crate) struct DoctorArgs {
    /// Files, folders or tests, as the runner takes them [default: all]
    pub paths: Vec<OsString>,

    #[command(flatten)]
    pub own: OwnArgs,

    /// Keep runs apart: files, processes, network
    #[arg(long, value_name = "LEVEL", default_value = "all")]
    pub isolation: IsolationArg,

    #[command(flatten)]
    pub place: StoreArgs,

    /// Print for programs
    #[arg(long)]
    pub json: bool,

    /// Options for the runner, after `--`
    #[arg(last = true, value_name = "OPTIONS")]
    pub options: Vec<OsString>,
}

/// Looks at what there is, and says what is missing.
pub(crate) fn run(args: &DoctorArgs, screen: Screen) -> Result<u8, Failure> {
    let (checks, can_run) = look(args)?;
    let mut out = io::stdout().lock();
    let shown = if args.json { json(&checks, can_run) } else { text(&checks, screen.layout()) };
    out.write_all(shown.as_bytes())?;
    out.flush()?;
    Ok(if can_run { exit::SUCCESS } else { exit::NOT_RUN })
}

fn look(args: &DoctorArgs) -> Result<(Vec<Check>, bool), Failure> {
    let mut checks = vec![settings()?];
    let interrupt = Interrupt::default().lasting();
    stop_on_ctrl_c(&interrupt);
    let (own, paths, options) = (&args.own.0, &*args.paths, &*args.options);
    let typed = Typed { runner: None, own, paths, options, seed: None };
    let adapter = typed.adapter()?;
    let limits = limits(args.isolation.levels(adapter), TEST_TIMEOUT, 1);
    let examination = adapter.examine(&typed.opening(here()?, &interrupt), &limits);
    if interrupt.is_raised() {
        // Whatever was no longer looked at must not be reported as missing.
        return Err(Failure::Stopped("stopped before everything was looked at".to_owned()));
    }
    checks.extend(examination.checks);
    checks.extend(surroundings(&args.place));
    Ok((checks, examination.suite.is_some()))
}

/// What does not depend on the language.
fn surroundings(place: &StoreArgs) -> [Check; 2] {
    [history(place), Check::ok("processors", n_processors().to_string())]
}

fn settings() -> Result<Check, Failure> {
    Ok(match Config::of_project(&here()?)? {
        Some(config) => Check::ok("settings", config.file.display().to_string()),
        None => Check::ok("settings", format!("no {}, and none is needed", config::NAME)),
    })
}

fn history(place: &StoreArgs) -> Check {
    match place.file() {
        Ok(file) if file.exists() => Check::ok("history", file.display().to_string()),
        Ok(file) => Check::ok("history", format!("none yet; to be kept in {}", file.display())),
        Err(failure) => {
            let hint = failure.hint().unwrap_or_default().to_owned();
            Check::missing("history", failure.to_string(), hint)
        }
    }
}
