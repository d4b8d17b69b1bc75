//! `unflake detect` and `unflake why`.

use std::ffi::OsString;
use std::io::{self, IsTerminal, Write as _};

use unflake_app::study::{Question, Request, study};
use unflake_detect::explain::Depth;
use unflake_engine::Interrupt;
use unflake_model::{Budget, Confidence, Verdict};
use unflake_pytest::{Limits, Project};
use unflake_report::{Colour, Layout, Study, json, junit, markdown, table, terminal, why};
use unflake_stats::plan::runs_needed;
use unflake_stats::rate::Rate;

use crate::exit::{self, Failure};
use crate::progress::{Goal, Line};
use crate::running::{here, levels, limits, n_processors, not_run, project, stop_on_ctrl_c};
use crate::store_args::command_line;
use crate::study_args::{DepthArg, DetectArgs, LookArgs, StudyArgs, StudyFormat, WhyArgs};

/// Prose is wrapped at this width where the terminal does not say.
pub(crate) const WIDTH: usize = 100;

pub(crate) fn detect(args: &DetectArgs) -> Result<u8, Failure> {
    let flake_rate = Rate::new(args.flake_rate)
        .map_err(|error| Failure::input(format!("--flake-rate: {error}"), "try 0.05"))?;
    let look = &args.study.look;
    let task = Task::new(look, args.paths.clone(), Question::Suite, flake_rate)?;
    run(&task, &args.study, Shape::Suite)
}

pub(crate) fn why(args: &WhyArgs) -> Result<u8, Failure> {
    let task = Task::about(&args.study.look, &args.test)?;
    run(&task, &args.study, Shape::Test)
}

fn run(task: &Task, args: &StudyArgs, shape: Shape) -> Result<u8, Failure> {
    let mut line = Line::new(goal(&task.request, &args.look));
    let studied = study(&task.request, &task.project, &task.limits, &task.interrupt, &mut line);
    line.clear();
    let found = studied.map_err(|error| not_run(&error))?;
    show(&found, if args.json { StudyFormat::Json } else { args.format }, shape)?;
    Ok(code(&found))
}

/// Everything that looking into tests needs.
pub(crate) struct Task {
    pub(crate) request: Request,
    pub(crate) project: Project,
    pub(crate) limits: Limits,
    pub(crate) interrupt: Interrupt,
}

impl Task {
    /// From what was typed. Ctrl-C interrupts it from now on.
    pub(crate) fn new(
        args: &LookArgs,
        paths: Vec<OsString>,
        question: Question,
        flake_rate_min: Rate,
    ) -> Result<Self, Failure> {
        let confidence = Confidence::new(args.confidence)
            .map_err(|error| Failure::input(format!("--confidence: {error}"), "try 0.95"))?;
        let jobs = args.jobs.unwrap_or_else(n_processors);
        if jobs == 0 {
            return Err(Failure::input("--jobs: `0` runs at once is none", "give 1 or more"));
        }
        let request = Request {
            question,
            depth: depth(args.depth),
            budget: budget(args, jobs, confidence)?,
            flake_rate_min,
            seed: args.seed,
            wall_max: args.time.map(|time| time + time / 10),
            keep: args.keep.keep()?,
            command: command_line(),
        };
        let project = project(here()?, args.python.clone(), paths, args.options.clone())?;
        let limits = limits(levels(args.isolation), args.timeout, jobs);
        let interrupt = Interrupt::default();
        stop_on_ctrl_c(&interrupt);
        Ok(Self { request, project, limits, interrupt })
    }

    /// About one test.
    pub(crate) fn about(args: &LookArgs, test: &str) -> Result<Self, Failure> {
        let id = test.parse().map_err(|error| {
            Failure::input(format!("{error}"), "give a test as your runner spells it")
        })?;
        let all = Rate::new(1.0).expect("a rate");
        Self::new(args, Vec::new(), Question::Test(id), all)
    }
}

fn budget(args: &LookArgs, jobs: usize, confidence: Confidence) -> Result<Budget, Failure> {
    let bad = |option: &str| {
        let option = option.to_owned();
        move |error| Failure::input(format!("{option}: {error}"), "leave it out for no limit")
    };
    let mut budget = Budget::unlimited(confidence);
    if let Some(runs) = args.runs {
        budget = budget.with_runs(runs).map_err(bad("--runs"))?;
    }
    if let Some(time) = args.time {
        let workers = u32::try_from(jobs).unwrap_or(u32::MAX);
        budget = budget.with_time(time * workers).map_err(bad("--time"))?;
    }
    Ok(budget)
}

/// Of one test it cannot be foreseen how much there is to find out.
pub(crate) fn goal(request: &Request, args: &LookArgs) -> Goal {
    let confidence = request.budget.confidence();
    let is_suite = matches!(request.question, Question::Suite);
    let orders = runs_needed(request.flake_rate_min, confidence).filter(|_| is_suite);
    Goal { orders, confidence: Some(confidence).filter(|_| is_suite), time: args.time }
}

fn depth(depth: DepthArg) -> Depth {
    match depth {
        DepthArg::Kind => Depth::Kind,
        DepthArg::Roles => Depth::Roles,
        DepthArg::Exhaustive => Depth::Exhaustive,
    }
}

/// What a study is about, which decides how people are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// All tests.
    Suite,
    /// One.
    Test,
}

impl Shape {
    /// Of a study that is on record: one that looked at whole orders looked at all tests.
    pub(crate) fn of(study: &Study) -> Self {
        let is_one = study.exhibits.len() == 1 && study.n_orders == 0;
        if is_one { Self::Test } else { Self::Suite }
    }
}

/// Prints what was found.
pub(crate) fn show(study: &Study, format: StudyFormat, shape: Shape) -> Result<(), Failure> {
    let view = study.view();
    let mut out = io::stdout().lock();
    let layout = Layout { width: WIDTH, colour: colour(&out) };
    match format {
        StudyFormat::Text if shape == Shape::Test => {
            for exhibit in view.exhibits {
                out.write_all(why::render(&view, exhibit, layout).as_bytes())?;
            }
        }
        StudyFormat::Text => out.write_all(terminal::render(&view, layout).as_bytes())?,
        StudyFormat::Table => out.write_all(table::render(&view).as_bytes())?,
        StudyFormat::Json => out.write_all(json::render(&view).as_bytes())?,
        StudyFormat::Markdown => out.write_all(markdown::render(&view).as_bytes())?,
        StudyFormat::Junit => junit::write(&view, &mut out)?,
    }
    out.flush()?;
    Ok(())
}

/// Whether whoever reads this wants colours.
pub(crate) fn colour(out: &impl IsTerminal) -> Colour {
    let is_wanted = out.is_terminal() && std::env::var_os("NO_COLOR").is_none();
    if is_wanted { Colour::On } else { Colour::Off }
}

fn code(study: &Study) -> u8 {
    let verdicts = || study.exhibits.iter().map(|exhibit| exhibit.finding.verdict);
    let is_flaky = |verdict: Verdict| {
        verdict != Verdict::NotFlaky
            && verdict != Verdict::AlwaysFailing
            && verdict != Verdict::InsufficientEvidence
    };
    if verdicts().any(is_flaky) {
        exit::FOUND
    } else if study.ended != unflake_report::Ended::Confident
        || verdicts().any(|verdict| verdict == Verdict::InsufficientEvidence)
    {
        exit::UNDECIDED
    } else {
        exit::SUCCESS
    }
}
