//! Which tests call something that can come out differently, and what.

use std::time::Duration;

use unflake_model::{OutcomeKind, RootCause, TestId};

use crate::{Origin, Warning};

/// One test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The test.
    pub test: TestId,
    /// How it ended.
    pub outcome: OutcomeKind,
    /// How long it took.
    pub duration: Duration,
    /// How many functions it called.
    pub n_functions: usize,
    /// Its files: those in which the functions stand that it called.
    pub n_files: usize,
    /// The characteristic ones.
    pub exposures: Vec<ExposedBy>,
}

/// A characteristic function that a test calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExposedBy {
    /// What it makes likely.
    pub cause: Option<RootCause>,
    /// Its name.
    pub function: String,
    /// How often it was called, where that was counted.
    pub n_calls: Option<u64>,
}

/// A suite, traced.
#[derive(Clone, Debug)]
pub struct Exposed {
    /// How many tests there are.
    pub n_tests: usize,
    /// Those that were run.
    pub rows: Vec<Row>,
    /// What the user should know.
    pub warnings: Vec<Warning>,
    /// With what it was made.
    pub origin: Origin,
}

impl Exposed {
    /// How many tests are exposed.
    pub fn n_exposed(&self) -> usize {
        self.exposed().count()
    }

    /// The exposed ones.
    pub fn exposed(&self) -> impl Iterator<Item = &Row> {
        self.rows.iter().filter(|row| !row.exposures.is_empty())
    }
}
