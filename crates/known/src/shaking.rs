//! Which circumstances make a test fail.
//!
//! Not a campaign over a suite but one test, alone in its process, under many circumstances. What
//! is said about a factor is how often the test failed with it and without it, in runs made in
//! turn, and a command that makes it fail again. Factors that show nothing come with the rate that
//! would have been seen: not to have seen a failure is no proof.

use std::time::Duration;

use unflake_model::{
    Confidence, Decides, Factor, Factors, RootCause, Spent, Tally, TestId, Verdict,
};

use crate::{Confirmation, Ended, Failure, Origin, Warning};

/// What shaking a test has shown.
#[derive(Clone, Debug)]
pub struct Shaking {
    /// The test.
    pub test: TestId,
    /// How it ends with everything held fixed.
    pub fixed: Tally,
    /// What makes it end otherwise.
    pub exhibits: Vec<Shook>,
    /// Factors that show nothing: how it ended in the runs that had them on.
    pub screened: Vec<(Factor, Tally)>,
    /// Factors that could not be tried, and why.
    pub refused: Vec<(Factor, String)>,
    /// What limits the answer.
    pub warnings: Vec<Warning>,
    /// What was spent.
    pub spent: Spent,
    /// How long it took.
    pub wall_time: Duration,
    /// Whether it came to its end.
    pub ended: Ended,
    /// How sure intervals are.
    pub confidence: Confidence,
    /// What was run.
    pub origin: Origin,
}

/// A factor that makes a test end otherwise, or several together.
#[derive(Clone, Debug)]
pub struct Shook {
    /// Which.
    pub factors: Factors,
    /// What each was, in words.
    pub how: Vec<String>,
    /// The seed that made them so.
    pub seed: u64,
    /// Under that very seed.
    pub under_seed: Tally,
    /// Under seeds of their own.
    pub with: Tally,
    /// With everything held fixed, in turn with those.
    pub without: Tally,
    /// The probability of a difference like that if there were none.
    pub p_value: f64,
    /// What decides, while the factor is on.
    pub decides: Decides,
    /// Whether it is failing that they bring about, and not passing.
    pub makes_it_fail: bool,
    /// What lies behind it.
    pub cause: Option<RootCause>,
    /// How long the test took on average when it failed, and when it passed.
    pub took: (Option<Duration>, Option<Duration>),
    /// What it said.
    pub failure: Option<Failure>,
    /// The run on record in which it ended otherwise.
    pub run: Option<String>,
    /// How often that run, made again, ended as it did.
    pub replayed: Confirmation,
    /// The command that shows the same without us, where there is one.
    pub plain: Option<Plainly>,
}

/// A command for the project's own runner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plainly {
    /// The command.
    pub command: String,
    /// How often it showed what it should.
    pub tried: Confirmation,
}

impl Shook {
    /// The verdict it amounts to: choices that the language leaves open make a test
    /// implementation-dependent if they alone decide.
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
