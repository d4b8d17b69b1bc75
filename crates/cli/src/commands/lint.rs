//! `unflake lint`.

use std::ffi::OsString;
use std::io::{self, Write as _};

use clap::ValueEnum;
use unflake_app::lint::{LintRequest, lint};
use unflake_campaign::dirt::Scope;
use unflake_campaign::dirt::allow::AllowList;
use unflake_engine::Interrupt;
use unflake_known::inspection::Inspection;
use unflake_report::dirt::{Shown, json, markdown, text};

use crate::exit::{self, Failure};
use crate::isolation::IsolationArg;
use crate::opened::{Manner, Opened, Parts, Tracing, look_into};
use crate::progress::{Goal, Line};
use crate::project_args::ProjectArgs;
use crate::running::{limits, not_run, stop_on_ctrl_c};
use crate::screen::Screen;
use crate::store_args::command_line;

const ALLOW_HELP: &str = "\
What is meant to stay (--allow, or `[lint] allow` in unflake.toml):
  shop.cache.*                        places, as they are listed; * is any text, ? one character
  kind:logging                        a kind of state
  tests/test_a.py::*: os.environ['X'] either, for some tests only";

/// Options of `unflake lint`.
#[derive(Debug, clap::Args)]
#[command(after_help = ALLOW_HELP)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch that can be typed")]
pub(crate) struct LintArgs {
    /// Files, folders or tests to look at, as the runner takes them [default: all]
    pub paths: Vec<OsString>,

    /// Run the tests once, and look at what each leaves behind; there is no other way yet
    #[arg(long)]
    pub dynamic: bool,

    /// List also what is not counted as dirt, and why
    #[arg(long)]
    pub all: bool,

    /// Something that is meant to be left behind; instead of what the project allows
    #[arg(long, value_name = "ENTRY")]
    pub allow: Vec<String>,

    /// Watch installed packages, too
    #[arg(long)]
    pub third_party: bool,

    #[command(flatten)]
    pub project: ProjectArgs,

    /// Keep the run apart: files, processes, network; files are watched only so
    #[arg(long, value_name = "LEVEL", default_value = "all")]
    pub isolation: IsolationArg,

    /// What to print
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub format: LintFormat,

    /// Short for --format json
    #[arg(long, conflicts_with = "format")]
    pub json: bool,
}

/// What `lint` prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LintFormat {
    /// For people
    Text,
    /// One line for each change
    Table,
    /// For programs
    Json,
    /// For a pull request
    Markdown,
}

/// Lists the tests that leave something behind.
pub(crate) fn run(args: &LintArgs, screen: Screen) -> Result<u8, Failure> {
    if !args.dynamic {
        return Err(Failure::input(
            "tests cannot be looked at without running them yet",
            "say `unflake lint --dynamic`, which runs them once and watches what they leave behind",
        ));
    }
    let hint = "`unflake detect` finds the tests that stumble over what others leave behind";
    let typed = args.project.typed(&args.paths);
    typed.require(|it| it.lints, "`lint` watches what tests leave behind", hint)?;
    let request = LintRequest {
        allow: AllowList::new(&args.allow),
        scope: if args.third_party { Scope::ThirdParty } else { Scope::Project },
        is_whole_suite: args.paths.is_empty() && args.project.options.is_empty(),
        command: command_line(),
    };
    let interrupt = Interrupt::default();
    stop_on_ctrl_c(&interrupt);
    let opened = Opened::find(typed, &interrupt)?;
    let limits = limits(opened.levels(args.isolation), args.project.timeout, 1);
    let manner = Manner { is_long: false, tracing: Tracing::No, interrupt: &interrupt };
    let found = look_into(&opened.parts(), &manner, |part| {
        let mut line = Line::new(Goal::default(), screen);
        lint(&request, part, &limits, &interrupt, &mut line).map_err(|error| not_run(&error, part))
    })?;
    show(&found, args, screen)?;
    Ok(found.code(code))
}

fn show(found: &Parts<Inspection>, args: &LintArgs, screen: Screen) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    let layout = screen.layout();
    let shown = if args.all { Shown::All } else { Shown::Dirt };
    let format = if args.json { LintFormat::Json } else { args.format };
    let report = found.joined(|inspection| match format {
        LintFormat::Text => text::render(inspection, shown, layout),
        LintFormat::Table => text::table(inspection, shown),
        LintFormat::Json => json::render(inspection, shown),
        LintFormat::Markdown => markdown::render(inspection, shown),
    });
    out.write_all(report.as_bytes())?;
    out.flush()?;
    Ok(())
}

fn code(inspection: &Inspection) -> u8 {
    match (inspection.n_dirty(), inspection.n_not_run) {
        (0, 0) => exit::SUCCESS,
        // No dirt, but not everything was looked at.
        (0, _) => exit::UNDECIDED,
        _ => exit::FOUND,
    }
}
