//! Why nothing could be found out.

use unflake_engine::StartError;
use unflake_model::TestId;

use crate::engine_world::WorldError;

/// Why nothing could be found out.
#[derive(Debug, thiserror::Error)]
pub enum CampaignError {
    /// The tests could not be collected.
    #[error(transparent)]
    Start(#[from] StartError),
    /// No test of it can be run with what there is.
    #[error("{message}")]
    Unsupported {
        /// Why.
        message: String,
        /// What to do about it.
        hint: String,
    },
    /// The engine broke down.
    #[error(transparent)]
    World(#[from] WorldError),
    /// There is nothing to look into.
    #[error("no tests were collected")]
    NoTests,
    /// The test asked about is not there.
    #[error("test `{id}` was not collected")]
    UnknownTest {
        /// The name given.
        id: TestId,
        /// Names that end like it.
        similar: Vec<TestId>,
    },
    /// The user interrupted, or the time was up, before anything was known.
    #[error("stopped before the first run was over")]
    Interrupted,
}
