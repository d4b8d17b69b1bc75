//! The ledger counts what a naive recount counts, whenever the watch began.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests are outside of test functions, where clippy.toml allows it"
)]

use std::collections::BTreeSet;
use std::rc::Rc;
use std::time::Duration;

use proptest::prelude::*;
use unflake_detect::{Analysis, Lab};
use unflake_model::{
    Attempt, Budget, Confidence, Environment, Evidence, Experiment, Observation, Order, Outcome,
    OutcomeKind, Phase, Repetition, RunId, Suite, Tally, TestIndex,
};

const N_TESTS: usize = 4;

fn at(position: usize) -> TestIndex {
    TestIndex::new(position)
}

/// One run: what to ask for, and how each attempt ends.
#[derive(Clone, Debug)]
struct Script {
    order: Vec<usize>,
    environment: Environment,
    repetition: Repetition,
    outcomes: Vec<Outcome>,
}

impl Script {
    fn plain(order: &[usize], outcomes: &[Outcome]) -> Self {
        Self {
            order: order.to_vec(),
            environment: Environment::Plain,
            repetition: Repetition::Once,
            outcomes: outcomes.to_vec(),
        }
    }

    fn is_plain(&self) -> bool {
        self.environment == Environment::Plain && self.repetition == Repetition::Once
    }

    fn observation(&self, experiment: &Experiment) -> Observation {
        let tests = self.repetition.attempts(&experiment.order).into_iter();
        let attempt = |(test, outcome)| Attempt { test, outcome, duration: Duration::ZERO };
        Observation::of(
            experiment.run,
            tests.zip(self.outcomes.iter().copied()).map(attempt).collect(),
            Duration::from_secs(1),
        )
    }
}

const FAILED: Outcome = Outcome::Failed { phase: Phase::Call };
const TIMED_OUT: Outcome = Outcome::TimedOut { after: Duration::from_secs(1) };
const CRASHED: Outcome = Outcome::Crashed { signal: None };

/// A lab after these runs. Some tests are watched from the start, all of them at the end.
fn lab_after(scripts: &[Script], watched_early: &[TestIndex]) -> Lab {
    let suite = Rc::new(Suite::of_sizes(&[N_TESTS]).unwrap());
    let early = watched_early.to_vec();
    let plan = scripts.to_vec();
    let analysis = Analysis::new(suite, Budget::unlimited(Confidence::USUAL), |lab| async move {
        for test in early {
            lab.watch(test);
        }
        for script in plan {
            let order = script.order.iter().copied().map(at).collect::<Vec<_>>();
            let order = Order::from_distinct(order);
            lab.run_with(order, script.environment, script.repetition).await.unwrap();
        }
        for test in lab.suite().tests() {
            lab.watch(test);
        }
        lab
    });
    let mut answers = scripts.iter();
    let (lab, _) = analysis.drive(1, |experiments| {
        let answer = |e: &Experiment| answers.next().expect("one answer a run").observation(e);
        experiments.iter().map(answer).collect()
    });
    lab
}

/// How the target fared after the prefix, counted run by run.
fn recount(scripts: &[Script], prefix: &[usize], target: usize) -> Tally {
    let mut tally = Tally::default();
    for script in scripts.iter().filter(|script| script.is_plain()) {
        let position = script.order.iter().position(|test| *test == target);
        if let Some(position) = position.filter(|p| script.order[..*p] == *prefix)
            && let Some(evidence) = script.outcomes[position].evidence()
        {
            tally.add(evidence);
        }
    }
    tally
}

/// All lists of distinct tests without the target.
fn prefixes(target: usize) -> Vec<Vec<usize>> {
    let mut all = vec![Vec::new()];
    let mut next = 0;
    while next < all.len() {
        let prefix = all[next].clone();
        let is_new = |test: &usize| *test != target && !prefix.contains(test);
        all.extend((0..N_TESTS).filter(is_new).map(|test| [prefix.as_slice(), &[test]].concat()));
        next += 1;
    }
    all
}

fn outcome() -> impl Strategy<Value = Outcome> {
    proptest::sample::select(vec![
        Outcome::Passed,
        FAILED,
        Outcome::Error,
        Outcome::Skipped,
        TIMED_OUT,
        CRASHED,
        Outcome::NotRun,
    ])
}

fn script() -> impl Strategy<Value = Script> {
    let order = proptest::sample::subsequence(vec![0, 1, 2, 3], 1..=N_TESTS).prop_shuffle();
    let environment = proptest::sample::select(vec![
        Environment::Plain,
        Environment::Plain,
        Environment::Plain,
        Environment::open_choices(1),
    ]);
    let repetition = proptest::sample::select(vec![
        Repetition::Once,
        Repetition::Once,
        Repetition::Once,
        Repetition::Twice,
    ]);
    let outcomes = proptest::collection::vec(outcome(), 2 * N_TESTS);
    (order, environment, repetition, outcomes).prop_map(|(order, environment, repetition, all)| {
        let n_attempts = order.len() * if repetition == Repetition::Twice { 2 } else { 1 };
        Script { order, environment, repetition, outcomes: all[..n_attempts].to_vec() }
    })
}

fn indices(positions: &[usize]) -> Vec<TestIndex> {
    positions.iter().copied().map(at).collect()
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 300, failure_persistence: None, ..ProptestConfig::default()
    })]

    #[test]
    fn the_tally_after_a_prefix_is_what_a_recount_gives(
        scripts in proptest::collection::vec(script(), 0..60),
    ) {
        let lab = lab_after(&scripts, &[at(0), at(1)]);
        let ledger = lab.ledger();
        for target in 0..N_TESTS {
            let mut seen = Vec::new();
            for prefix in prefixes(target) {
                let expected = recount(&scripts, &prefix, target);
                let tally = ledger.tally_after(Environment::Plain, &indices(&prefix), at(target));
                prop_assert_eq!(tally, expected);
                seen.extend((0 < expected.attempts).then_some(expected));
            }
            let key = |tally: &Tally| (tally.failures, tally.attempts);
            let mut tallies = ledger.tallies(Environment::Plain, at(target));
            tallies.sort_by_key(key);
            seen.sort_by_key(key);
            prop_assert_eq!(&tallies, &seen, "one tally for each prefix");
            let is_mixed = seen.iter().any(|tally| tally.is_mixed());
            prop_assert_eq!(ledger.is_non_deterministic(at(target)), is_mixed);
            let sum = |f: fn(&Tally) -> u64| seen.iter().map(f).sum::<u64>();
            let total = ledger.of(at(target)).tally;
            prop_assert_eq!(total.failures, sum(|t| t.failures));
            prop_assert_eq!(total.attempts, sum(|t| t.attempts));
        }
    }

    #[test]
    fn watching_late_shows_what_watching_early_shows(
        scripts in proptest::collection::vec(script(), 0..40),
    ) {
        let all: Vec<TestIndex> = (0..N_TESTS).map(at).collect();
        let (early, late) = (lab_after(&scripts, &all), lab_after(&scripts, &[]));
        let (early, late) = (early.ledger(), late.ledger());
        for target in all {
            let plain = Environment::Plain;
            prop_assert_eq!(early.tallies(plain, target), late.tallies(plain, target));
            for evidence in [Evidence::Pass, Evidence::Fail] {
                prop_assert_eq!(
                    early.shortest_prefix(Environment::Plain, target, evidence),
                    late.shortest_prefix(Environment::Plain, target, evidence)
                );
            }
            let sightings = |ledger: &unflake_detect::ledger::Ledger| -> Vec<_> {
                ledger.attempts(target).map(|a| (a.prefix().to_vec(), a.evidence)).collect()
            };
            prop_assert_eq!(sightings(&early), sightings(&late));
        }
    }

    #[test]
    fn a_test_ended_the_process_if_some_run_says_so(
        scripts in proptest::collection::vec(script(), 0..20),
    ) {
        let mut enders = BTreeSet::new();
        for script in &scripts {
            let order = Order::from_distinct(indices(&script.order));
            let tests = script.repetition.attempts(&order);
            for (test, outcome) in tests.into_iter().zip(&script.outcomes) {
                if matches!(outcome, Outcome::Crashed { .. } | Outcome::TimedOut { .. }) {
                    enders.insert(test);
                }
            }
        }
        let lab = lab_after(&scripts, &[]);
        let ledger = lab.ledger();
        prop_assert_eq!(ledger.process_enders(), &enders);
    }
}

#[test]
fn not_run_and_skipped_are_no_evidence_and_not_run_is_no_change() {
    use Outcome::{NotRun, Passed, Skipped};
    let scripts = [
        Script::plain(&[0, 1, 2, 3], &[NotRun, Skipped, Passed, CRASHED]),
        Script::plain(&[0, 1, 2, 3], &[Skipped, Skipped, NotRun, NotRun]),
    ];
    let lab = lab_after(&scripts, &[]);
    let ledger = lab.ledger();
    for test in [0, 1] {
        let record = ledger.of(at(test));
        assert_eq!(
            (record.tally, record.passed_in, record.failed_in),
            (Tally::default(), None, None)
        );
        assert_eq!(ledger.attempts(at(test)).count(), 0);
    }
    assert_eq!(ledger.of(at(2)).tally, Tally { failures: 0, attempts: 1 });
    assert_eq!(ledger.of(at(3)).tally, Tally { failures: 1, attempts: 1 });
    assert_eq!(ledger.changes().count(), 0);
}

#[test]
fn passed_after_skipped_is_kept_as_a_change_with_its_runs() {
    use Outcome::{Passed, Skipped};
    let scripts = [
        Script::plain(&[0, 1], &[Skipped, Passed]),
        Script::plain(&[0, 1], &[Skipped, Passed]),
        Script::plain(&[1, 0], &[Passed, Passed]),
        Script::plain(&[1, 0], &[Passed, FAILED]),
    ];
    let lab = lab_after(&scripts, &[]);
    let changes: Vec<_> = lab.ledger().changes().collect();
    assert_eq!(changes.len(), 1);
    assert_eq!(changes[0].test, at(0));
    assert_eq!(changes[0].first, (RunId(0), OutcomeKind::Skipped));
    assert_eq!(changes[0].later, (RunId(2), OutcomeKind::Passed));
}

#[test]
fn perturbed_and_repeated_runs_count_for_nothing_but_process_ends() {
    let repeated = Script {
        repetition: Repetition::Twice,
        ..Script::plain(&[0, 1], &[Outcome::Passed, FAILED, TIMED_OUT, Outcome::NotRun])
    };
    let perturbed = Script {
        environment: Environment::open_choices(0),
        ..Script::plain(&[0, 2], &[FAILED, CRASHED])
    };
    let scripts = [repeated, perturbed, Script::plain(&[0], &[Outcome::Passed])];
    let lab = lab_after(&scripts, &[]);
    let ledger = lab.ledger();
    assert_eq!(ledger.of(at(0)).tally, Tally { failures: 0, attempts: 1 });
    assert_eq!(ledger.of(at(0)).passed_in, Some(RunId(2)));
    assert!(!ledger.has_failed(at(0)));
    assert_eq!(ledger.tallies(Environment::Plain, at(0)), [Tally { failures: 0, attempts: 1 }]);
    assert_eq!(ledger.changes().count(), 0);
    assert_eq!(ledger.process_enders().iter().copied().collect::<Vec<_>>(), [at(1), at(2)]);
    assert_eq!(ledger.run(RunId(0)).unwrap().outcomes().count(), 4);
}

#[test]
fn the_shortest_prefix_is_the_shortest_that_showed_it() {
    use Outcome::Passed;
    let scripts = [
        Script::plain(&[0, 1, 2], &[Passed, Passed, FAILED]),
        Script::plain(&[3, 2], &[Passed, FAILED]),
        Script::plain(&[1, 2], &[Passed, FAILED]),
        Script::plain(&[0, 2], &[Passed, Passed]),
    ];
    let lab = lab_after(&scripts, &[]);
    let ledger = lab.ledger();
    assert_eq!(
        ledger.shortest_prefix(Environment::Plain, at(2), Evidence::Fail),
        Some(vec![at(1)])
    );
    assert_eq!(
        ledger.shortest_prefix(Environment::Plain, at(2), Evidence::Pass),
        Some(vec![at(0)])
    );
    assert_eq!(ledger.shortest_prefix(Environment::Plain, at(3), Evidence::Fail), None);
}

#[test]
fn a_test_that_was_never_started_costs_no_attempt() {
    let scripts = [Script::plain(&[0, 1, 2], &[Outcome::Passed, CRASHED, Outcome::NotRun])];
    let lab = lab_after(&scripts, &[]);
    let spent = lab.ledger().run(RunId(0)).unwrap().spent;
    assert_eq!((spent.runs, spent.attempts, spent.time), (1, 2, Duration::from_secs(1)));
    assert_eq!(lab.spent(), spent);
}
