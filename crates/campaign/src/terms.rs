//! Is it the same campaign? What must be equal for earlier runs to be evidence.
//!
//! The same question about the same tests of the same code, put in the same way. Budgets are not
//! among the terms: a campaign that ran out of budget goes on under the next one. Neither is the
//! number of jobs, which changes no answer.
//!
//! The history keeps the terms as text, together with the isolation that the beginning of the
//! campaign settled on. Fields are added, never changed; a text that cannot be read belongs to
//! another campaign.

use serde::{Deserialize, Serialize};
use unflake_engine::{Collected, Level};
use unflake_known::Warning;
use unflake_store::digest;

/// Everything that must be equal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Terms {
    /// The question in full: test, depth, seed, confidence.
    pub(crate) question: String,
    /// The working directory.
    pub(crate) folder: String,
    /// The interpreter.
    pub(crate) program: String,
    /// The requested runner, and the parts of its environment that matter.
    pub(crate) manner: String,
    /// The hash seed, if we chose it.
    #[serde(default)]
    pub(crate) hash_seed: Option<u64>,
    /// The options given to the runner.
    pub(crate) options: Vec<String>,
    /// The files, folders or tests given to the runner.
    pub(crate) paths: Vec<String>,
    /// The runner and its plugins.
    pub(crate) runner: Vec<String>,
    /// The requested levels of isolation.
    pub(crate) isolation: Vec<Level>,
    /// The time limit for a test.
    pub(crate) test_timeout_ms: u128,
    /// The digest of the tests that were collected.
    pub(crate) tests: String,
    /// The digest of the code.
    pub(crate) code: String,
}

/// What the history keeps about the beginning of a campaign.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct KeptTerms {
    /// What must be equal to resume it.
    pub(crate) terms: Terms,
    /// The levels of isolation under which it runs.
    pub(crate) levels: Vec<Level>,
    /// Warnings about what limits the answer, known before the first experiment.
    pub(crate) warnings: Vec<Warning>,
}

impl Terms {
    /// Whether runs under these terms are evidence under the other ones, for another question.
    pub(crate) fn lends_to(&self, other: &Self) -> bool {
        let asked_so = Self { question: other.question.clone(), ..self.clone() };
        self.question != other.question && asked_so == *other
    }
}

impl KeptTerms {
    pub(crate) fn parse(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }

    pub(crate) fn text(&self) -> String {
        serde_json::to_string(self).expect("strings and whole numbers only")
    }
}

/// Name and plugins of a runner.
pub(crate) fn runner(collected: &Collected) -> Vec<String> {
    [&collected.runner].into_iter().chain(&collected.plugins).cloned().collect()
}

/// The digest of the tests that were collected, in their order.
pub(crate) fn tests(collected: &Collected) -> String {
    let ids: Vec<&str> = collected.tests.iter().map(|test| test.id.as_str()).collect();
    hex(digest(ids.join("\n").as_bytes()))
}

pub(crate) fn hex(digest: u64) -> String {
    format!("{digest:016x}")
}
