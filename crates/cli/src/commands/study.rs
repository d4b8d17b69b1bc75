//! `unflake detect` and `unflake why`.

use std::ffi::OsString;
use std::io::{self, IsTerminal, Write as _};
use std::time::Duration;

use unflake_app::adapter::Adapter;
use unflake_app::java::JavaModule;
use unflake_app::study::{Question, Request, study};
use unflake_detect::explain::Depth;
use unflake_detect::idflakies::Configuration;
use unflake_detect::reruns::schedule::Terms;
use unflake_engine::{Interrupt, Limits};
use unflake_junit::{Prepared, Tracing};
use unflake_model::{Budget, Confidence, Verdict};
use unflake_pytest::{Project, Runner, hash_seed};
use unflake_report::{
    Colour, Layout, Study, idflakies, json, junit, markdown, table, terminal, why,
};
use unflake_stats::plan::runs_needed;
use unflake_stats::rate::Rate;

use super::listed;
use crate::exit::{self, Failure};
use crate::java::{self, Built};
use crate::progress::{Goal, Line};
use crate::running::{here, levels, limits, n_processors, not_run, project, stop_on_ctrl_c};
use crate::store_args::command_line;
use crate::study_args::{
    DepthArg, DetectArgs, LookArgs, RunnerArg, StrategyArg, StudyArgs, StudyFormat, WhyArgs,
    flake_rate,
};

/// Prose is wrapped at this width where the terminal does not say.
pub(crate) const WIDTH: usize = 100;

pub(crate) fn detect(args: &DetectArgs) -> Result<u8, Failure> {
    let flake_rate = flake_rate(args.flake_rate)
        .map_err(|error| Failure::input(format!("--flake-rate: {error}"), "try 0.05"))?;
    let look = &args.study.look;
    let question = match args.strategy {
        Some(strategy) => Question::Rounds(configuration(strategy), args.rounds),
        None if args.reruns => Question::Reruns(Terms { price: Some(args.price), ..Terms::FORKED }),
        None => Question::Suite,
    };
    let task = Task::new(look, args.paths.clone(), question, flake_rate)?;
    run(&task, &args.study, Shape::Suite)
}

fn configuration(strategy: StrategyArg) -> Configuration {
    match strategy {
        StrategyArg::OriginalOrder => Configuration::Original,
        StrategyArg::RandomClass => Configuration::RandomClass,
        StrategyArg::RandomClassMethod => Configuration::RandomClassMethod,
        StrategyArg::ReverseClass => Configuration::ReverseClass,
        StrategyArg::ReverseClassMethod => Configuration::ReverseClassMethod,
    }
}

pub(crate) fn why(args: &WhyArgs) -> Result<u8, Failure> {
    if let Some(file) = listed::file(&args.test) {
        return listed::why(args, file);
    }
    let task = Task::about(&args.study.look, &args.test)?;
    run(&task, &args.study, Shape::Test)
}

pub(crate) fn run(task: &Task, args: &StudyArgs, shape: Shape) -> Result<u8, Failure> {
    let format = if args.json { StudyFormat::Json } else { args.format };
    let look = |subject: &dyn Adapter| {
        let mut line = Line::new(goal(&task.request, &args.look));
        let studied = study(&task.request, subject, &task.limits, &task.interrupt, &mut line);
        line.clear();
        studied.map_err(|error| not_run(&error))
    };
    match &task.subject {
        Subject::Python(project) => {
            let found = look(project)?;
            show(&found, format, shape)?;
            Ok(code(&found))
        }
        Subject::Java(Built { project, modules, nondex }) => {
            let nondex = nondex.as_ref();
            let tracing = tracing(&task.request.question, project, &task.interrupt);
            let tracing = tracing.as_ref();
            let mut found = Vec::new();
            for prepared in in_question(&task.request.question, modules)? {
                let prepared = &java::with_archive(prepared, &task.interrupt)?;
                let study = look(&JavaModule { project, prepared, nondex, tracing })?;
                found.push((prepared.module.name.clone(), study));
            }
            show_modules(&found, format, shape)?;
            Ok(found.iter().map(|(_, study)| code(study)).reduce(worse).unwrap_or(exit::SUCCESS))
        }
    }
}

/// Who tells which functions tests call, where that matters; reruns do without, if need be.
fn tracing(
    question: &Question,
    project: &unflake_junit::Project,
    interrupt: &Interrupt,
) -> Option<Tracing> {
    if !matches!(question, Question::Reruns(_)) {
        return None;
    }
    let found = java::tracing(project, interrupt);
    found.inspect_err(|error| exit::note(&format!("note: {error}\n"))).ok()
}

/// Something found is worse than something not decided.
pub(crate) fn worse(one: u8, other: u8) -> u8 {
    let rank = |code| [exit::SUCCESS, exit::UNDECIDED, exit::FOUND].iter().position(|c| *c == code);
    if rank(one) < rank(other) { other } else { one }
}

/// The modules that a question is about.
fn in_question<'m>(
    question: &Question,
    modules: &'m [Prepared],
) -> Result<Vec<&'m Prepared>, Failure> {
    let Question::Test(id) = question else { return Ok(modules.iter().collect()) };
    let has_it = |module: &&Prepared| module.ids().any(|known| known == id.as_str());
    if let Some(module) = modules.iter().find(has_it) {
        return Ok(vec![module]);
    }
    let ids = modules.iter().flat_map(Prepared::ids);
    let similar: Vec<&str> = ids.filter(|known| known.ends_with(id.as_str())).take(3).collect();
    let hint = if similar.is_empty() {
        "give a test as package.Class#method".to_owned()
    } else {
        format!("did you mean {}?", similar.join(" or "))
    };
    let message = format!("test `{id}` was not collected");
    Err(Failure::NotRun { message, hint: Some(hint) })
}

/// What is looked into.
pub(crate) enum Subject {
    /// A Python project.
    Python(Project),
    /// The modules of a Java project.
    Java(Built),
}

impl Subject {
    /// How many suites it has, each of which is looked into by itself.
    pub(crate) fn n_parts(&self) -> u32 {
        match self {
            Self::Python(_) => 1,
            Self::Java(built) => u32::try_from(built.modules.len()).unwrap_or(u32::MAX).max(1),
        }
    }
}

/// Everything that looking into tests needs.
pub(crate) struct Task {
    pub(crate) request: Request,
    pub(crate) subject: Subject,
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
        let confidence = confidence(args.confidence)?;
        let jobs = args.jobs.unwrap_or_else(n_processors);
        if jobs == 0 {
            return Err(Failure::input("--jobs: `0` runs at once is none", "give 1 or more"));
        }
        let interrupt = Interrupt::default();
        stop_on_ctrl_c(&interrupt);
        let subject = subject(args, paths, &interrupt)?;
        // The time is for all modules together.
        let is_one = matches!(question, Question::Test(_));
        let time = args.time.map(|time| if is_one { time } else { time / subject.n_parts() });
        let request = Request {
            question,
            depth: depth(args.depth),
            budget: budget(args.runs, time, jobs, confidence)?,
            flake_rate_min,
            seed: args.seed,
            wall_max: time.map(|time| time + time / 10),
            keep: args.keep.keep()?,
            command: command_line(),
        };
        // A virtual machine cannot be put apart once it runs.
        let is_java = matches!(subject, Subject::Java(_));
        let levels = if is_java { Vec::new() } else { levels(args.isolation) };
        Ok(Self { request, subject, limits: limits(levels, args.timeout, jobs), interrupt })
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

fn subject(
    args: &LookArgs,
    paths: Vec<OsString>,
    interrupt: &Interrupt,
) -> Result<Subject, Failure> {
    let folder = here()?;
    let is_java = match args.runner {
        RunnerArg::Junit => true,
        RunnerArg::Auto => java::is_meant(&folder, args.python.as_deref()),
        RunnerArg::Pytest | RunnerArg::Unittest => false,
    };
    if is_java {
        java::refuse_paths(&paths)?;
        return java::build(folder, args.options.clone(), interrupt).map(Subject::Java);
    }
    let project = project(folder, args.python.clone(), paths, args.options.clone())?;
    let runner = match args.runner {
        RunnerArg::Pytest => Runner::Pytest,
        RunnerArg::Unittest => Runner::Unittest,
        RunnerArg::Auto | RunnerArg::Junit => Runner::Auto,
    };
    Ok(Subject::Python(Project { runner, hash_seed: hash_seed(args.seed), ..project }))
}

pub(crate) fn confidence(share: f64) -> Result<Confidence, Failure> {
    Confidence::new(share)
        .map_err(|error| Failure::input(format!("--confidence: {error}"), "try 0.95"))
}

pub(crate) fn budget(
    runs: Option<u64>,
    time: Option<Duration>,
    jobs: usize,
    confidence: Confidence,
) -> Result<Budget, Failure> {
    let bad = |option: &str| {
        let option = option.to_owned();
        move |error| Failure::input(format!("{option}: {error}"), "leave it out for no limit")
    };
    let mut budget = Budget::unlimited(confidence);
    if let Some(runs) = runs {
        budget = budget.with_runs(runs).map_err(bad("--runs"))?;
    }
    if let Some(time) = time {
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
        DepthArg::OneByOne => Depth::OneByOne,
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

/// Prints what was found in the modules of a project.
fn show_modules(
    found: &[(String, Study)],
    format: StudyFormat,
    shape: Shape,
) -> Result<(), Failure> {
    if let [(_, study)] = found {
        return show(study, format, shape);
    }
    if format == StudyFormat::Json {
        let parts: Vec<_> = found.iter().map(|(name, study)| (&**name, study.view())).collect();
        io::stdout().lock().write_all(json::render_modules(&parts).as_bytes())?;
        return Ok(());
    }
    if format == StudyFormat::Idflakies {
        let views: Vec<_> = found.iter().map(|(_, study)| study.view()).collect();
        let views: Vec<_> = views.iter().collect();
        io::stdout().lock().write_all(idflakies::render_all(&views).as_bytes())?;
        return Ok(());
    }
    for (name, study) in found {
        writeln!(io::stdout(), "Module {name}\n")?;
        show(study, format, shape)?;
        writeln!(io::stdout())?;
    }
    Ok(())
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
            out.write_all(why::warnings(&view, layout).as_bytes())?;
        }
        StudyFormat::Text => out.write_all(terminal::render(&view, layout).as_bytes())?,
        StudyFormat::Table => out.write_all(table::render(&view).as_bytes())?,
        StudyFormat::Json => out.write_all(json::render(&view).as_bytes())?,
        StudyFormat::Markdown => out.write_all(markdown::render(&view).as_bytes())?,
        StudyFormat::Junit => junit::write(&view, &mut out)?,
        StudyFormat::Idflakies => out.write_all(idflakies::render(&view).as_bytes())?,
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
