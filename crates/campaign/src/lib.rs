//! Campaigns: all runs that answer one question, from the first run to the report.
//!
//! An analysis asks, and a [`World`](world::World) answers: the engine for real projects, the
//! simulator in tests. Runs are recorded as they end; runs of an earlier, interrupted campaign are
//! recalled instead of made again.
//!
//! | module | question it answers |
//! |---|---|
//! | [`question`] | what is to be found out, and at what price? |
//! | [`open`], [`error`] | how are the tests of a part collected, and why not? |
//! | [`begin`] | does it begin anew, or where an earlier one was cut off? |
//! | `terms`, `fingerprint` | is it the same question about the same code? |
//! | `baseline` | does isolation change the suite? |
//! | [`drive`] | the loop between an analysis and the world that answers it |
//! | [`world`] | who answers experiments, and what is an answer? |
//! | [`engine_world`], `project_world` | the engine as a world; with the plain runner beside it |
//! | [`recall`], `lent` | which runs need not be made again? |
//! | [`record`], [`logbook`] | what is written down, and who is told of progress? |
//! | [`campaign`] | all of this for `detect` and `why` |
//! | `investigation` | which analysis answers which question? |
//! | `exhibits` | how did findings fare when they were put to the test? |
//! | [`gather`] | all tests once, with a look |
//! | [`dirt`], [`trace`] | what do tests leave behind, and what do they call? |
//! | [`history`] | what happened in earlier campaigns? |
//! | [`masked`], [`deadline`] | what is hidden, and when does the work end? |

pub mod baseline;
pub mod begin;
pub mod campaign;
pub mod deadline;
pub mod dirt;
pub mod drive;
pub mod engine_world;
pub mod error;
mod exhibits;
mod fingerprint;
pub mod gather;
pub mod history;
mod investigation;
mod lent;
pub mod logbook;
pub mod masked;
pub mod open;
mod project_world;
pub mod question;
pub mod recall;
pub mod record;
mod terms;
#[cfg(test)]
mod tests;
pub mod trace;
pub mod world;
