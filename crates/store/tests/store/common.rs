//! A small suite, and runs of it.

use std::time::Duration;

use unflake_model::random::Random;
use unflake_model::{
    Attempt, Environment, Experiment, Observation, Order, Outcome, Phase, Repetition, RunId, Suite,
    SuiteBuilder, TestId, TestIndex,
};
use unflake_store::{Campaign, CampaignId, FailureText, Store};

pub(crate) fn test_id(name: &str) -> TestId {
    name.parse().unwrap()
}

/// Particularly difficult names, in classes that are not contiguous.
pub(crate) fn small_suite() -> Suite {
    let mut builder = SuiteBuilder::default();
    let tests = [
        ("a.py", "a.py::test_1[x y-☃]", 5),
        ("b.py", "b.py::test_1", 0),
        ("a.py", "a.py::test_2['; DROP TABLE tests; --]", 7_000_000),
        ("größe.py", "größe.py::TestX::test[a/b]", 1_000),
    ];
    for (class, name, nanoseconds) in tests {
        builder.push(class, test_id(name), Duration::from_nanos(nanoseconds));
    }
    builder.build().unwrap()
}

pub(crate) fn campaign<'a>(suite: &'a Suite, command: &'a str) -> Campaign<'a> {
    Campaign {
        command,
        started_unix_ms: 1_700_000_000_000,
        root: "/project",
        commit: Some("0123abcd"),
        runner: "pytest 8.3.1",
        runtime: "CPython 3.11.7",
        seed: u64::MAX - 1,
        settings: "{\"runs\": 40}",
        suite,
    }
}

/// A run derived from its number: some order, some outcomes, some durations.
pub(crate) fn any_run(suite: &Suite, number: u64) -> (Experiment, Observation) {
    let mut random = Random::labelled(7, &[number]);
    let mut tests: Vec<TestIndex> = suite.tests().collect();
    random.shuffle(&mut tests);
    tests.truncate(1 + random.below(tests.len()));
    let environment = match number % 3 {
        2 => Environment::open_choices(random.bits()),
        _ => Environment::Plain,
    };
    let repetition = if number % 5 == 4 { Repetition::Twice } else { Repetition::Once };
    let order = Order::from_distinct(tests);
    let mut attempts = Vec::new();
    for test in repetition.attempts(&order) {
        let outcome = match random.below(8) {
            0 => Outcome::Failed { phase: Phase::Call },
            1 => Outcome::Skipped,
            2 => Outcome::TimedOut { after: Duration::from_secs(3) },
            3 => Outcome::Crashed { signal: Some(11) },
            4 => Outcome::NotRun,
            _ => Outcome::Passed,
        };
        let duration = Duration::from_nanos(random.bits() >> 40);
        attempts.push(Attempt { test, outcome, duration });
    }
    let run = RunId(number);
    let duration = Duration::from_nanos(random.bits() >> 30);
    let experiment = Experiment { environment, repetition, ..Experiment::new(run, order) };
    (experiment, Observation::of(run, attempts, duration))
}

/// A plain run of these tests with these outcomes.
pub(crate) fn run(number: u64, outcomes: &[(usize, Outcome)]) -> (Experiment, Observation) {
    let tests: Vec<TestIndex> = outcomes.iter().map(|(test, _)| TestIndex::new(*test)).collect();
    let duration = Duration::from_millis(1);
    let attempts = tests
        .iter()
        .zip(outcomes)
        .map(|(test, (_, outcome))| Attempt { test: *test, outcome: *outcome, duration })
        .collect();
    let run = RunId(number);
    let order = Order::from_distinct(tests);
    let (environment, repetition) = (Environment::Plain, Repetition::Once);
    let experiment = Experiment { environment, repetition, ..Experiment::new(run, order) };
    (experiment, Observation::of(run, attempts, duration))
}

pub(crate) const PASSED: Outcome = Outcome::Passed;
pub(crate) const FAILED: Outcome = Outcome::Failed { phase: Phase::Call };

pub(crate) fn said<'a>(position: usize, message: &'a str, text: &'a str) -> FailureText<'a> {
    FailureText { position, attempt: 0, message, text }
}

pub(crate) fn record(store: &mut Store, id: CampaignId, run: &(Experiment, Observation)) {
    store.record(id, &run.0, &run.1, &[]).unwrap();
}

pub(crate) fn runs(store: &Store, id: CampaignId) -> Vec<(Experiment, Observation)> {
    store.runs(id).unwrap().map(Result::unwrap).collect()
}
