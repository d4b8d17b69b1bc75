//! Which tests call something that can come out differently, and what.

use std::time::Duration;

use unflake_model::{OutcomeKind, RootCause, TestId};

use crate::{Origin, Warning};

/// What was traced of one test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The test that was traced.
    pub test: TestId,
    /// How it ended.
    pub outcome: OutcomeKind,
    /// How long it took.
    pub duration: Duration,
    /// How many distinct functions it called.
    pub n_functions: usize,
    /// The number of files that define these functions.
    pub n_files: usize,
    /// The characteristic functions among them.
    pub exposures: Vec<ExposedBy>,
}

/// A characteristic function that a test calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExposedBy {
    /// The root cause it suggests, if known.
    pub cause: Option<RootCause>,
    /// The name of the function.
    pub function: String,
    /// How often it was called, where that was counted.
    pub n_calls: Option<u64>,
}

/// The result of tracing a suite.
#[derive(Clone, Debug)]
pub struct Exposed {
    /// How many tests the suite has.
    pub n_tests: usize,
    /// The tests that were run.
    pub rows: Vec<Row>,
    /// Warnings that the user should see.
    pub warnings: Vec<Warning>,
    /// What it was made with.
    pub origin: Origin,
}

impl Exposed {
    /// How many of the tests are exposed.
    pub fn n_exposed(&self) -> usize {
        self.exposed().count()
    }

    /// The tests that are exposed.
    pub fn exposed(&self) -> impl Iterator<Item = &Row> {
        self.rows.iter().filter(|row| !row.exposures.is_empty())
    }
}
