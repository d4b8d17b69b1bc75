//! The project's own runner, without us in the process.

use std::collections::BTreeMap;
use std::time::Duration;

use unflake_engine::{Collected, Interrupt, Said};
use unflake_model::{Environment, OutcomeKind, TestId};

/// How much longer than our own runs a plain one may take.
const PATIENCE: u32 = 3;

/// How tests ended.
pub type Outcomes = BTreeMap<TestId, OutcomeKind>;

/// The project's own runner. It knows no time limit for a test; so it is told how long the tests
/// `took` elsewhere, and stopped when it hangs. An error says why there was no answer.
pub trait PlainRunner: Sync {
    /// Runs all tests as the project runs them; how each ended.
    fn run_suite(&self, took: Duration) -> Result<Outcomes, String>;

    /// Runs these tests in this order; how each ended.
    fn run(&self, tests: &[&TestId], took: Duration) -> Result<Outcomes, String>;

    /// The command a user can paste to do the same, if these tests can be named in one.
    fn command(&self, tests: &[&TestId]) -> Option<String>;

    /// Runs a test while these files are collected, too, of which no test is run; how it ended.
    /// `None` if the runner knows no such thing.
    fn run_among(
        &self,
        _test: &TestId,
        _files: &[&str],
        _took: Duration,
    ) -> Result<Option<OutcomeKind>, String> {
        Ok(None)
    }

    /// The command a user can paste to do the same, if there is one.
    fn command_among(&self, _test: &TestId, _files: &[&str]) -> Option<String> {
        None
    }

    /// Runs a test twice in one process; how it ended if it failed, else how it passed. `None` if
    /// the runner cannot.
    fn run_twice(&self, test: &TestId, took: Duration) -> Result<Option<OutcomeKind>, String>;

    /// The command a user can paste to do the same, if the test can be named in one.
    fn command_twice(&self, test: &TestId) -> Option<String>;

    /// Whether to start it takes much longer than the tests do, so that starts are to be shared.
    fn is_dear(&self) -> bool {
        false
    }

    /// Runs these tests under other circumstances, as far as they can be given to it; how each
    /// ended. `None` if they cannot.
    fn run_perturbed(
        &self,
        _tests: &[&TestId],
        _environment: Environment,
        _took: Duration,
    ) -> Result<Option<Outcomes>, String> {
        Ok(None)
    }

    /// The command a user can paste to do the same, if there is one.
    fn command_perturbed(&self, _test: &TestId, _environment: Environment) -> Option<String> {
        None
    }
}

/// What a plain runner is told about the tests.
#[derive(Clone, Copy, Debug)]
pub struct Around<'a> {
    /// What an agent collected.
    pub collected: &'a Collected,
    /// Ends it.
    pub interrupt: &'a Interrupt,
    /// How long it takes to start and to collect.
    pub start_time: Duration,
    /// How long one test may take.
    pub test_timeout: Duration,
}

impl Around<'_> {
    /// How long a plain runner may take for tests that took so long in our own runs, with what it
    /// is granted anyway.
    pub fn time_max(&self, took: Duration, granted: Duration) -> Duration {
        (self.start_time + took) * PATIENCE + self.test_timeout + granted
    }
}

/// Circumstances that a plain runner can be given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Given {
    /// Variables of its environment.
    pub env: Vec<(String, String)>,
    /// Statements of the shell that come before it.
    pub before: Vec<String>,
    /// Statements of the runner's language for when a test begins.
    pub first: Vec<String>,
}

/// How tests ended, by what was said about each.
pub fn named(ids: &[&str], said: Vec<Said>) -> Outcomes {
    let named = ids.iter().zip(said);
    named.filter_map(|(id, said)| Some((id.parse().ok()?, said.outcome.kind()))).collect()
}
