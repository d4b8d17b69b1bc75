//! Which functions flaky tests call and others do not.

use unflake_calls::folds::Fold;
use unflake_calls::learn::{Learned, Score};

/// What was learned, and how good it is.
#[derive(Clone, Debug, PartialEq)]
pub struct Lesson {
    /// The number of tests it was learned from.
    pub n_tests: usize,
    /// The flaky ones among them.
    pub n_flaky: usize,
    /// The number of projects they belong to.
    pub n_projects: usize,
    /// Tests without a label, which were left out.
    pub n_unlabelled: usize,
    /// The functions that were learned.
    pub learned: Learned,
    /// How well this works for tests that were not seen.
    pub folds: Vec<Fold>,
    /// How well the built-in set does on the same tests.
    pub manual: Score,
}
