//! Everything a finished or interrupted campaign knows, in one value.
//!
//! Built by the code that ran the campaign, and read by every renderer. No part has a default: a
//! format that shows nothing because something was forgotten would mislead.

use std::rc::Rc;
use std::time::Duration;

use unflake_model::{
    Cause, Confidence, OutcomeChange, OutcomeKind, RunId, Spent, Suite, Tally, TestIndex,
};

use crate::{Exhibit, Failure, Origin, Warning};

/// Everything a finished or interrupted campaign knows.
#[derive(Clone, Debug)]
pub struct View<'a> {
    /// The tests of the project.
    pub suite: &'a Suite,
    /// The findings, each with what belongs to it; in any order.
    pub exhibits: &'a [Exhibit],
    /// Findings that share a root cause. A finding in none of these is a cause of its own.
    pub causes: &'a [Cause],
    /// Tests that ended in different ways, whatever that means.
    pub changes: &'a [OutcomeChange],
    /// Tests that failed in the last of the set-up runs, in the original order.
    pub set_up_failing: &'a [TestIndex],
    /// What each test did, by its position in the suite. Tests past the end never ran.
    pub records: &'a [Record],
    /// Warnings about what limits the answer.
    pub warnings: &'a [Warning],
    /// What was spent, summed over all workers.
    pub spent: Spent,
    /// How many runs of an earlier, unfinished start served as evidence, at no cost.
    pub n_recalled: u64,
    /// The wall-clock time it took.
    pub wall_time: Duration,
    /// How many whole orders were run.
    pub n_orders: u64,
    /// A test with this flake rate would have been seen to fail with [`View::confidence`].
    pub flake_rate_detectable: f64,
    /// How many hash seeds had runs, each with an order of its own; 1 if they were not varied.
    pub n_seeds: u64,
    /// The requested confidence, which is also that of the intervals.
    pub confidence: Confidence,
    /// Why the campaign stopped.
    pub ended: Ended,
    /// What was run, so that it can be run again.
    pub origin: &'a Origin,
}

/// Owns what a [`View`] shows.
#[derive(Clone, Debug)]
pub struct Findings {
    /// See [`View::suite`].
    pub suite: Rc<Suite>,
    /// See [`View::exhibits`].
    pub exhibits: Vec<Exhibit>,
    /// See [`View::causes`].
    pub causes: Vec<Cause>,
    /// See [`View::changes`].
    pub changes: Vec<OutcomeChange>,
    /// See [`View::set_up_failing`].
    pub set_up_failing: Vec<TestIndex>,
    /// See [`View::records`].
    pub records: Vec<Record>,
    /// See [`View::warnings`].
    pub warnings: Vec<Warning>,
    /// See [`View::spent`].
    pub spent: Spent,
    /// See [`View::n_recalled`].
    pub n_recalled: u64,
    /// See [`View::wall_time`].
    pub wall_time: Duration,
    /// See [`View::n_orders`].
    pub n_orders: u64,
    /// See [`View::flake_rate_detectable`].
    pub flake_rate_detectable: f64,
    /// See [`View::n_seeds`].
    pub n_seeds: u64,
    /// See [`View::confidence`].
    pub confidence: Confidence,
    /// See [`View::ended`].
    pub ended: Ended,
    /// See [`View::origin`].
    pub origin: Origin,
}

impl Findings {
    /// Borrows everything for showing.
    pub fn view(&self) -> View<'_> {
        View {
            suite: &self.suite,
            exhibits: &self.exhibits,
            causes: &self.causes,
            changes: &self.changes,
            set_up_failing: &self.set_up_failing,
            records: &self.records,
            warnings: &self.warnings,
            spent: self.spent,
            n_recalled: self.n_recalled,
            wall_time: self.wall_time,
            n_orders: self.n_orders,
            flake_rate_detectable: self.flake_rate_detectable,
            n_seeds: self.n_seeds,
            confidence: self.confidence,
            ended: self.ended,
            origin: &self.origin,
        }
    }
}

impl<'a> View<'a> {
    /// The exhibit of this test, if there is one.
    pub fn exhibit(&self, test: TestIndex) -> Option<&'a Exhibit> {
        self.exhibits.iter().find(|exhibit| exhibit.finding.test == test)
    }
}

/// What one test did in the plain environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// How often it passed and failed.
    pub tally: Tally,
    /// How often it was skipped.
    pub skipped: u64,
    /// The failed attempts that were kept, oldest first.
    pub failures: Vec<FailedAttempt>,
}

/// One attempt that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedAttempt {
    /// The run in which it failed.
    pub run: RunId,
    /// How it ended.
    pub outcome: OutcomeKind,
    /// The message and text of the failure.
    pub failure: Failure,
}

/// Why a campaign stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// Enough was run for the requested confidence.
    Confident,
    /// The budget did not cover more.
    OutOfBudget,
    /// The user stopped it.
    Interrupted,
}

impl Ended {
    /// All ways to end.
    pub const ALL: [Self; 3] = [Self::Confident, Self::OutOfBudget, Self::Interrupted];

    /// The name in machine-readable formats.
    pub fn slug(self) -> &'static str {
        match self {
            Self::Confident => "confident",
            Self::OutOfBudget => "out-of-budget",
            Self::Interrupted => "interrupted",
        }
    }
}
