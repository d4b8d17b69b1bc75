//! What comes of a run by the project's own runner, whichever it is.

use std::time::Duration;

use unflake_model::Outcome;

use crate::process::Exit;

/// What came of a plain run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlainRun {
    /// What was said about each test, in the order in which they were asked for.
    pub tests: Vec<Said>,
    /// How it came to its end.
    pub ending: PlainEnding,
    /// Whether the tests ran in the order in which they were asked for.
    pub is_in_order: bool,
    /// Reports about something else: a file that could not be collected, a test nobody asked for.
    pub strangers: Vec<String>,
    /// The end of what the runner wrote.
    pub output: String,
    /// How long it took.
    pub duration: Duration,
}

/// What was said about one test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said {
    /// How it ended; [`Outcome::NotRun`] if nothing was said.
    pub outcome: Outcome,
    /// The complaint.
    pub text: String,
}

/// How a plain run came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlainEnding {
    /// With a report.
    Complete,
    /// It refused to run these tests with these options.
    Refused,
    /// Without a report: a build failed, or the process of the tests died. Which test was under way
    /// is not known.
    Died(Exit),
    /// It took too long and was stopped.
    TimedOut,
    /// We were asked to stop.
    Interrupted,
}
