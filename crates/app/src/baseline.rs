//! Does isolation change the suite? The original order, under isolation and with the plain runner.
//!
//! A suite that needs the network, its home folder or its neighbours must not be called flaky
//! because we took them away. So the original order is run both ways. Where the same tests differ
//! twice, isolation is taken back level by level, network first, until both agree.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use unflake_engine::Level;
use unflake_model::{
    Environment, Experiment, Observation, Order, OutcomeKind, Repetition, RunId, Suite, TestId,
    TestIndex,
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

/// Runs the original order under these levels of isolation, or as many of them as change nothing.
pub(crate) fn baseline(
    world: &mut EngineWorld,
    mut levels: Vec<Level>,
    runner: &dyn PlainRunner,
) -> Result<Baseline, Stopped> {
    let suite = world.engine().suite(|_| Duration::ZERO);
    let mut warnings = Vec::new();
    let (mut experiment, mut observation) = run(world, &suite)?;
    warnings.extend(refused(world));
    while let Ok(plain) = plain_outcomes(&suite, runner) {
        let differing = differing(&observation, &plain);
        if differing.is_empty() {
            break;
        }
        // A flaky test differs by chance. Only what differs again counts.
        (experiment, observation) = run(world, &suite)?;
        let again = plain_outcomes(&suite, runner).unwrap_or(plain);
        let n_tests = differing.intersection(&self::differing(&observation, &again)).count();
        let Some(level) = levels.last().copied().filter(|_| 0 < n_tests) else {
            break;
        };
        levels.pop();
        world.engine().set_isolation(levels.clone());
        warnings.push(Warning::IsolationSteppedDown {
            level: level.as_str().to_owned(),
            n_tests: n_tests as u64,
        });
        (experiment, observation) = run(world, &suite)?;
    }
    Ok(Baseline { experiment, observation, warnings })
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
) -> Result<BTreeMap<TestIndex, OutcomeKind>, String> {
    let outcomes = runner.run_suite()?;
    Ok(outcomes.into_iter().filter_map(|(id, kind)| Some((suite.find(&id)?, kind))).collect())
}

/// Tests that both know about, and that ended differently.
fn differing(
    observation: &Observation,
    plain: &BTreeMap<TestIndex, OutcomeKind>,
) -> BTreeSet<TestIndex> {
    let evidence = |kind: OutcomeKind| kind.evidence();
    let attempts = observation.attempts.iter();
    attempts
        .filter(|a| plain.get(&a.test).is_some_and(|k| evidence(*k) != a.outcome.evidence()))
        .map(|attempt| attempt.test)
        .collect()
}

fn refused(world: &EngineWorld) -> Vec<Warning> {
    let refused = world.last_ended().map(|ended| ended.isolation.refused.clone());
    let warning = |r: unflake_engine::Refused| Warning::IsolationRefused {
        level: r.level.as_str().to_owned(),
        reason: r.why,
    };
    refused.into_iter().flatten().map(warning).collect()
}
