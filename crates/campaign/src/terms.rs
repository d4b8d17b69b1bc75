//! Is it the same campaign? What must be equal for earlier runs to be evidence for this question.
//!
//! The same question about the same tests of the same code, put in the same way. Budgets are not
//! among the terms: a campaign that ran out of budget goes on under the next one. Neither is the
//! number of jobs, which changes no answer.
//!
//! The terms stand in the history as text beside what the beginning of the campaign found out:
//! under which isolation it runs. Fields are added, never changed; a text that cannot be read is
//! that of another campaign.

use serde::{Deserialize, Serialize};
use unflake_engine::{Collected, Level};
use unflake_known::Warning;
use unflake_store::digest;

/// What must be equal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Terms {
    /// What is asked, in full: test, depth, seed, confidence.
    pub(crate) question: String,
    /// The working directory.
    pub(crate) folder: String,
    /// The interpreter.
    pub(crate) program: String,
    /// Which runner was wanted, and what its environment has of its own.
    pub(crate) manner: String,
    /// How strings are hashed, if we decided it.
    #[serde(default)]
    pub(crate) hash_seed: Option<u64>,
    /// What the runner is given: options, and files, folders or tests.
    pub(crate) options: Vec<String>,
    /// See [`Terms::options`].
    pub(crate) paths: Vec<String>,
    /// The runner and its plugins.
    pub(crate) runner: Vec<String>,
    /// Isolation asked for.
    pub(crate) isolation: Vec<Level>,
    /// How long a test may take.
    pub(crate) test_timeout_ms: u128,
    /// The digest of the tests that were collected.
    pub(crate) tests: String,
    /// The digest of the code.
    pub(crate) code: String,
}

/// What the history knows about how a campaign began.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct KeptTerms {
    /// What must be equal to go on with it.
    pub(crate) terms: Terms,
    /// The levels of isolation under which it runs.
    pub(crate) levels: Vec<Level>,
    /// What was found to limit the answer before the first experiment.
    pub(crate) warnings: Vec<Warning>,
}

impl Terms {
    /// Whether runs under these terms are evidence under those, for another question.
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
