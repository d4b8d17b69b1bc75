//! What analyses ask for, and what they are told.

use std::time::Duration;

use crate::{Order, Outcome, TestIndex};

/// The number of a run within its campaign; the analysis that asks for the run assigns it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RunId(pub u64);

/// Which choices, left open by the language or the libraries, are made on purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Environment {
    /// As the project's own runner would run it.
    Plain,
    /// Underdetermined choices (iteration orders of sets, directory listings …) are drawn from
    /// this seed. The same seed makes the same choices.
    Perturbed {
        /// The seed.
        seed: u64,
    },
}

/// How often each test of an order is run before the next one starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Repetition {
    /// Once, as always.
    Once,
    /// Twice in a row in the same process: shows tests that spoil themselves.
    Twice,
}

impl Repetition {
    /// How many attempts are made of each test.
    pub fn n_attempts(self) -> usize {
        match self {
            Self::Once => 1,
            Self::Twice => 2,
        }
    }
}

/// A run that an analysis asks for. Who runs it, where, and how many at once, is not its business.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Experiment {
    /// The number under which the observation is to come back.
    pub run: RunId,
    /// What to run, in a fresh process.
    pub order: Order,
    /// Which open choices to make.
    pub environment: Environment,
    /// How often to run each test.
    pub repetition: Repetition,
}

/// One execution of one test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// Which test.
    pub test: TestIndex,
    /// How it ended.
    pub outcome: Outcome,
    /// How long it took.
    pub duration: Duration,
}

/// What came back from a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Observation {
    /// The experiment's number.
    pub run: RunId,
    /// Every attempt in the order in which it was made: one per test of the order, or two in a row
    /// with [`Repetition::Twice`]. Tests that were never started are there as
    /// [`Outcome::NotRun`].
    pub attempts: Vec<Attempt>,
    /// How long the whole run took, start of the process included.
    pub duration: Duration,
}
