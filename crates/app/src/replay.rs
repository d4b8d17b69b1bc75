//! Does a run end again as it did? Repeats one run on record exactly.
//!
//! The same tests in the same order, with the same repetition, under the isolation of its campaign,
//! in its folder, with its interpreter and options. Or, to see it without us in the process, with
//! the project's own runner in a cold process.

use std::time::Duration;

use unflake_adapter::{Around, Part, PlainRunner};
use unflake_engine::{Interrupt, Limits};
use unflake_known::replay::{Difference, Replay};
use unflake_model::{
    Environment, Experiment, Order, OutcomeKind, Repetition, RunId, Suite, TestId, TestIndex,
};

use unflake_campaign::engine_world::EngineWorld;
use unflake_campaign::error::CampaignError;
use unflake_campaign::history::PastRun;
use unflake_campaign::logbook::Progress;
use unflake_campaign::open::{now, start};
use unflake_campaign::world::Answer;

/// What makes the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// Our agent, as for the recorded run.
    Agent,
    /// The project's own runner, without us in the process.
    PlainRunner,
}

/// What to replay.
#[derive(Clone, Copy, Debug)]
pub struct ReplayRequest<'a> {
    /// The run on record.
    pub run: &'a PastRun,
    /// What makes the run.
    pub by: By,
    /// How often to replay it.
    pub tries: u32,
}

/// Why a run cannot be replayed.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// The tests cannot be run.
    #[error(transparent)]
    Campaign(#[from] CampaignError),
    /// A test of the run no longer exists.
    #[error("test `{id}` of the run is not collected any more")]
    Gone {
        /// The name of the test.
        id: TestId,
    },
    /// The project's own runner cannot perturb, nor run tests twice in one process.
    #[error("the run is perturbed or repeats tests, which the plain runner cannot do")]
    NotPlain,
    /// The project's own runner does not work.
    #[error("the plain runner could not be asked: {0}")]
    Plain(String),
}

/// Replays a run and compares how its tests end.
pub fn replay(
    ReplayRequest { run, by, tries }: ReplayRequest<'_>,
    project: &dyn Part,
    limits: &Limits,
    interrupt: &Interrupt,
    progress: &mut dyn Progress,
) -> Result<Replay, ReplayError> {
    // After an interrupt, no further try begins.
    let interrupt = &interrupt.lasting();
    progress.stage("collecting tests");
    let begun = now();
    let engine = start(project, limits, interrupt)?;
    let collected = engine.collected().clone();
    let (start_time, test_timeout) = (begun.elapsed(), limits.test_timeout);
    let around = Around { collected: &collected, interrupt, start_time, test_timeout };
    let runner = project.plain(around);
    let experiment = translated(run, &engine.suite(|_| Duration::ZERO))?;
    let is_once = experiment.repetition == Repetition::Once;
    let is_plain = experiment.environment == Environment::Plain;
    let ids: Vec<&TestId> =
        run.experiment.order.tests().iter().map(|test| run.suite.id(*test)).collect();
    let mut replay = Replay {
        name: run.name.clone(),
        n_tests: run.experiment.order.len(),
        repetition: run.experiment.repetition,
        tries: 0,
        tries_asked: tries,
        differences: Vec::new(),
        command: (is_once && is_plain).then(|| runner.command(&ids)).flatten(),
    };
    if by == By::PlainRunner && !(is_once && is_plain) {
        return Err(ReplayError::NotPlain);
    }
    progress.stage("running it again");
    let mut world = EngineWorld::new(engine, 1);
    for number in 0..tries {
        let each = match by {
            By::PlainRunner => run_plainly(run, &*runner, &ids),
            By::Agent => run_once(&mut world, &experiment).map_err(ReplayError::Campaign),
        };
        match each {
            Ok(each) => replay.differences.extend(differences(run, number, each)),
            Err(_) if interrupt.is_raised() && 0 < replay.tries => break,
            Err(_) if interrupt.is_raised() => return Err(CampaignError::Interrupted.into()),
            Err(error) => return Err(error),
        }
        replay.tries += 1;
    }
    Ok(replay)
}

/// The experiment, in terms of the tests as they are collected now.
fn translated(run: &PastRun, suite: &Suite) -> Result<Experiment, ReplayError> {
    let find = |test: TestIndex| {
        let id = run.suite.id(test);
        suite.find(id).ok_or_else(|| ReplayError::Gone { id: id.clone() })
    };
    let tests = run.experiment.order.tests().iter().map(|test| find(*test));
    let repetition = match run.experiment.repetition {
        Repetition::Between { test, stride } => Repetition::Between { test: find(test)?, stride },
        Repetition::Apart { n_common, target } => {
            Repetition::Apart { n_common, target: find(target)? }
        }
        other => other,
    };
    Ok(Experiment {
        environment: run.experiment.environment,
        repetition,
        ..Experiment::new(RunId(0), Order::from_distinct(tests.collect::<Result<Vec<_>, _>>()?))
    })
}

/// How each attempt ended with the project's own runner.
fn run_plainly(
    run: &PastRun,
    runner: &dyn PlainRunner,
    ids: &[&TestId],
) -> Result<Vec<(OutcomeKind, String)>, ReplayError> {
    let ended = runner.run(ids, run.observation.duration).map_err(ReplayError::Plain)?;
    let now = |test| {
        let kind = ended.get(run.suite.id(test)).copied();
        (kind.unwrap_or(OutcomeKind::NotRun), String::new())
    };
    Ok(run.observation.attempts.iter().map(|attempt| now(attempt.test)).collect())
}

/// How each attempt ended, and the messages of failures.
fn run_once(
    world: &mut EngineWorld,
    experiment: &Experiment,
) -> Result<Vec<(OutcomeKind, String)>, CampaignError> {
    let Ok(Answer { observation, mut failures, .. }) = world.run(experiment) else {
        return Err(world.take_error().map_or(CampaignError::Interrupted, CampaignError::World));
    };
    let each = observation.attempts.iter().map(|attempt| {
        let said = failures.iter().position(|failed| failed.test == attempt.test);
        let is_failure = attempt.outcome.evidence() == Some(unflake_model::Evidence::Fail);
        let said = said.filter(|_| is_failure).map(|place| failures.remove(place));
        let message = said.map(|failed| failed.failure.message).unwrap_or_default();
        (attempt.outcome.kind(), message)
    });
    Ok(each.collect())
}

fn differences(
    run: &PastRun,
    try_number: u32,
    each: Vec<(OutcomeKind, String)>,
) -> Vec<Difference> {
    let recorded = run.observation.attempts.iter();
    let differing = recorded.zip(each).filter_map(|(attempt, (now, message))| {
        let recorded = attempt.outcome.kind();
        let test = run.suite.id(attempt.test).clone();
        (recorded != now).then_some(Difference { try_number, test, recorded, now, message })
    });
    differing.collect()
}
