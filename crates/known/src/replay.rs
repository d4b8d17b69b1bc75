//! Whether a run on record ends again as it did.

use unflake_model::{OutcomeKind, Repetition, TestId};

use crate::RunName;

/// The result of replaying a run.
#[derive(Clone, Debug)]
pub struct Replay {
    /// The run that was replayed.
    pub name: RunName,
    /// How many tests the run has.
    pub n_tests: usize,
    /// How often each test is run.
    pub repetition: Repetition,
    /// How often the run was replayed.
    pub tries: u32,
    /// How often it was meant to be replayed, had nobody stopped it.
    pub tries_asked: u32,
    /// The attempts that ended differently than on record.
    pub differences: Vec<Difference>,
    /// The command that does the same with the project's own runner, if there is one.
    pub command: Option<String>,
}

/// An attempt that ended differently than on record.
#[derive(Clone, Debug)]
pub struct Difference {
    /// The number of the try, from 0.
    pub try_number: u32,
    /// The test that ended differently.
    pub test: TestId,
    /// How it ended on record.
    pub recorded: OutcomeKind,
    /// How it ended in the try.
    pub now: OutcomeKind,
    /// The message of the failure, in one line.
    pub message: String,
}

impl Replay {
    /// In how many tries every test ended as recorded.
    pub fn n_as_recorded(&self) -> u32 {
        let differs = |number: &u32| self.differences.iter().any(|it| it.try_number == *number);
        let n_differing = (0..self.tries).filter(differs).count();
        self.tries - u32::try_from(n_differing).unwrap_or(self.tries)
    }
}
