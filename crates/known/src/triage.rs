//! What rerunning the failed tests of a report showed.

use unflake_model::{Confidence, Retried, TestId, Verdict};
use unflake_stats::plan::rate_detectable;

use crate::Warning;

/// What was found out about the failures of a report.
#[derive(Debug, Default)]
pub struct Triage {
    /// The failed tests, in the order of the report.
    pub tests: Vec<Triaged>,
    /// How many tests the report has.
    pub n_reported: usize,
    /// Failed tests of the report that do not exist here.
    pub unknown: Vec<String>,
    /// Failed tests that were not investigated, because there were too many or time was up.
    pub not_looked_into: Vec<TestId>,
    /// Warnings about what limits the answer.
    pub warnings: Vec<Warning>,
}

impl Triage {
    /// Adds the results of another module.
    pub fn add(&mut self, other: Self) {
        self.tests.extend(other.tests);
        self.unknown.extend(other.unknown);
        self.n_reported += other.n_reported;
        self.not_looked_into.extend(other.not_looked_into);
        self.warnings.extend(other.warnings);
    }
}

/// What was found out about one failed test.
#[derive(Clone, Debug, PartialEq)]
pub struct Triaged {
    /// The test that failed.
    pub test: TestId,
    /// What the report said.
    pub message: String,
    /// How many tests come before it in the report.
    pub n_before: usize,
    /// What was seen when it was rerun.
    pub seen: Retried,
    /// The verdict that follows.
    pub verdict: Verdict,
    /// One minus the chance of seeing this if the verdict were wrong; `None` if it is not known.
    pub sure: Option<f64>,
}

impl Triaged {
    /// How often an outcome that was never seen could still occur, with this confidence.
    pub fn rate_detectable(&self, confidence: Confidence) -> f64 {
        rate_detectable(self.seen.all().attempts, confidence)
    }
}
