//! How an experiment is made: here only.

use unflake_model::{Environment, Experiment, Order, Repetition, RunId, TestIndex};

/// A run of these tests, once each, as the project's own runner would have it.
pub(crate) fn once(run: u64, tests: impl Into<Vec<TestIndex>>) -> Experiment {
    experiment(run, tests, Environment::Plain, Repetition::Once)
}

pub(crate) fn experiment(
    run: u64,
    tests: impl Into<Vec<TestIndex>>,
    environment: Environment,
    repetition: Repetition,
) -> Experiment {
    let order = Order::from_distinct(tests.into());
    Experiment { environment, repetition, ..Experiment::new(RunId(run), order) }
}
