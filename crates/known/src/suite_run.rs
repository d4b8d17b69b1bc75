//! What one run of all tests showed, and what was known about those that failed.

use std::time::Duration;

use unflake_model::{OutcomeKind, Suite, Tally, TestId, Verdict};

use crate::{Failure, KnownFactor, Origin, Record, Warning};

/// The order in which to run the tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sequence {
    /// The runner's own order.
    Original,
    /// The original order, last to first.
    Reverse,
    /// Classes shuffled, and the tests within each.
    Random,
}

impl Sequence {
    /// The name of the order in texts.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Original => "original",
            Self::Reverse => "reverse",
            Self::Random => "random",
        }
    }
}

/// One run of all tests.
#[derive(Debug)]
pub struct SuiteRun {
    /// The order in which they ran.
    pub sequence: Sequence,
    /// All tests, with their measured run times.
    pub suite: Suite,
    /// What each test did.
    pub records: Vec<Record>,
    /// The tests that failed, in the order in which they ran.
    pub failing: Vec<Failing>,
    /// How many tests never started.
    pub n_not_run: usize,
    /// Warnings about what limits the answer.
    pub warnings: Vec<Warning>,
    /// How long it took.
    pub wall_time: Duration,
    /// The runner, seed, command and campaign behind the answer.
    pub origin: Origin,
}

/// A test that failed.
#[derive(Clone, Debug)]
pub struct Failing {
    /// The test that failed.
    pub test: TestId,
    /// How it ended.
    pub outcome: OutcomeKind,
    /// What the failure said.
    pub failure: Failure,
    /// What the history knows about it; `None` if it has no record of it.
    pub known: Option<Known>,
}

/// What the history knows about a test.
#[derive(Clone, Debug, Default)]
pub struct Known {
    /// How it fared in all campaigns before this one.
    pub tally: Tally,
    /// The last verdict, and the name of its campaign.
    pub verdict: Option<(Verdict, String)>,
    /// Groups of polluters found with that verdict that ran before the test in this run.
    pub polluters: Vec<Vec<TestId>>,
    /// Factors found when it was last shaken.
    pub factors: Vec<KnownFactor>,
}
