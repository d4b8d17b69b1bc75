//! Which circumstances make a test fail.
//!
//! Not a campaign over a suite, but one test, alone in its process, in many circumstances. A factor
//! is reported with how often the test failed with it and without it, in alternate runs, and a
//! command that makes it fail again. Factors that show nothing come with the rate that would have
//! been seen: not having seen a failure is no proof.

use std::time::Duration;

use unflake_model::{
    Confidence, Decides, Factor, Factors, RootCause, Spent, Tally, TestId, Verdict,
};

use crate::{Confirmation, Ended, Failure, Origin, Warning};

/// The result of shaking a test.
#[derive(Clone, Debug)]
pub struct Shaking {
    /// The test that was shaken.
    pub test: TestId,
    /// How it ends with everything held fixed.
    pub fixed: Tally,
    /// The factors that make it end differently.
    pub exhibits: Vec<Shook>,
    /// How it ended in the runs with each factor on that showed nothing.
    pub screened: Vec<(Factor, Tally)>,
    /// Factors that could not be tried, with the reason.
    pub refused: Vec<(Factor, String)>,
    /// Warnings about what limits the answer.
    pub warnings: Vec<Warning>,
    /// The cost of all runs.
    pub spent: Spent,
    /// How long it took.
    pub wall_time: Duration,
    /// Why it ended.
    pub ended: Ended,
    /// The confidence of intervals.
    pub confidence: Confidence,
    /// The runner, seed, command and campaign behind the answer.
    pub origin: Origin,
}

/// A factor, or several together, that make a test end differently.
#[derive(Clone, Debug)]
pub struct Shook {
    /// The factors that are needed.
    pub factors: Factors,
    /// What each factor was set to, in words.
    pub how: Vec<String>,
    /// The seed that decided these settings.
    pub seed: u64,
    /// How the test ended under that seed.
    pub under_seed: Tally,
    /// How it ended under fresh seeds.
    pub with: Tally,
    /// How it ended with everything held fixed, in runs that alternate with those.
    pub without: Tally,
    /// The probability of such a difference if the factors made none.
    pub p_value: f64,
    /// What decides the outcome while the factors are on.
    pub decides: Decides,
    /// Whether the factors make the test fail, not pass.
    pub makes_it_fail: bool,
    /// The root cause that they suggest, if known.
    pub cause: Option<RootCause>,
    /// The average time of the test when it failed and when it passed, where it did.
    pub took: (Option<Duration>, Option<Duration>),
    /// What a failure of the test said, if it failed.
    pub failure: Option<Failure>,
    /// The run on record in which it ended differently.
    pub run: Option<String>,
    /// How often that run ended in the same way when it was replayed.
    pub replayed: Confirmation,
    /// The command that shows the same without us, if there is one.
    pub plain: Option<Plainly>,
}

/// A command for the project's own runner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plainly {
    /// The command to paste.
    pub command: String,
    /// How often it showed the expected outcome.
    pub tried: Confirmation,
}

impl Shook {
    /// The verdict that this amounts to, if any: a test is implementation-dependent if choices that
    /// the language leaves open suffice to decide how it ends.
    pub fn verdict(&self) -> Option<Verdict> {
        let is_open = self.factors.without(Factors::OPEN_CHOICES).is_empty();
        (is_open && self.decides != Decides::Chance).then_some(Verdict::Id)
    }

    /// Whether its failing runs took much longer than its passing ones.
    pub fn fails_late(&self) -> bool {
        let longer = Duration::from_millis(100);
        matches!(self.took, (Some(failing), Some(passing)) if passing * 2 + longer < failing)
    }
}
