//! Does isolation change the suite? Runs the original order under isolation and with the plain
//! runner.
//!
//! A suite that needs the network, its home folder or its neighbours must not be called flaky
//! because we took them away. So the original order is run both ways. Where the same tests differ
//! every time, isolation is removed level by level, network first, until both agree. Levels that
//! the plain runner also runs under cannot be to blame for a difference and stay: they keep the
//! work tree and the home folder as they are.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use unflake_adapter::PlainRunner;
use unflake_engine::{Isolation, Level};
use unflake_known::Warning;
use unflake_model::{
    Attempt, Evidence, Experiment, Observation, Order, OutcomeKind, RunId, Suite, TestId, TestIndex,
};

use crate::engine_world::{EngineWorld, Stopped};
use crate::world::Answer;

/// How often both are compared before a difference between them is taken to be permanent. A test
/// that fails at random, at worst half of the time, differs in the same way all six times in 5
/// suites of 10,000; with three times it was 3 of 100, and a suite has many tests.
const N_COMPARED: u32 = 6;

/// The same, for tests where chance was ruled out under more isolation.
const N_COMPARED_AGAIN: u32 = 2;

/// The first run of a campaign, and what it showed.
#[derive(Debug)]
pub(crate) struct Baseline {
    pub(crate) experiment: Experiment,
    pub(crate) answer: Answer,
    pub(crate) warnings: Vec<Warning>,
}

impl Baseline {
    /// The suite, with the run times that were measured.
    pub(crate) fn suite(&self, world: &mut EngineWorld) -> Suite {
        let plain = world.engine().suite(|_| Duration::ZERO);
        let durations: BTreeMap<&TestId, Duration> = self
            .answer
            .observation
            .attempts
            .iter()
            .map(|a| (plain.id(a.test), a.duration))
            .collect();
        world.engine().suite(|id| durations.get(id).copied().unwrap_or_default())
    }
}

/// Whether the plain runner is under this level as well: it must not leave more behind than we do.
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
    let (mut experiment, mut answer) = run(world, &suite)?;
    let mut warnings = refused(&answer);
    let (shared, own): (Vec<Level>, Vec<Level>) =
        levels.iter().partition(|level| is_shared(**level));
    let under = |n_own: usize| [&shared, &own[..n_own]].concat();
    // For each step: the tests that differed under the levels then left.
    let mut steps: Vec<BTreeSet<TestIndex>> = Vec::new();
    let no_fault = loop {
        let among = steps.last();
        let differing = match differing_always(world, &suite, (&mut answer, among), runner)? {
            Ok(differing) => differing,
            Err(reason) => {
                warnings.push(Warning::NotCompared { reason });
                break BTreeSet::new();
            }
        };
        steps.push(differing);
        let last = &steps[steps.len() - 1];
        if last.is_empty() || own.len() < steps.len() {
            break last.clone();
        }
        world.engine().set_isolation(under(own.len() - steps.len()));
        (experiment, answer) = run(world, &suite)?;
    };
    let n_down = steps.iter().take_while(|step| !step.is_subset(&no_fault)).count();
    if n_down + 1 < steps.len() {
        world.engine().set_isolation(under(own.len() - n_down));
        (experiment, answer) = run(world, &suite)?;
    }
    for (level, step) in own.iter().rev().zip(&steps[..n_down]) {
        let n_tests = step.difference(&no_fault).count() as u64;
        let level = level.as_str().to_owned();
        warnings.push(Warning::IsolationSteppedDown { level, n_tests });
    }
    let n_tests = no_fault.len() as u64;
    warnings.extend((0 < n_tests).then_some(Warning::DiffersFromPlain { n_tests }));
    Ok(Baseline { experiment, answer, warnings })
}

/// Tests that differ between this run and the plain runner, and differ in the same way in further
/// runs, the last of which replaces this one: flaky tests differ by chance. If more isolation was
/// tried, looks only at the tests that differed under it: less isolation cannot be to blame for
/// others.
fn differing_always(
    world: &mut EngineWorld,
    suite: &Suite,
    (answer, among): (&mut Answer, Option<&BTreeSet<TestIndex>>),
    runner: &dyn PlainRunner,
) -> Result<Result<BTreeSet<TestIndex>, String>, Stopped> {
    let mut plain = match plain_outcomes(suite, runner, answer.observation.duration) {
        Ok(plain) => plain,
        Err(reason) => return Ok(Err(reason)),
    };
    let always = for_good(among, |is_first| {
        if !is_first {
            *answer = run(world, suite)?.1;
            let took = answer.observation.duration;
            if let Ok(outcomes) = plain_outcomes(suite, runner, took) {
                plain = outcomes;
            }
        }
        Ok(differing(&answer.observation, &plain))
    })?;
    Ok(Ok(always))
}

/// Tests that differ, each with how it ended in the isolated run.
type Differing = BTreeSet<(TestIndex, Option<Evidence>)>;

/// Tests that differ in the same way each time both are compared.
fn for_good<E>(
    among: Option<&BTreeSet<TestIndex>>,
    mut compare: impl FnMut(bool) -> Result<Differing, E>,
) -> Result<BTreeSet<TestIndex>, E> {
    let mut always = compare(true)?;
    always.retain(|(test, _)| among.is_none_or(|among| among.contains(test)));
    let n_compared = if among.is_some() { N_COMPARED_AGAIN } else { N_COMPARED };
    for _ in 1..n_compared {
        if always.is_empty() {
            break;
        }
        always = &always & &compare(false)?;
    }
    Ok(always.into_iter().map(|(test, _)| test).collect())
}

fn run(world: &mut EngineWorld, suite: &Suite) -> Result<(Experiment, Answer), Stopped> {
    let experiment = original(suite);
    let answer = world.run(&experiment)?;
    Ok((experiment, answer))
}

/// The first run of a campaign: the original order.
pub(crate) fn original(suite: &Suite) -> Experiment {
    Experiment::new(RunId(0), Order::original(suite))
}

fn plain_outcomes(
    suite: &Suite,
    runner: &dyn PlainRunner,
    took: Duration,
) -> Result<BTreeMap<TestIndex, OutcomeKind>, String> {
    let outcomes = runner.run_suite(took)?;
    Ok(outcomes.into_iter().filter_map(|(id, kind)| Some((suite.find(&id)?, kind))).collect())
}

/// Tests that both ran and that ended differently, each with how it ended in the isolated run: a
/// test that sometimes fails there is random.
fn differing(observation: &Observation, plain: &BTreeMap<TestIndex, OutcomeKind>) -> Differing {
    let is_run = |kind: OutcomeKind| kind != OutcomeKind::NotRun;
    let differs = |attempt: &Attempt| {
        let (ours, theirs) = (attempt.outcome.kind(), *plain.get(&attempt.test)?);
        let is_other = is_run(ours) && is_run(theirs) && ours.evidence() != theirs.evidence();
        is_other.then_some((attempt.test, ours.evidence()))
    };
    observation.attempts.iter().filter_map(differs).collect()
}

/// Warnings about levels of isolation that a run did not have.
fn refused(answer: &Answer) -> Vec<Warning> {
    answer.manner.as_ref().map(|manner| refusals(&manner.isolation)).unwrap_or_default()
}

/// Warnings about levels of isolation that were not available.
pub fn refusals(isolation: &Isolation) -> Vec<Warning> {
    let warning = |r: &unflake_engine::Refused| Warning::IsolationRefused {
        level: r.level.as_str().to_owned(),
        reason: r.why.clone(),
    };
    isolation.refused.iter().map(warning).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use unflake_model::{Outcome, Phase};

    const FAILED: Outcome = Outcome::Failed { phase: Phase::Call };

    fn differing_in(ours: [Outcome; 3], plain: [OutcomeKind; 3]) -> Vec<usize> {
        let attempt = |(number, outcome)| Attempt {
            test: TestIndex::new(number),
            outcome,
            duration: Duration::ZERO,
        };
        let observation =
            Observation::of(RunId(0), (0..).zip(ours).map(attempt).collect(), Duration::ZERO);
        let plain = (0..).zip(plain).map(|(number, kind)| (TestIndex::new(number), kind)).collect();
        differing(&observation, &plain).iter().map(|(test, _)| test.get()).collect()
    }

    #[test]
    fn a_test_that_fails_at_random_is_not_laid_at_the_door_of_isolation() {
        let (random, blocked) = (TestIndex::new(0), TestIndex::new(1));
        let fails = Some(Evidence::Fail);
        // Three times in the same way by luck, and then not.
        let compare = |n: usize| match n {
            0..3 => BTreeSet::from([(random, fails), (blocked, fails)]),
            _ => BTreeSet::from([(blocked, fails)]),
        };
        let found = |among: Option<&BTreeSet<TestIndex>>| {
            let mut n = 0;
            let found = for_good::<()>(among, |_| {
                n += 1;
                Ok(compare(n - 1))
            });
            (found.unwrap(), n)
        };
        let blocked = BTreeSet::from([blocked]);
        assert_eq!(found(None), (blocked.clone(), 6));
        // Under less isolation, chance need not be ruled out again.
        assert_eq!(found(Some(&blocked)), (blocked, 2));
        assert_eq!(found(Some(&BTreeSet::new())), (BTreeSet::new(), 1));
    }

    #[test]
    fn tests_differ_if_both_were_run_and_say_something_else() {
        use OutcomeKind::{Failed, NotRun, Passed};
        let ours = [FAILED, Outcome::Passed, FAILED];
        assert_eq!(differing_in(ours, [Passed, Passed, Passed]), [0, 2]);
        assert_eq!(differing_in(ours, [NotRun, Failed, Failed]), [1]);
        assert_eq!(differing_in([Outcome::NotRun; 3], [Failed; 3]), [0; 0]);
    }
}
