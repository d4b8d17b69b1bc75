//! The project's own runner, without us in the process.

use std::collections::BTreeMap;
use std::time::Duration;

use unflake_engine::{Collected, Interrupt, Said};
use unflake_model::{Environment, OutcomeKind, TestId};

/// How many times as long as our own runs a plain run may take.
const PATIENCE: u32 = 3;

/// How each test ended.
pub type Outcomes = BTreeMap<TestId, OutcomeKind>;

/// The project's own runner. It has no time limit for tests; so it is given the time that the tests
/// `took` elsewhere, and stopped when it hangs. An error says why there was no answer.
pub trait PlainRunner: Sync {
    /// Runs all tests as the project runs them; returns how each ended.
    fn run_suite(&self, took: Duration) -> Result<Outcomes, String>;

    /// Runs these tests in this order; returns how each ended.
    fn run(&self, tests: &[&TestId], took: Duration) -> Result<Outcomes, String>;

    /// The command a user can paste to do the same, if these tests can be named in one.
    fn command(&self, tests: &[&TestId]) -> Option<String>;

    /// Runs a test while these files are collected as well, without running their tests; returns
    /// how it ended. `None` if the runner cannot do that.
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

    /// Runs a test twice in one process; returns how it failed if it did, else how it passed.
    /// `None` if the runner cannot do that.
    fn run_twice(&self, test: &TestId, took: Duration) -> Result<Option<OutcomeKind>, String>;

    /// The command a user can paste to do the same, if the test can be named in one.
    fn command_twice(&self, test: &TestId) -> Option<String>;

    /// Whether starting it takes much longer than the tests do, so that runs should be shared.
    fn is_dear(&self) -> bool {
        false
    }

    /// Runs these tests in other circumstances, as far as they can be set; returns how each ended.
    /// `None` if they cannot be set.
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

/// What a plain runner needs to know about the tests.
#[derive(Clone, Copy, Debug)]
pub struct Around<'a> {
    /// The tests that an agent collected.
    pub collected: &'a Collected,
    /// Stops the plain runner.
    pub interrupt: &'a Interrupt,
    /// The time it takes to start and to collect.
    pub start_time: Duration,
    /// The time limit for one test.
    pub test_timeout: Duration,
}

impl Around<'_> {
    /// The time limit of a plain run for tests that took this long in our own runs, with an
    /// allowance that does not depend on them.
    pub fn time_max(&self, took: Duration, granted: Duration) -> Duration {
        (self.start_time + took) * PATIENCE + self.test_timeout + granted
    }
}

/// Circumstances that a plain runner can be given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Given {
    /// Environment variables to set.
    pub env: Vec<(String, String)>,
    /// Shell statements to run before it.
    pub before: Vec<String>,
    /// Statements in the runner's language to run when a test begins.
    pub first: Vec<String>,
}

/// How each test ended, by name.
pub fn named(ids: &[&str], said: Vec<Said>) -> Outcomes {
    let named = ids.iter().zip(said);
    named.filter_map(|(id, said)| Some((id.parse().ok()?, said.outcome.kind()))).collect()
}
