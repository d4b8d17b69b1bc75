//! The result of a run by the project's own runner, whichever it is.

use std::time::Duration;

use unflake_model::Outcome;

use crate::process::Exit;

/// The result of a plain run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlainRun {
    /// The results of the tests, in the order in which they were asked for.
    pub tests: Vec<Said>,
    /// How the run ended.
    pub ending: PlainEnding,
    /// Whether the tests ran in the order in which they were asked for.
    pub is_in_order: bool,
    /// Names of unexpected reports: a file that could not be collected, a test nobody asked for.
    pub strangers: Vec<String>,
    /// The end of the runner's output.
    pub output: String,
    /// How long it took.
    pub duration: Duration,
}

/// The result of one test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said {
    /// How it ended; [`Outcome::NotRun`] if there is no report of it.
    pub outcome: Outcome,
    /// The text of the complaint.
    pub text: String,
}

/// How a plain run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlainEnding {
    /// It wrote a report.
    Complete,
    /// It refused to run these tests with these options.
    Refused,
    /// It wrote no report: a build failed, or the process of the tests died. Which test was running
    /// is not known.
    Died(Exit),
    /// It took too long and was stopped.
    TimedOut,
    /// We were asked to stop it.
    Interrupted,
}
