//! Whether a run on record ends again as it did.

use unflake_model::{OutcomeKind, Repetition, TestId};

use crate::RunName;

/// What came of running it again.
#[derive(Clone, Debug)]
pub struct Replay {
    /// The run.
    pub name: RunName,
    /// How many tests it has.
    pub n_tests: usize,
    /// How often each of them is run.
    pub repetition: Repetition,
    /// How often it was run again.
    pub tries: u32,
    /// How often it was to be, if nobody had stopped it.
    pub tries_asked: u32,
    /// Whatever ended differently than then.
    pub differences: Vec<Difference>,
    /// The command that does the same with the project's own runner, where there is one.
    pub command: Option<String>,
}

/// An attempt that ended differently than on record.
#[derive(Clone, Debug)]
pub struct Difference {
    /// In which try, from 0.
    pub try_number: u32,
    /// Which test.
    pub test: TestId,
    /// How it ended then.
    pub recorded: OutcomeKind,
    /// How it ended now.
    pub now: OutcomeKind,
    /// What it said now, in one line.
    pub message: String,
}

impl Replay {
    /// In how many tries every test ended as on record.
    pub fn n_as_recorded(&self) -> u32 {
        let differs = |number: &u32| self.differences.iter().any(|it| it.try_number == *number);
        let n_differing = (0..self.tries).filter(differs).count();
        self.tries - u32::try_from(n_differing).unwrap_or(self.tries)
    }
}
