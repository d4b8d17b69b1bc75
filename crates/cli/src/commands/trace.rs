//! `unflake trace`.

use std::ffi::OsString;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use unflake_app::trace::{labelled, trace};
use unflake_campaign::history::{History, HistoryError};
use unflake_campaign::trace::Traced;
use unflake_engine::Interrupt;
use unflake_report::exposed;

use crate::exit::{self, Failure};
use crate::functions_file::functions;
use crate::isolation::IsolationArg;
use crate::opened::{Manner, Opened, Tracing, look_into};
use crate::progress::{Goal, Line};
use crate::project_args::ProjectArgs;
use crate::running::{here, limits, not_run, stop_on_ctrl_c};
use crate::screen::Screen;
use crate::store_args::{StoreArgs, command_line};

const TRACE_HELP: &str = "\
Examples:
  unflake trace
      the tests that call a clock, a generator, a socket, a file, a thread: each with its functions
  unflake trace --functions functions.toml --json
      by the functions of a file, every test, for a program
  unflake trace --write shop.jsonl
      what each test calls, and whether it is known to be flaky, for `unflake learn`";

/// Options of `unflake trace`.
#[derive(Debug, clap::Args)]
#[command(after_help = TRACE_HELP)]
pub(crate) struct TraceArgs {
    /// Files, folders or tests to trace, as the runner takes them [default: all]
    pub paths: Vec<OsString>,

    /// The functions that matter, as `unflake learn` writes them [default: those
    /// known for Python and Java]
    #[arg(long, value_name = "FILE")]
    pub functions: Option<PathBuf>,

    /// Write what each test calls to this file, with what the history knows about the test
    #[arg(long, value_name = "FILE")]
    pub write: Option<PathBuf>,

    /// The name of the project in that file [default: that of its folder]
    #[arg(long, value_name = "NAME", requires = "write")]
    pub name: Option<String>,

    #[command(flatten)]
    pub store: StoreArgs,

    #[command(flatten)]
    pub project: ProjectArgs,

    /// Keep the run apart: files, processes, network
    #[arg(long, value_name = "LEVEL", default_value = "all")]
    pub isolation: IsolationArg,

    /// For programs
    #[arg(long)]
    pub json: bool,
}

/// Lists the tests that call what can come out otherwise.
pub(crate) fn run(args: &TraceArgs, screen: Screen) -> Result<u8, Failure> {
    let set = functions(args.functions.as_deref())?;
    let interrupt = Interrupt::default();
    stop_on_ctrl_c(&interrupt);
    let typed = args.project.typed(&args.paths);
    let opened = Opened::find(typed, &interrupt)?;
    let limits = limits(opened.levels(args.isolation), args.project.timeout, 1);
    let manner = Manner { is_long: false, tracing: Tracing::Must, interrupt: &interrupt };
    let found = look_into(&opened.parts(), &manner, |part| {
        let mut line = Line::new(Goal::default(), screen);
        let traced = trace(part, &set, &limits, &interrupt, &mut line);
        traced.map_err(|error| not_run(&error, part))
    })?;
    if let Some(file) = &args.write {
        write(&found.found, args, file)?;
    }
    let mut out = io::stdout().lock();
    let layout = screen.layout();
    let command = command_line();
    let shown = if args.json {
        let named = found.named();
        let exposed = named.iter().map(|(name, it)| (*name, it.exposed(&set, &command)));
        exposed::json(&exposed.collect::<Vec<_>>())
    } else {
        found.joined(|traced| exposed::text(&traced.exposed(&set, &command), layout))
    };
    out.write_all(shown.as_bytes())?;
    out.flush()?;
    Ok(found.code(|traced| if traced.is_interrupted { exit::UNDECIDED } else { exit::SUCCESS }))
}

fn write(found: &[(String, Traced)], args: &TraceArgs, file: &Path) -> Result<(), Failure> {
    let folder = here()?;
    let named = || folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let name = args.name.clone().unwrap_or_else(named);
    let history = match History::open(&args.store.file()?) {
        Ok(history) => Some(history),
        // Then nothing is known about any test, which can be written, too.
        Err(HistoryError::None { .. }) => None,
        Err(error) => return Err(no_history(&error)),
    };
    let mut text = String::new();
    for (_, traced) in found {
        let lines = labelled(traced, &name, history.as_ref());
        for line in lines.map_err(|error| no_history(&error))? {
            text += &serde_json::to_string(&line).expect("strings and finite numbers only");
            text.push('\n');
        }
    }
    fs::write(file, text)?;
    Ok(())
}

fn no_history(error: &HistoryError) -> Failure {
    Failure::Input { message: error.to_string(), hint: error.hint() }
}
