//! What running the failed tests of a report again has shown.

use unflake_model::{Confidence, Retried, TestId, Verdict};
use unflake_stats::plan::rate_detectable;

use crate::Warning;

/// What was found out about the failures of a report.
#[derive(Debug, Default)]
pub struct Triage {
    /// About each failed test, in the order of the report.
    pub tests: Vec<Triaged>,
    /// Tests in the report.
    pub n_reported: usize,
    /// Failed tests of the report that are not here.
    pub unknown: Vec<String>,
    /// Failed tests that were not looked into, because there are too many or time was up.
    pub not_looked_into: Vec<TestId>,
    /// What limits the answer.
    pub warnings: Vec<Warning>,
}

impl Triage {
    /// With what came of another module.
    pub fn add(&mut self, other: Self) {
        self.tests.extend(other.tests);
        self.unknown.extend(other.unknown);
        self.n_reported += other.n_reported;
        self.not_looked_into.extend(other.not_looked_into);
        self.warnings.extend(other.warnings);
    }
}

/// About one failed test.
#[derive(Clone, Debug, PartialEq)]
pub struct Triaged {
    /// Which.
    pub test: TestId,
    /// What the report said.
    pub message: String,
    /// Tests before it in the report.
    pub n_before: usize,
    /// What was seen.
    pub seen: Retried,
    /// What follows.
    pub verdict: Verdict,
    /// How sure that is: one minus the chance to see this if it were otherwise.
    pub sure: Option<f64>,
}

impl Triaged {
    /// The rate of the outcome never seen that would have been seen with this confidence.
    pub fn rate_detectable(&self, confidence: Confidence) -> f64 {
        rate_detectable(self.seen.all().attempts, confidence)
    }
}
