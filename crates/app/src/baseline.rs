//! Does isolation change the suite? The original order, under isolation and with the plain runner.
//!
//! A suite that needs the network, its home folder or its neighbours must not be called flaky
//! because we took them away. So the original order is run both ways. Where the same tests differ
//! twice, isolation is taken back level by level, network first, until both agree. What differs
//! under those levels that the plain runner is under as well is not their fault, and no reason to
//! do without: these keep the work tree and the home folder as they are.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use unflake_engine::{Isolation, Level};
use unflake_model::{
    Attempt, Environment, Experiment, Observation, Order, OutcomeKind, Repetition, RunId, Suite,
    TestId, TestIndex,
};
use unflake_report::Warning;

use crate::cold::PlainRunner;
use crate::world::{EngineWorld, Stopped};

/// The first run of a study, and what was learnt from it.
#[derive(Debug)]
pub(crate) struct Baseline {
    pub(crate) experiment: Experiment,
    pub(crate) observation: Observation,
    pub(crate) warnings: Vec<Warning>,
}

impl Baseline {
    /// The suite, with the run times that were measured.
    pub(crate) fn suite(&self, world: &mut EngineWorld) -> Suite {
        let plain = world.engine().suite(|_| Duration::ZERO);
        let durations: BTreeMap<&TestId, Duration> =
            self.observation.attempts.iter().map(|a| (plain.id(a.test), a.duration)).collect();
        world.engine().suite(|id| durations.get(id).copied().unwrap_or_default())
    }
}

/// Whether the plain runner is under this level as well: it must leave no more behind than we do.
fn is_shared(level: Level) -> bool {
    matches!(level, Level::Tree | Level::Home)
}

/// Runs the original order under these levels of isolation, or as many of them as change nothing.
pub(crate) fn baseline(
    world: &mut EngineWorld,
    levels: &[Level],
    runner: &dyn PlainRunner,
) -> Result<Baseline, Stopped> {
    let suite = world.engine().suite(|_| Duration::ZERO);
    let (mut experiment, mut observation) = run(world, &suite)?;
    let mut warnings = refused(world);
    let (shared, own): (Vec<Level>, Vec<Level>) =
        levels.iter().partition(|level| is_shared(**level));
    let under = |n_own: usize| [&shared, &own[..n_own]].concat();
    // How many levels were left, and what differed under them.
    let mut steps: Vec<BTreeSet<TestIndex>> = Vec::new();
    let no_fault = loop {
        let differing = match differing_twice(world, &suite, &mut observation, runner)? {
            Ok(differing) => differing,
            Err(reason) => {
                warnings.push(Warning::PlainNotRun { reason });
                break BTreeSet::new();
            }
        };
        steps.push(differing);
        let last = &steps[steps.len() - 1];
        if last.is_empty() || own.len() < steps.len() {
            break last.clone();
        }
        world.engine().set_isolation(under(own.len() - steps.len()));
        (experiment, observation) = run(world, &suite)?;
    };
    let n_down = steps.iter().take_while(|step| !step.is_subset(&no_fault)).count();
    if n_down + 1 < steps.len() {
        world.engine().set_isolation(under(own.len() - n_down));
        (experiment, observation) = run(world, &suite)?;
    }
    for (level, step) in own.iter().rev().zip(&steps[..n_down]) {
        let n_tests = step.difference(&no_fault).count() as u64;
        let level = level.as_str().to_owned();
        warnings.push(Warning::IsolationSteppedDown { level, n_tests });
    }
    let n_tests = no_fault.len() as u64;
    warnings.extend((0 < n_tests).then_some(Warning::DiffersFromPlain { n_tests }));
    Ok(Baseline { experiment, observation, warnings })
}

/// Tests that differ between this run and the plain runner, and again in another run, which takes
/// the place of this one: flaky tests differ by chance.
fn differing_twice(
    world: &mut EngineWorld,
    suite: &Suite,
    observation: &mut Observation,
    runner: &dyn PlainRunner,
) -> Result<Result<BTreeSet<TestIndex>, String>, Stopped> {
    let plain = match plain_outcomes(suite, runner, observation.duration) {
        Ok(plain) => plain,
        Err(reason) => return Ok(Err(reason)),
    };
    let first = differing(observation, &plain);
    if first.is_empty() {
        return Ok(Ok(first));
    }
    *observation = run(world, suite)?.1;
    let again = plain_outcomes(suite, runner, observation.duration).unwrap_or(plain);
    Ok(Ok(&first & &differing(observation, &again)))
}

fn run(world: &mut EngineWorld, suite: &Suite) -> Result<(Experiment, Observation), Stopped> {
    let experiment = Experiment {
        run: RunId(0),
        order: Order::original(suite),
        environment: Environment::Plain,
        repetition: Repetition::Once,
    };
    let observation = world.run(&experiment)?;
    Ok((experiment, observation))
}

fn plain_outcomes(
    suite: &Suite,
    runner: &dyn PlainRunner,
    took: Duration,
) -> Result<BTreeMap<TestIndex, OutcomeKind>, String> {
    let outcomes = runner.run_suite(took)?;
    Ok(outcomes.into_iter().filter_map(|(id, kind)| Some((suite.find(&id)?, kind))).collect())
}

/// Tests that both have run, and that ended differently.
fn differing(
    observation: &Observation,
    plain: &BTreeMap<TestIndex, OutcomeKind>,
) -> BTreeSet<TestIndex> {
    let is_run = |kind: OutcomeKind| kind != OutcomeKind::NotRun;
    let differs = |attempt: &&Attempt| {
        let (ours, theirs) = (attempt.outcome.kind(), plain.get(&attempt.test));
        theirs.is_some_and(|theirs| {
            is_run(ours) && is_run(*theirs) && ours.evidence() != theirs.evidence()
        })
    };
    observation.attempts.iter().filter(differs).map(|attempt| attempt.test).collect()
}

/// Levels of isolation that the last run did not have.
pub(crate) fn refused(world: &EngineWorld) -> Vec<Warning> {
    world.last_ended().map(|ended| refusals(&ended.isolation)).unwrap_or_default()
}

/// Levels of isolation that could not be had.
pub(crate) fn refusals(isolation: &Isolation) -> Vec<Warning> {
    let warning = |r: &unflake_engine::Refused| Warning::IsolationRefused {
        level: r.level.as_str().to_owned(),
        reason: r.why.clone(),
    };
    isolation.refused.iter().map(warning).collect()
}
