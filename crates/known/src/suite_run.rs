//! What one run of all tests showed, and what was known before about those that failed.

use std::time::Duration;

use unflake_model::{OutcomeKind, Suite, Tally, TestId, Verdict};

use crate::{Failure, KnownFactor, Origin, Record, Warning};

/// In which order to run the tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sequence {
    /// As the runner has them.
    Original,
    /// The other way round.
    Reverse,
    /// Classes shuffled, and the tests within each.
    Random,
}

impl Sequence {
    /// The word for it.
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
    /// All tests, with the run times that were measured.
    pub suite: Suite,
    /// What each test did.
    pub records: Vec<Record>,
    /// The tests that failed, in the order in which they did.
    pub failing: Vec<Failing>,
    /// Tests that never started.
    pub n_not_run: usize,
    /// What limits the answer.
    pub warnings: Vec<Warning>,
    /// How long it took.
    pub wall_time: Duration,
    /// What was run.
    pub origin: Origin,
}

/// A test that failed.
#[derive(Clone, Debug)]
pub struct Failing {
    /// Which.
    pub test: TestId,
    /// How.
    pub outcome: OutcomeKind,
    /// What it said.
    pub failure: Failure,
    /// What the history knows about it, if it was in it before.
    pub known: Option<Known>,
}

/// What the history knows about a test.
#[derive(Clone, Debug, Default)]
pub struct Known {
    /// Over all campaigns before this one.
    pub tally: Tally,
    /// The last verdict, and the campaign that came to it.
    pub verdict: Option<(Verdict, String)>,
    /// Groups of polluters found with that verdict that ran before it now.
    pub polluters: Vec<Vec<TestId>>,
    /// What was found to change how it ends when it was shaken.
    pub factors: Vec<KnownFactor>,
}
