//! `unflake detect` and `unflake why`.

use std::ffi::OsString;
use std::io::{self, Write as _};
use std::time::Duration;

use unflake_adapter::Part;
use unflake_app::registry::{address, offer};
use unflake_campaign::campaign::find;
use unflake_campaign::question::{Question, Request};
use unflake_detect::Depth;
use unflake_detect::idflakies::Configuration;
use unflake_detect::reruns::schedule::Terms;
use unflake_engine::{Interrupt, Limits};
use unflake_known::{Findings, Offer, View};
use unflake_model::{Budget, Confidence, Verdict};
use unflake_report::Command;
use unflake_report::{Layout, idflakies, json, junit, markdown, table, terminal, why};
use unflake_stats::plan::runs_needed;
use unflake_stats::rate::Rate;

use super::listed;
use crate::exit::{self, Failure};
use crate::opened::{Manner, Opened, Parts, Tracing, look_into, share_of};
use crate::progress::{Goal, Line};
use crate::running::{limits, n_processors, not_run, stop_on_ctrl_c};
use crate::screen::Screen;
use crate::search_args::{
    DepthArg, DetectArgs, FindingsArgs, FindingsFormat, SearchArgs, StrategyArg, WhyArgs,
};
use crate::store_args::command_line;
use crate::typed_values::flake_rate;

/// The flake rate that is looked for where nothing else is said.
const FLAKE_RATE: f64 = 0.05;

/// The flake rate that was typed.
pub(crate) fn typed_rate(share: f64) -> Result<Rate, Failure> {
    flake_rate(share).map_err(|error| Failure::input(format!("--flake-rate: {error}"), "try 0.05"))
}

pub(crate) fn detect(args: &DetectArgs, screen: Screen) -> Result<u8, Failure> {
    let flake_rate = typed_rate(args.flake_rate)?;
    let look = &args.findings.look;
    let question = match args.strategy {
        Some(strategy) => Question::Rounds(configuration(strategy), args.rounds),
        None if args.reruns => Question::Reruns(Terms { price: Some(args.price), ..Terms::FORKED }),
        None => Question::Suite,
    };
    let task = Task::new(look, &args.paths, question, flake_rate)?;
    run(&task, &args.findings, Shape::Suite, screen)
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

pub(crate) fn why(args: &WhyArgs, screen: Screen) -> Result<u8, Failure> {
    if let Some(file) = listed::file(&args.test) {
        return listed::why(args, file, screen);
    }
    let mut task = Task::about(&args.findings.look, &args.test)?;
    task.request.flake_rate_min = typed_rate(args.flake_rate)?;
    run(&task, &args.findings, Shape::Test, screen)
}

pub(crate) fn run(
    task: &Task,
    args: &FindingsArgs,
    shape: Shape,
    screen: Screen,
) -> Result<u8, Failure> {
    let found = find_in_parts(task, screen)?;
    show(&found, args.format(), shape, screen.layout())?;
    Ok(found.code(code))
}

/// Looks into the parts that the question is about.
pub(crate) fn find_in_parts(task: &Task, screen: Screen) -> Result<Parts<Findings>, Failure> {
    let parts = in_question(&task.request.question, &task.opened)?;
    let is_traced = matches!(task.request.question, Question::Reruns(_));
    let tracing = if is_traced { Tracing::IfPossible } else { Tracing::No };
    let interrupt = &task.interrupt;
    look_into(&parts, &Manner { is_long: true, tracing, interrupt }, |part| {
        let mut line = Line::new(goal(&task.request), screen);
        let studied = find(&task.request, part, &task.limits, interrupt, &mut line);
        studied.map_err(|error| not_run(&error, part))
    })
}

/// The parts that a question is about.
fn in_question<'s>(question: &Question, opened: &'s Opened) -> Result<Vec<&'s dyn Part>, Failure> {
    let parts = opened.parts();
    let Question::Test(id) = question else { return Ok(parts) };
    let ids: Option<Vec<Vec<&str>>> = parts.iter().map(|part| part.ids()).collect();
    // Where tests are known only to an agent, it is asked.
    let Some(ids) = ids else { return Ok(parts) };
    if let Some(place) = ids.iter().position(|of_part| of_part.contains(&id.as_str())) {
        return Ok(vec![parts[place]]);
    }
    let similar = ids.iter().flatten().filter(|known| known.ends_with(id.as_str())).take(3);
    let similar: Vec<&str> = similar.copied().collect();
    let hint = if similar.is_empty() {
        format!("give a test as {}", opened.spelling())
    } else {
        format!("did you mean {}?", similar.join(" or "))
    };
    let message = format!("test `{id}` was not collected");
    Err(Failure::NotRun { message, hint: Some(hint) })
}

/// Everything that looking into tests needs.
pub(crate) struct Task {
    pub(crate) request: Request,
    pub(crate) opened: Opened,
    pub(crate) limits: Limits,
    pub(crate) interrupt: Interrupt,
}

impl Task {
    /// From what was typed. Ctrl-C interrupts it from now on.
    pub(crate) fn new(
        args: &SearchArgs,
        paths: &[OsString],
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
        let opened = Opened::find(args.typed(paths), &interrupt)?;
        // The time is for all modules together.
        let is_one = matches!(question, Question::Test(_));
        let time = share_of(args.time, if is_one { 1 } else { opened.parts().len() });
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
        let limits = limits(opened.levels(args.isolation), args.project.timeout, jobs);
        Ok(Self { request, opened, limits, interrupt })
    }

    /// The part that the test in question belongs to.
    pub(crate) fn part(&self) -> Result<&dyn Part, Failure> {
        let parts = in_question(&self.request.question, &self.opened)?;
        parts.first().copied().ok_or_else(|| Failure::input("no tests were collected", ""))
    }

    /// About one test.
    pub(crate) fn about(args: &SearchArgs, test: &str) -> Result<Self, Failure> {
        let id = test.parse().map_err(|error| {
            Failure::input(format!("{error}"), "give a test as your runner spells it")
        })?;
        let usual = Rate::new(FLAKE_RATE).expect("a rate");
        Self::new(args, &[], Question::Test(id), usual)
    }
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
pub(crate) fn goal(request: &Request) -> Goal {
    let confidence = request.budget.confidence();
    let is_suite = matches!(request.question, Question::Suite);
    let orders = runs_needed(request.flake_rate_min, confidence).filter(|_| is_suite);
    // What is granted on top of what was typed is for what was begun by then.
    let time = request.wall_max.map(|max| max * 10 / 11);
    Goal { orders, confidence: Some(confidence).filter(|_| is_suite), time }
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
    /// A campaign of the history.
    Past,
}

impl Shape {
    /// The command that shows it.
    fn command(self) -> Command {
        match self {
            Self::Suite => Command::Detect,
            Self::Test => Command::Why,
            Self::Past => Command::History,
        }
    }

    /// Whether a study was about one test. Of one on record that is seen from whether it looked at
    /// whole orders, which are looked at for all tests.
    fn is_one(self, view: &View<'_>) -> bool {
        match self {
            Self::Suite => false,
            Self::Test => true,
            Self::Past => view.exhibits.len() == 1 && view.n_orders == 0,
        }
    }
}

/// Prints what was found.
pub(crate) fn show(
    found: &Parts<Findings>,
    format: FindingsFormat,
    shape: Shape,
    layout: Layout,
) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    let views: Vec<_> = found.found.iter().map(|(name, it)| (&**name, it.view())).collect();
    let each = |shown: &dyn Fn(&View<'_>) -> String| found.joined(|it| shown(&it.view()));
    let text = match format {
        FindingsFormat::Text => each(&|view| text(view, shape, layout)),
        FindingsFormat::Table => each(&table::render),
        FindingsFormat::Markdown => each(&|view| markdown::render(view, &offer_of(view))),
        FindingsFormat::Json => {
            let named = found.named().into_iter().map(|(name, it)| (name, it.view()));
            json::render(&named.collect::<Vec<_>>(), shape.command())
        }
        FindingsFormat::Idflakies => idflakies::render(&views),
        FindingsFormat::Junit => {
            junit::write(&views, &address, &mut out)?;
            String::new()
        }
    };
    out.write_all(text.as_bytes())?;
    out.flush()?;
    Ok(())
}

fn text(view: &View<'_>, shape: Shape, layout: Layout) -> String {
    let offer = offer_of(view);
    if !shape.is_one(view) {
        return terminal::render(view, &offer, layout);
    }
    let exhibits = view.exhibits.iter().map(|exhibit| why::render(view, exhibit, &offer, layout));
    exhibits.chain([why::warnings(view, layout)]).collect()
}

/// What our commands can do for the tests that it is about.
fn offer_of(view: &View<'_>) -> Offer {
    offer(&view.origin.runner)
}

pub(crate) fn code(findings: &Findings) -> u8 {
    let verdicts = || findings.exhibits.iter().map(|exhibit| exhibit.finding.verdict);
    if verdicts().any(Verdict::is_flaky) {
        exit::FOUND
    } else if findings.ended != unflake_known::Ended::Confident
        || verdicts().any(|verdict| verdict == Verdict::InsufficientEvidence)
    {
        exit::UNDECIDED
    } else {
        exit::SUCCESS
    }
}
