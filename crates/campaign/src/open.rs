//! How are the tests of a part collected?

use std::time::Instant;

use unflake_adapter::Part;
use unflake_engine::{Engine, Interrupt, Limits, StartError, StartErrorKind};
use unflake_known::Ended;
use unflake_model::{Suite, TestId, TestIndex};

use crate::deadline::Deadline;
use crate::drive::Finish;
use crate::engine_world::WorldError;
use crate::history::similar;
use crate::question::Question;

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

/// How a campaign ended that came to this end by itself, unless it was stopped before.
pub fn how_it_ended(finish: Finish, by_itself: Ended, until: &Deadline) -> Ended {
    match finish {
        Finish::Complete => by_itself,
        Finish::Interrupted if until.is_late() => Ended::OutOfBudget,
        Finish::Interrupted => Ended::Interrupted,
    }
}

/// Collects the tests, of which there must be some.
pub fn start(
    project: &dyn Part,
    limits: &Limits,
    interrupt: &Interrupt,
) -> Result<Engine, CampaignError> {
    start_and(project, limits, interrupt, || ())
}

/// The same, with something to be done while the tests are collected.
pub(crate) fn start_and(
    project: &dyn Part,
    limits: &Limits,
    interrupt: &Interrupt,
    meanwhile: impl FnOnce(),
) -> Result<Engine, CampaignError> {
    let started = Engine::start_and(project.launch(limits), interrupt, meanwhile);
    let engine = started.map_err(|error| match error.kind {
        StartErrorKind::Interrupted => CampaignError::Interrupted,
        // Said instead of what our agent has to say in a language that it does not know.
        _ => match project.unsupported(interrupt) {
            Some((message, hint)) => CampaignError::Unsupported { message, hint },
            None => CampaignError::Start(error),
        },
    })?;
    let is_empty = engine.collected().tests.len() == engine.set_aside().len();
    if is_empty { Err(CampaignError::NoTests) } else { Ok(engine) }
}

/// The time, to be shown or to bound waiting.
#[expect(clippy::disallowed_methods, reason = "how long it takes is shown, and bounds waiting")]
pub fn now() -> Instant {
    Instant::now()
}

/// The test in question, if it is about one.
pub fn target(question: &Question, suite: &Suite) -> Result<Option<TestIndex>, CampaignError> {
    let Question::Test(id) = question else { return Ok(None) };
    // A path that looks like an option is typed with a dot before it.
    let plain = id.as_str().strip_prefix("./").and_then(|plain| plain.parse().ok());
    let found = suite.find(id).or_else(|| suite.find(plain.as_ref()?));
    found
        .map(Some)
        .ok_or_else(|| CampaignError::UnknownTest { id: id.clone(), similar: similar(suite, id) })
}
