//! Large suites: how many bytes an attempt costs.

use std::fs;
use std::time::Duration;

use unflake_model::random::Random;
use unflake_model::{
    Attempt, Environment, Experiment, Observation, Order, Outcome, Phase, Repetition, RunId, Suite,
    SuiteBuilder, TestIndex,
};
use unflake_store::Store;

use crate::common::{campaign, record, runs, test_id};

const N_CLASSES: usize = 1_000;
const CLASS_LEN: usize = 10;
const N_RUNS: u64 = 10;

fn suite() -> Suite {
    let mut builder = SuiteBuilder::default();
    for class in 0..N_CLASSES {
        for test in 0..CLASS_LEN {
            let class = format!("tests/unit/test_module_{class}.py");
            let name = format!("{class}::test_behaviour_{test}");
            builder.push(&class, test_id(&name), Duration::from_millis(3));
        }
    }
    builder.build().unwrap()
}

/// A run of all tests in this order: one in a thousand fails, one in fifty is skipped, and each
/// takes about a millisecond, measured in microseconds.
fn a_run(number: u64, tests: Vec<TestIndex>) -> (Experiment, Observation) {
    let mut random = Random::labelled(1, &[number]);
    let mut attempt = |test: &TestIndex| {
        let outcome = match random.below(1_000) {
            0 => Outcome::Failed { phase: Phase::Call },
            1..=20 => Outcome::Skipped,
            _ => Outcome::Passed,
        };
        let micros = 200 + random.below(1_800) as u64;
        Attempt { test: *test, outcome, duration: Duration::from_micros(micros) }
    };
    let attempts = tests.iter().map(&mut attempt).collect();
    let (run, environment, repetition) = (RunId(number), Environment::Plain, Repetition::Once);
    let experiment =
        Experiment { environment, repetition, ..Experiment::new(run, Order::from_distinct(tests)) };
    (experiment, Observation::of(run, attempts, Duration::from_secs(10)))
}

/// Classes shuffled, and the tests within them, as a campaign runs them.
fn class_compatible(suite: &Suite, random: &mut Random) -> Vec<TestIndex> {
    let mut classes = suite.classes().to_vec();
    random.shuffle(&mut classes);
    for class in &mut classes {
        random.shuffle(class);
    }
    classes.concat()
}

fn any_order(suite: &Suite, random: &mut Random) -> Vec<TestIndex> {
    let mut tests: Vec<TestIndex> = suite.tests().collect();
    random.shuffle(&mut tests);
    tests
}

fn bytes_per_attempt(order: impl Fn(&Suite, &mut Random) -> Vec<TestIndex>) -> f64 {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("history.sqlite");
    let suite = suite();
    let mut store = Store::open(&path).unwrap();
    let id = store.begin(&campaign(&suite, "detect")).unwrap();
    store.prune(9).unwrap();
    drop(store);
    let before = fs::metadata(&path).unwrap().len();
    let mut store = Store::open(&path).unwrap();
    let mut random = Random::new(1);
    let recorded: Vec<_> =
        (0..N_RUNS).map(|number| a_run(number, order(&suite, &mut random))).collect();
    for run in &recorded {
        record(&mut store, id, run);
    }
    drop(store);
    let store = Store::open(&path).unwrap();
    assert_eq!(runs(&store, id), recorded);
    let after = fs::metadata(&path).unwrap().len();
    let n_attempts = N_RUNS * suite.n_tests() as u64;
    (after - before) as f64 / n_attempts as f64
}

#[test]
fn an_attempt_costs_less_than_three_bytes_in_class_order_and_four_in_any() {
    let in_class_order = bytes_per_attempt(class_compatible);
    let in_any_order = bytes_per_attempt(any_order);
    assert!((1.0..3.0).contains(&in_class_order), "{in_class_order} bytes");
    assert!((in_class_order..4.0).contains(&in_any_order), "{in_any_order} bytes");
}
