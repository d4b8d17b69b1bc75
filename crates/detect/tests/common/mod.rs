//! Drives an analysis on a simulated suite.

use std::rc::Rc;

use unflake_detect::{Analysis, Lab};
use unflake_model::random::Random;
use unflake_model::{Budget, Confidence, Spent, TestIndex};
use unflake_sim::{SimSuite, answer_all};

/// Answers every batch of at most `width` experiments, each batch in a random order.
pub(crate) fn drive<T, F>(
    sim: &SimSuite,
    budget: Budget,
    width: usize,
    analysis: impl FnOnce(Lab) -> F,
) -> (T, Spent)
where
    T: 'static,
    F: Future<Output = T> + 'static,
{
    let mut random = Random::new(width as u64);
    Analysis::new(Rc::new(sim.suite().clone()), budget, analysis)
        .drive(width, |experiments| answer_all(sim, experiments, &mut random))
}

/// An unlimited budget with 99 % confidence.
pub(crate) fn unlimited() -> Budget {
    Budget::unlimited(Confidence::new(0.99).unwrap())
}

/// The test at this position.
pub(crate) fn at(position: usize) -> TestIndex {
    TestIndex::new(position)
}
