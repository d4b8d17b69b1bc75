//! How are the tests of a part collected?

use std::time::Instant;

use unflake_adapter::Part;
use unflake_engine::{Engine, Interrupt, Limits, StartErrorKind};
use unflake_known::Ended;

use crate::deadline::Deadline;
use crate::error::CampaignError;
use crate::world::Finish;

/// How a campaign ended: as `by_itself` says, unless it was stopped before.
pub fn how_it_ended(finish: Finish, by_itself: Ended, until: &Deadline) -> Ended {
    match finish {
        Finish::Complete => by_itself,
        Finish::Interrupted if until.is_late() => Ended::OutOfBudget,
        Finish::Interrupted => Ended::Interrupted,
    }
}

/// Collects the tests; it is an error if there are none.
pub fn start(
    project: &dyn Part,
    limits: &Limits,
    interrupt: &Interrupt,
) -> Result<Engine, CampaignError> {
    start_and(project, limits, interrupt, || ())
}

/// As [`start`], with something to do while the tests are collected.
pub(crate) fn start_and(
    project: &dyn Part,
    limits: &Limits,
    interrupt: &Interrupt,
    meanwhile: impl FnOnce(),
) -> Result<Engine, CampaignError> {
    let started = Engine::start_and(project.launch(limits), interrupt, meanwhile);
    let engine = started.map_err(|error| match error.kind {
        StartErrorKind::Interrupted => CampaignError::Interrupted,
        // Replaces what our agent would say in a language that it does not know.
        _ => match project.unsupported(interrupt) {
            Some((message, hint)) => CampaignError::Unsupported { message, hint },
            None => CampaignError::Start(error),
        },
    })?;
    let is_empty = engine.collected().tests.len() == engine.set_aside().len();
    if is_empty { Err(CampaignError::NoTests) } else { Ok(engine) }
}

/// The current time, for display or to limit waiting.
#[expect(clippy::disallowed_methods, reason = "how long it takes is shown, and bounds waiting")]
pub fn now() -> Instant {
    Instant::now()
}
