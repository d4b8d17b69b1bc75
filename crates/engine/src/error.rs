//! What can go wrong, each with advice.

use std::ffi::OsString;
use std::io;
use std::time::Duration;

use unflake_model::RunId;

use crate::process::Exit;

/// The agent could not be brought up.
#[derive(Debug, thiserror::Error)]
#[error("cannot start the tests with `{}`", .program.display())]
pub struct StartError {
    /// The interpreter, as it was given.
    pub program: OsString,
    /// What went wrong.
    #[source]
    pub kind: StartErrorKind,
    /// The end of what the process wrote to its standard error.
    pub stderr: String,
}

/// What went wrong when an agent was brought up.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartErrorKind {
    /// There is no such program, or it cannot be executed.
    #[error("the interpreter cannot be run: {0}")]
    Interpreter(io::Error),
    /// Our own folder, socket or thread could not be made.
    #[error("cannot prepare the folder for the runs: {0}")]
    Folder(io::Error),
    /// The process ended before collection was complete.
    #[error("the process ended before the tests were collected: {0}")]
    Died(Exit),
    /// The agent speaks another version of the protocol.
    #[error("the agent speaks version {found} of the protocol, this build speaks {known}")]
    Version {
        /// The agent's version.
        found: u32,
        /// Our version.
        known: u32,
    },
    /// The agent sent something that makes no sense.
    #[error("the agent said something that makes no sense: {0}")]
    Protocol(String),
    /// The runner could not collect.
    #[error("{what}")]
    Failed {
        /// The step that failed.
        what: String,
        /// The whole complaint.
        text: String,
    },
    /// There are no tests.
    #[error("no tests were collected")]
    NothingCollected {
        /// What could not be collected, with the complaint.
        errors: Vec<(String, String)>,
    },
    /// A fresh agent found other tests than the first one.
    #[error("collecting again gave other tests: {difference}")]
    SuiteChanged {
        /// The first difference between both.
        difference: String,
    },
    /// Collecting took too long.
    #[error("the tests were not collected within {after:?}")]
    TimedOut {
        /// The time limit.
        after: Duration,
    },
    /// We were asked to stop.
    #[error("interrupted")]
    Interrupted,
}

impl StartError {
    /// The complaint in full, if there is one.
    pub fn complaint(&self) -> Option<String> {
        let said = match &self.kind {
            StartErrorKind::Failed { text, .. } => text.clone(),
            StartErrorKind::NothingCollected { errors } => {
                let parts = errors.iter().map(|(place, text)| format!("{place}\n{text}"));
                parts.collect::<Vec<_>>().join("\n")
            }
            StartErrorKind::Died(_) | StartErrorKind::TimedOut { .. } => self.stderr.clone(),
            _ => String::new(),
        };
        (!said.trim().is_empty()).then_some(said)
    }

    /// What the user can do about it; `program_option` is the option that names another program to
    /// run the tests with, if there is one.
    pub fn hint(&self, program_option: Option<&str>) -> Option<String> {
        match &self.kind {
            StartErrorKind::Interpreter(_) | StartErrorKind::Died(_) => {
                Some(format!("name the interpreter of the project with `{}`", program_option?))
            }
            StartErrorKind::Folder(_) => {
                Some("set TMPDIR to a short path with room, where you may write".to_owned())
            }
            StartErrorKind::Failed { .. } => {
                let option = program_option?;
                Some(format!("if the project needs another interpreter, name it with `{option}`"))
            }
            StartErrorKind::TimedOut { .. } => {
                Some("name fewer paths, or give it more time".to_owned())
            }
            StartErrorKind::NothingCollected { errors } if errors.is_empty() => {
                Some("name the paths of the tests, as you would to the runner".to_owned())
            }
            _ => None,
        }
    }
}

/// An experiment that this engine cannot make.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SubmitError {
    /// Circumstances cannot be perturbed with this agent.
    #[error("run {}: this agent cannot perturb a run", .run.0)]
    Perturbed {
        /// The number of the run.
        run: RunId,
    },
    /// The order names a test that was not collected.
    #[error("run {}: test {test} does not exist: {n_tests} tests were collected", .run.0)]
    UnknownTest {
        /// The number of the run.
        run: RunId,
        /// The test number given.
        test: usize,
        /// How many tests the suite has.
        n_tests: usize,
    },
    /// A run with this number is waiting or running.
    #[error("run {} was submitted twice", .run.0)]
    Duplicate {
        /// The number of the run.
        run: RunId,
    },
}

/// The engine cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The agent dies whenever it is started.
    #[error("the agent died {n_deaths} times in a row without finishing a run, last: {last}")]
    AgentKeepsDying {
        /// How often it died in a row.
        n_deaths: u32,
        /// How it ended the last time.
        last: String,
        /// The end of what it wrote to its standard error.
        stderr: String,
    },
    /// No folder, process or thread could be made for a run.
    #[error("cannot prepare a run")]
    Io(#[from] io::Error),
}
