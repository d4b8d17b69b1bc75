//! `unflake detect` and `unflake why`.

use std::ffi::OsString;
use std::io::{self, IsTerminal as _, Write as _};
use std::time::{Duration, Instant};

use unflake_app::study::{Question, Request, Study, StudyError, study};
use unflake_detect::explain::Depth;
use unflake_engine::{Interrupt, Level, Start};
use unflake_model::{Budget, Confidence, Verdict};
use unflake_pytest::{Interpreter, Limits, Project, Runner, Surroundings};
use unflake_report::{Colour, Layout, Origin, View, json, junit, markdown, table, terminal, why};
use unflake_stats::rate::Rate;

use crate::exit::{self, Failure};
use crate::progress::Line;
use crate::study_args::{DepthArg, DetectArgs, IsolationArg, StudyArgs, StudyFormat, WhyArgs};

/// How long collecting may take.
const COLLECT_MAX: Duration = Duration::from_mins(10);

/// Prose is wrapped at this width where the terminal does not say.
const WIDTH: usize = 100;

pub(crate) fn detect(args: &DetectArgs) -> Result<u8, Failure> {
    let flake_rate = Rate::new(args.flake_rate)
        .map_err(|error| Failure::input(format!("--flake-rate: {error}"), "try 0.05"))?;
    run(&args.study, args.paths.clone(), Question::Suite, flake_rate)
}

pub(crate) fn why(args: &WhyArgs) -> Result<u8, Failure> {
    let id = args.test.parse().map_err(|error| {
        Failure::input(format!("{error}"), "give a test as your runner spells it")
    })?;
    let all = Rate::new(1.0).expect("a rate");
    run(&args.study, Vec::new(), Question::Test(id), all)
}

fn run(
    args: &StudyArgs,
    paths: Vec<OsString>,
    question: Question,
    flake_rate_min: Rate,
) -> Result<u8, Failure> {
    let confidence = Confidence::new(args.confidence)
        .map_err(|error| Failure::input(format!("--confidence: {error}"), "try 0.95"))?;
    let jobs = args.jobs.unwrap_or_else(n_processors);
    if jobs == 0 {
        return Err(Failure::input("--jobs: `0` runs at once is none", "give 1 or more"));
    }
    let is_why = matches!(question, Question::Test(_));
    let request = Request {
        question,
        depth: depth(args.depth),
        budget: budget(args, jobs, confidence)?,
        flake_rate_min,
        seed: args.seed,
        wall_max: args.time.map(|time| time + time / 10),
    };
    let project = project(args, paths)?;
    let interrupt = Interrupt::default();
    stop_on_ctrl_c(&interrupt);
    let start = now();
    let mut line = Line::new();
    let studied = study(&request, &project, limits(args, jobs), &interrupt, &mut line);
    line.clear();
    let found = studied.map_err(|error| not_run(&error))?;
    show(args, &found, confidence, start.elapsed(), is_why)?;
    Ok(code(&found))
}

fn budget(args: &StudyArgs, jobs: usize, confidence: Confidence) -> Result<Budget, Failure> {
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

fn project(args: &StudyArgs, paths: Vec<OsString>) -> Result<Project, Failure> {
    let current_dir = std::env::current_dir().map_err(|error| Failure::NotRun {
        message: format!("the working directory cannot be read: {error}"),
        hint: None,
    })?;
    let surroundings = Surroundings {
        python: args.python.clone(),
        virtual_env: std::env::var_os("VIRTUAL_ENV"),
        path: std::env::var_os("PATH"),
        current_dir: current_dir.clone(),
    };
    let interpreter = Interpreter::find(&surroundings).map_err(|error| Failure::NotRun {
        message: error.to_string(),
        hint: Some(error.hint().to_owned()),
    })?;
    Ok(Project {
        interpreter,
        current_dir,
        runner: Runner::Auto,
        paths,
        options: args.options.clone(),
        env: Vec::new(),
    })
}

fn limits(args: &StudyArgs, jobs: usize) -> Limits {
    let isolation = match args.isolation {
        IsolationArg::All => vec![Level::Pid, Level::Tree, Level::Home, Level::Net],
        IsolationArg::NoNet => vec![Level::Pid, Level::Tree, Level::Home],
        IsolationArg::None => vec![],
    };
    Limits {
        start: Start::Fork,
        isolation,
        start_timeout: COLLECT_MAX,
        test_timeout: args.timeout,
        run_timeout: None,
        jobs,
    }
}

fn depth(depth: DepthArg) -> Depth {
    match depth {
        DepthArg::Kind => Depth::Kind,
        DepthArg::Roles => Depth::Roles,
        DepthArg::Exhaustive => Depth::Exhaustive,
    }
}

fn n_processors() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

/// The first Ctrl-C ends the study with what is known; the second ends us.
fn stop_on_ctrl_c(interrupt: &Interrupt) {
    let interrupt = interrupt.clone();
    let mut is_second = false;
    // Without a handler Ctrl-C ends us at once, and with us all that runs: no harm done.
    let _ = ctrlc::set_handler(move || {
        if is_second {
            abort();
        }
        is_second = true;
        interrupt.raise();
    });
}

#[expect(clippy::exit, reason = "the user has asked twice")]
fn abort() -> ! {
    std::process::exit(i32::from(exit::UNDECIDED))
}

#[expect(clippy::disallowed_methods, reason = "how long it took is shown, and decides nothing")]
fn now() -> Instant {
    Instant::now()
}

fn not_run(error: &StudyError) -> Failure {
    let hint = match error {
        StudyError::Start(start) => start.hint(),
        StudyError::UnknownTest { similar, .. } if !similar.is_empty() => {
            let names: Vec<&str> = similar.iter().map(unflake_model::TestId::as_str).collect();
            Some(format!("did you mean {}?", names.join(" or ")))
        }
        StudyError::NoTests => Some("name a file or folder with tests".to_owned()),
        _ => None,
    };
    let mut message = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        message.push_str(": ");
        message.push_str(&cause.to_string());
        source = cause.source();
    }
    Failure::NotRun { message, hint }
}

fn show(
    args: &StudyArgs,
    study: &Study,
    confidence: Confidence,
    wall_time: Duration,
    is_why: bool,
) -> Result<(), Failure> {
    let (runner, version) = study.runner.split_once(' ').unwrap_or((&study.runner, ""));
    let command: Vec<String> =
        std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect();
    let origin = Origin {
        runner: runner.to_owned(),
        runner_version: version.to_owned(),
        seed: args.seed,
        command: command.join(" "),
    };
    let view = View {
        suite: &study.suite,
        exhibits: &study.exhibits,
        causes: &study.causes,
        changes: &study.changes,
        set_up_failing: &study.set_up_failing,
        records: &study.records,
        warnings: &study.warnings,
        spent: study.spent,
        wall_time,
        n_orders: study.n_orders,
        flake_rate_detectable: study.flake_rate_detectable,
        confidence,
        ended: study.ended,
        origin: &origin,
    };
    let mut out = io::stdout().lock();
    let is_terminal = out.is_terminal() && std::env::var_os("NO_COLOR").is_none();
    let colour = if is_terminal { Colour::On } else { Colour::Off };
    let layout = Layout { width: WIDTH, colour };
    let format = if args.json { StudyFormat::Json } else { args.format };
    match format {
        StudyFormat::Text if is_why => {
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
