//! Why a campaign found out nothing.

use unflake_engine::StartError;
use unflake_model::TestId;

use crate::engine_world::WorldError;

/// Why a campaign found out nothing.
#[derive(Debug, thiserror::Error)]
pub enum CampaignError {
    /// The tests could not be collected.
    #[error(transparent)]
    Start(#[from] StartError),
    /// None of the project's tests can be run with what is installed.
    #[error("{message}")]
    Unsupported {
        /// Why they cannot be run.
        message: String,
        /// What to do about it.
        hint: String,
    },
    /// The engine broke down.
    #[error(transparent)]
    World(#[from] WorldError),
    /// The project has no tests.
    #[error("no tests were collected")]
    NoTests,
    /// The project does not have the test asked about.
    #[error("test `{id}` was not collected")]
    UnknownTest {
        /// The name that was asked for.
        id: TestId,
        /// Names with the same ending.
        similar: Vec<TestId>,
    },
    /// The user interrupted, or time was up, before anything was known.
    #[error("stopped before the first run was over")]
    Interrupted,
}
