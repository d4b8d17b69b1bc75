//! `unflake trace`.

use std::ffi::OsString;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use unflake_app::adapter::Adapter;
use unflake_app::history::{History, HistoryError};
use unflake_app::java::JavaModule;
use unflake_app::trace::{Traced, labelled, trace};
use unflake_engine::Interrupt;
use unflake_report::exposed::Exposed;
use unflake_report::{Layout, exposed};

use crate::commands::study::{WIDTH, colour};
use crate::exit::{self, Failure};
use crate::functions_file::functions;
use crate::java::{self, Built};
use crate::progress::{Goal, Line};
use crate::running::{here, levels, limits, not_run, project, stop_on_ctrl_c};
use crate::store_args::{StoreArgs, command_line};
use crate::study_args::{IsolationArg, span};

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

    /// The Python of the project [default: from `VIRTUAL_ENV`, `.venv`, `venv`, else `python3`]
    #[arg(long, value_name = "PROGRAM")]
    pub python: Option<OsString>,

    /// How long one test may take before it is stopped
    #[arg(long, value_name = "SPAN", default_value = "60s", value_parser = span)]
    pub timeout: Duration,

    /// Keep the run apart: files, processes, network
    #[arg(long, value_name = "LEVEL", default_value = "all")]
    pub isolation: IsolationArg,

    /// For programs
    #[arg(long)]
    pub json: bool,

    /// Options for the runner, after `--`
    #[arg(last = true, value_name = "OPTIONS")]
    pub options: Vec<OsString>,
}

/// Lists the tests that call what can come out otherwise.
pub(crate) fn run(args: &TraceArgs) -> Result<u8, Failure> {
    let set = functions(args.functions.as_deref())?;
    let folder = here()?;
    let interrupt = Interrupt::default();
    stop_on_ctrl_c(&interrupt);
    let go = |project: &dyn Adapter, levels| {
        let limits = limits(levels, args.timeout, 1);
        let mut line = Line::new(Goal::default());
        let traced = trace(project, &limits, &interrupt, &mut line);
        line.clear();
        traced.map_err(|error| not_run(&error))
    };
    let mut found: Vec<(String, Traced)> = Vec::new();
    if java::is_meant(&folder, args.python.as_deref()) {
        java::refuse_paths(&args.paths)?;
        let Built { project, modules, .. } =
            java::build(folder.clone(), args.options.clone(), &interrupt)?;
        let tracing = Some(&java::tracing(&project, &interrupt)?);
        for prepared in &modules {
            let module = JavaModule { project: &project, prepared, nondex: None, tracing };
            found.push((prepared.module.name.clone(), go(&module, Vec::new())?));
        }
    } else {
        let (python, paths) = (args.python.clone(), args.paths.clone());
        let project = project(folder.clone(), python, paths, args.options.clone())?;
        found.push((String::new(), go(&project, levels(args.isolation))?));
    }
    if let Some(file) = &args.write {
        write(&found, args, &folder, file)?;
    }
    let command = command_line();
    let exposed = found.iter().map(|(name, it)| (&**name, it.exposed(&set, &command)));
    show(&exposed.collect::<Vec<_>>(), args.json)?;
    let is_interrupted = found.iter().any(|(_, traced)| traced.is_interrupted);
    Ok(if is_interrupted { exit::UNDECIDED } else { exit::SUCCESS })
}

fn show(modules: &[(&str, Exposed)], is_json: bool) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    let layout = Layout { width: WIDTH, colour: colour(&out) };
    let shown = |it: &Exposed| if is_json { exposed::json(it) } else { exposed::text(it, layout) };
    let parts = modules.iter().map(|(name, it)| (*name, shown(it))).collect();
    out.write_all(java::joined(parts, is_json).as_bytes())?;
    out.flush()?;
    Ok(())
}

fn write(
    found: &[(String, Traced)],
    args: &TraceArgs,
    folder: &Path,
    file: &Path,
) -> Result<(), Failure> {
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
