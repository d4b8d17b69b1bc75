//! `unflake doctor`.

use std::ffi::OsString;
use std::io::{self, Write as _};
use std::time::Duration;

use serde::Serialize;
use unflake_adapter::Check;
use unflake_engine::Interrupt;
use unflake_report::{Layout, Page, visible};

use crate::config::{self, Config};
use crate::exit::{self, Failure};
use crate::opened::Typed;
use crate::own_args::OwnArgs;
use crate::printer::json;
use crate::running::{here, levels, limits, n_processors, stop_on_ctrl_c};
use crate::screen::Screen;
use crate::store_args::StoreArgs;
use crate::study_args::IsolationArg;

/// The version of what programs are told.
const SCHEMA_VERSION: u32 = 1;

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
    let text = if args.json {
        for_programs(&checks, can_run)
    } else {
        for_people(&checks, screen.layout())
    };
    out.write_all(text.as_bytes())?;
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
    let possible = adapter.abilities().isolation;
    let levels = levels(args.isolation).into_iter().filter(|level| possible.contains(level));
    let limits = limits(levels.collect(), TEST_TIMEOUT, 1);
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

fn for_people(checks: &[Check], layout: Layout) -> String {
    let mut page = Page::new(layout);
    for check in checks {
        let state = if check.missing.is_none() { "ok" } else { "missing" };
        let mut told: Vec<String> = check.found.lines().map(|it| visible(it).into()).collect();
        told.extend(check.missing.as_ref().map(|hint| format!("hint: {}", visible(hint))));
        page.behind(&format!("{state:<7}  {:<11}  ", check.what), &told.join("\n"));
    }
    page.finish()
}

#[derive(Serialize)]
struct Report<'a> {
    schema: u32,
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

fn for_programs(checks: &[Check], can_run: bool) -> String {
    let rows = checks.iter().map(|check| Row {
        what: check.what,
        ok: check.missing.is_none(),
        found: &check.found,
        hint: check.missing.as_deref(),
    });
    json(&Report { schema: SCHEMA_VERSION, can_run, checks: rows.collect() })
}
