//! Which functions flaky tests call and others do not.

use unflake_calls::folds::Fold;
use unflake_calls::learn::{Learned, Score};

/// What was learned, and how good it is.
#[derive(Clone, Debug, PartialEq)]
pub struct Lesson {
    /// From how many tests.
    pub n_tests: usize,
    /// Of them flaky.
    pub n_flaky: usize,
    /// Of how many projects.
    pub n_projects: usize,
    /// Tests without a label, which were left out.
    pub n_unlabelled: usize,
    /// The functions.
    pub learned: Learned,
    /// For tests not seen.
    pub folds: Vec<Fold>,
    /// What the set made by hand does on the same tests.
    pub manual: Score,
}
