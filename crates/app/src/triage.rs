//! A test failed in continuous integration: is it the change, or is the test flaky, and of what
//! kind?
//!
//! Retrying is not only a way to go green, it is an experiment. Each failed test of a JUnit report
//! is run again
//!
//! - **alone**, in a fresh process,
//! - **again** in that same process, right after,
//! - after the **same prefix** as in the report, in a fresh process,
//! - under **other seeds** of open choices (Python's hashing; in Java what NonDex varies), each
//!   twice.
//!
//! | alone | same prefix | other seeds | verdict |
//! |---|---|---|---|
//! | both outcomes in one condition, or for one seed | | | fails at random |
//! | passes | fails | not asked | victim |
//! | fails | passes | not asked | brittle |
//! | same as prefix | | by seed: always one or always the other | implementation-dependent |
//! | passes, and fails again | passes | passes | non-idempotent |
//! | fails | fails | fails | always failing: a regression |
//! | passes | passes | passes | was seen to flake, not reproduced |
//! | same as prefix | | no time left for any | insufficient evidence |
//!
//! All forks of one agent of Python's share its hash seed, so other seeds take other agents: the
//! only part that starts Python anew. Other open choices (random seeds, time zones, directory
//! listings) are not varied here. Java's are chosen in the run.
//!
//! Limits: the order of the report is that of one process; reports of `pytest-xdist` mix several.
//! Nothing is recorded in the history.

use std::time::Duration;

use unflake_adapter::{Part, collection_warnings};
use unflake_engine::{Engine, Interrupt, Limits};
use unflake_known::junit_xml::NoReport;
use unflake_known::triage::{Seen, Triage, Triaged};
use unflake_model::{
    Environment, Evidence, Experiment, Order, Repetition, RunId, Suite, Tally, TestIndex, Verdict,
};
use unflake_stats::compare::fisher;

use unflake_campaign::deadline::Deadline;
use unflake_campaign::engine_world::{EngineWorld, Stopped};
use unflake_campaign::error::CampaignError;
use unflake_campaign::logbook::Progress;
use unflake_campaign::open::start;

/// Runs of a test under one other seed: that it does the same twice is what makes it a function of
/// the seed.
const RUNS_PER_SEED: u64 = 2;

/// What to do.
#[derive(Clone, Debug)]
pub struct TriageRequest {
    /// The report, as JUnit XML: one file, or several that belong together.
    pub reports: Vec<String>,
    /// Runs in each condition.
    pub tries: u64,
    /// Other seeds.
    pub n_seeds: u64,
    /// At most so many failed tests.
    pub tests_max: usize,
    /// When to stop.
    pub wall_max: Option<Duration>,
}

/// Why nothing could be found out.
#[derive(Debug, thiserror::Error)]
pub enum TriageError {
    /// The report makes no sense.
    #[error("it is no JUnit XML")]
    Report(#[from] NoReport),
    /// The tests could not be run.
    #[error(transparent)]
    Study(#[from] CampaignError),
}

/// Whether one condition had both outcomes.
fn is_mixed(seen: &Seen) -> bool {
    let conditions = [seen.alone, seen.again, seen.same_prefix];
    conditions.iter().chain(&seen.seeds).any(|tally| tally.is_mixed())
}

/// Whether the runs so far leave open what other seeds could answer.
fn asks_for_seeds(seen: &Seen) -> bool {
    !is_mixed(seen) && fails(seen.alone) == fails(seen.same_prefix)
}

/// The table above.
fn verdict(seen: &Seen) -> Verdict {
    let Some((alone, prefix)) = fails(seen.alone).zip(fails(seen.same_prefix)) else {
        return Verdict::InsufficientEvidence;
    };
    let by_seed: Vec<bool> = seen.seeds.iter().filter_map(|tally| fails(*tally)).collect();
    match (alone, prefix) {
        _ if is_mixed(seen) => Verdict::NodUndecided,
        (false, true) => Verdict::OdVictim,
        (true, false) => Verdict::OdBrittle,
        _ if by_seed.iter().any(|fails| *fails != alone) => Verdict::Id,
        (false, false) if fails(seen.again) == Some(true) => Verdict::Nio,
        (false, false) => Verdict::Ud,
        (true, true) => Verdict::AlwaysFailing,
    }
}

/// How sure the verdict is: one minus the chance to see this if it were otherwise. Of what was
/// always the same, [`Seen::rate_detectable`] says more.
fn sure(seen: &Seen, verdict: Verdict) -> Option<f64> {
    match verdict {
        Verdict::OdVictim | Verdict::OdBrittle => Some(1.0 - fisher(seen.alone, seen.same_prefix)),
        Verdict::NodUndecided => Some(1.0),
        Verdict::Nio => Some(1.0 - fisher(seen.alone, seen.again)),
        Verdict::Id => {
            // Each seed repeated its outcome; chance does so half of the time.
            let n_seeds = i32::try_from(seen.seeds.len()).unwrap_or(i32::MAX);
            Some(1.0 - 0.5_f64.powi(n_seeds))
        }
        Verdict::OdUnknownRole
        | Verdict::Ndod
        | Verdict::Ndoi
        | Verdict::Env
        | Verdict::Ud
        | Verdict::AlwaysFailing
        | Verdict::InsufficientEvidence
        | Verdict::NotFlaky => None,
    }
}

/// Whether the test failed, always; `None` if it was not seen.
fn fails(tally: Tally) -> Option<bool> {
    (0 < tally.attempts).then_some(0 < tally.failures)
}

/// Runs the failed tests of a report again, and says what they are.
pub fn triage(
    request: &TriageRequest,
    project: &dyn Part,
    limits: &Limits,
    interrupt: &Interrupt,
    progress: &mut dyn Progress,
) -> Result<Triage, TriageError> {
    // Several engines are started, and none after the time is up.
    let until = Deadline::new(request.wall_max, &interrupt.lasting());
    let interrupt = &until.interrupt;
    progress.stage("collecting tests");
    let engine = start(project, limits, interrupt)?;
    let warnings = collection_warnings(&engine);
    let suite = engine.suite(|_| Duration::ZERO);
    let ids: Vec<&str> = suite.tests().map(|test| suite.id(test).as_str()).collect();
    let report = project.ci_report(&request.reports, &ids)?;
    let mut bench = Bench::new(engine);
    let order: Vec<TestIndex> = report.order.iter().map(|place| TestIndex::new(*place)).collect();

    let mut looked_at = Vec::new();
    for (place, message) in report.failed.iter().take(request.tests_max) {
        let test = TestIndex::new(*place);
        progress.stage(&format!("running {} again", suite.id(test)));
        let n_before = order.iter().position(|it| *it == test).unwrap_or(0);
        let Ok(seen) = bench.look(test, &order[..n_before], request.tries) else { break };
        let message = message.clone();
        looked_at.push((test, n_before, message, seen));
    }
    let mut open: Vec<(TestIndex, &mut Seen)> = looked_at
        .iter_mut()
        .filter(|(.., seen)| asks_for_seeds(seen))
        .map(|(test, _, _, seen)| (*test, seen))
        .collect();
    if !open.is_empty() {
        progress.stage("running tests again under other open choices");
        let place = Place { project, limits, interrupt };
        place.try_seeds(request.n_seeds, &suite, &mut bench, &mut open)?;
    }
    let stays_open = |seen: &Seen| {
        let has_no_seed = 0 < request.n_seeds && seen.seeds.is_empty();
        interrupt.is_raised() && has_no_seed && asks_for_seeds(seen)
    };
    Ok(Triage {
        not_looked_into: report.failed[looked_at.len()..]
            .iter()
            .map(|(place, _)| suite.id(TestIndex::new(*place)).clone())
            .collect(),
        tests: looked_at
            .into_iter()
            .map(|(test, n_before, message, seen)| {
                let is_open = stays_open(&seen);
                let verdict = if is_open { Verdict::InsufficientEvidence } else { verdict(&seen) };
                let (test, sure) = (suite.id(test).clone(), sure(&seen, verdict));
                Triaged { test, message, n_before, seen, verdict, sure }
            })
            .collect(),
        n_reported: order.len(),
        unknown: report.unknown,
        warnings,
    })
}

/// Where to run tests, and how.
struct Place<'a> {
    project: &'a dyn Part,
    limits: &'a Limits,
    interrupt: &'a Interrupt,
}

impl Place<'_> {
    /// Runs tests under other seeds, until stopped.
    fn try_seeds(
        &self,
        n_seeds: u64,
        suite: &Suite,
        bench: &mut Bench,
        open: &mut [(TestIndex, &mut Seen)],
    ) -> Result<(), CampaignError> {
        for seed in 1..=n_seeds {
            let tried = match self.project.hashed_by(seed) {
                Some(hashed) => match start(&*hashed, self.limits, self.interrupt) {
                    Err(CampaignError::Interrupted) => return Ok(()),
                    started => Bench::new(started?).try_seed(Environment::Plain, suite, open),
                },
                None if self.project.abilities().choices.is_empty() => return Ok(()),
                None => bench.try_seed(Environment::open_choices(seed), suite, open),
            };
            if let Err(Stopped) = tried {
                return Ok(());
            }
        }
        Ok(())
    }
}

/// Runs one thing at a time.
struct Bench {
    world: EngineWorld,
    n_runs: u64,
}

impl Bench {
    fn new(engine: Engine) -> Self {
        Self { world: EngineWorld::new(engine, 1), n_runs: 0 }
    }

    /// Runs tests in an environment that goes with one seed.
    fn try_seed(
        &mut self,
        environment: Environment,
        suite: &Suite,
        open: &mut [(TestIndex, &mut Seen)],
    ) -> Result<(), Stopped> {
        let there = self.world.engine().suite(|_| Duration::ZERO);
        for (test, seen) in open {
            // A suite may be collected in another order under another seed.
            let Some(test) = there.find(suite.id(*test)) else { continue };
            seen.seeds.push(self.repeat(test, environment)?);
        }
        Ok(())
    }

    fn look(&mut self, test: TestIndex, before: &[TestIndex], tries: u64) -> Result<Seen, Stopped> {
        let mut seen = Seen::default();
        let suite = self.world.engine().suite(|_| Duration::ZERO);
        let after = suite.as_run(Order::from_distinct([before, &[test]].concat()));
        let twice = if suite.control().repeats { Repetition::Twice } else { Repetition::Once };
        // In turn, because failures come in bursts.
        for _ in 0..tries {
            let alone = self.run(Order::from_distinct([test]), twice, test)?;
            for (attempts, ended) in [&mut seen.alone, &mut seen.again].into_iter().zip(alone) {
                add(attempts, ended);
            }
            let prefix = self.run(after.clone(), Repetition::Once, test)?;
            for evidence in prefix {
                add(&mut seen.same_prefix, evidence);
            }
        }
        Ok(seen)
    }

    /// What a test does alone under one seed.
    fn repeat(&mut self, test: TestIndex, environment: Environment) -> Result<Tally, Stopped> {
        let mut tally = Tally::default();
        for _ in 0..RUNS_PER_SEED {
            let order = Order::from_distinct([test]);
            for evidence in self.run_in(environment, order, Repetition::Once, test)? {
                add(&mut tally, evidence);
            }
        }
        Ok(tally)
    }

    /// How each attempt of this test ended.
    fn run(
        &mut self,
        order: Order,
        repetition: Repetition,
        test: TestIndex,
    ) -> Result<Vec<Option<Evidence>>, Stopped> {
        self.run_in(Environment::Plain, order, repetition, test)
    }

    fn run_in(
        &mut self,
        environment: Environment,
        order: Order,
        repetition: Repetition,
        test: TestIndex,
    ) -> Result<Vec<Option<Evidence>>, Stopped> {
        let run = RunId(self.n_runs);
        self.n_runs += 1;
        let observation = self.world.run(&Experiment { run, order, environment, repetition })?;
        let attempts = observation.attempts.iter().filter(|attempt| attempt.test == test);
        Ok(attempts.map(|attempt| attempt.outcome.evidence()).collect())
    }
}

/// Counts an attempt that says something.
fn add(tally: &mut Tally, evidence: Option<Evidence>) {
    if let Some(evidence) = evidence {
        tally.add(evidence);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally(failures: u64) -> Tally {
        Tally { failures, attempts: 4 }
    }

    fn seen(alone: u64, again: u64, same_prefix: u64, seeds: &[u64]) -> Seen {
        let seeds = seeds.iter().map(|failures| Tally { failures: *failures, attempts: 2 });
        Seen {
            alone: tally(alone),
            again: tally(again),
            same_prefix: tally(same_prefix),
            seeds: seeds.collect(),
        }
    }

    #[test]
    fn the_whole_table_from_what_was_seen_to_the_verdict() {
        let table = [
            (seen(1, 0, 0, &[]), Verdict::NodUndecided),
            (seen(0, 0, 2, &[]), Verdict::NodUndecided),
            (seen(0, 0, 0, &[0, 1]), Verdict::NodUndecided),
            (seen(0, 0, 4, &[]), Verdict::OdVictim),
            (seen(4, 4, 0, &[]), Verdict::OdBrittle),
            (seen(0, 0, 0, &[2, 0, 2]), Verdict::Id),
            (seen(4, 4, 4, &[2, 0, 2]), Verdict::Id),
            (seen(0, 4, 0, &[0, 0]), Verdict::Nio),
            (seen(4, 4, 4, &[2, 2]), Verdict::AlwaysFailing),
            (seen(0, 0, 0, &[0, 0]), Verdict::Ud),
            (Seen::default(), Verdict::InsufficientEvidence),
        ];
        for (seen, expected) in table {
            assert_eq!(verdict(&seen), expected, "{seen:?}");
        }
    }

    #[test]
    fn seeds_are_asked_only_where_they_can_answer() {
        assert!(asks_for_seeds(&seen(4, 4, 4, &[])));
        assert!(asks_for_seeds(&seen(0, 0, 0, &[])));
        assert!(!asks_for_seeds(&seen(0, 0, 4, &[])));
        assert!(!asks_for_seeds(&seen(1, 0, 0, &[])));
    }

    #[test]
    fn four_runs_on_either_side_are_enough_to_be_sure() {
        // One of 70 ways to deal four failures out to eight runs, and its mirror image.
        let seen = seen(0, 0, 4, &[]);
        let sure = sure(&seen, Verdict::OdVictim).unwrap();
        assert!((sure - (1.0 - 2.0 / 70.0)).abs() < 1e-12, "{sure}");
    }
}
