//! How often tests failed in a rerun study: in the suite, alone, in which orders.

use std::rc::Rc;

use unflake_model::{Confidence, Suite};
use unflake_stats::rerun_study::Tables;

use crate::Warning;

/// What came of running a suite again and again.
#[derive(Debug)]
pub struct RerunStudy {
    /// All tests.
    pub suite: Rc<Suite>,
    /// What the runs say.
    pub tables: Tables,
    /// Whether all runs were made.
    pub is_whole: bool,
    /// Whether the user stopped it.
    pub is_interrupted: bool,
    /// Runs that were on record already.
    pub n_recalled: u64,
    /// The name of the campaign, if it is on record.
    pub campaign: Option<String>,
    /// For each order, a run that had it, as `unflake replay` takes it; none if not on record.
    pub order_runs: Vec<String>,
    /// How sure.
    pub confidence: Confidence,
    /// What limits the answer.
    pub warnings: Vec<Warning>,
}
