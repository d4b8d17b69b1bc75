//! How often tests failed in a rerun study: in the suite, alone, in which orders.

use std::rc::Rc;

use unflake_model::{Confidence, Suite};
use unflake_stats::rerun_study::Tables;

use crate::Warning;

/// The result of running a suite again and again.
#[derive(Debug)]
pub struct RerunStudy {
    /// The tests of the project.
    pub suite: Rc<Suite>,
    /// The statistics of all runs.
    pub tables: Tables,
    /// Whether all runs were made.
    pub is_whole: bool,
    /// Whether the user stopped it.
    pub is_interrupted: bool,
    /// How many runs were on record already.
    pub n_recalled: u64,
    /// The name of the campaign, if it is on record.
    pub campaign: Option<String>,
    /// For each order, the name of a run that had it, for `unflake replay`; empty if not on record.
    pub order_runs: Vec<String>,
    /// The confidence of intervals.
    pub confidence: Confidence,
    /// Warnings about what limits the answer.
    pub warnings: Vec<Warning>,
}
