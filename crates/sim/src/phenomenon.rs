//! Flakiness of one kind: which tests play its parts.
//!
//! Each phenomenon gets variables of its own when it is planted ([`SimSuite::planted`]), so that
//! phenomena do not mix, however many parts one test plays in different ones.
//!
//! [`SimSuite::planted`]: crate::world::SimSuite::planted

use unflake_model::{Group, TestIndex};

use crate::behaviour::{Chance, Ending};

/// In which order the tests of a group must run to have their effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sequence {
    /// Any.
    Any,
    /// As they are listed, with other tests between them or not.
    AsListed,
}

/// Tests that act only together. Often a single one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Together {
    /// The tests.
    pub tests: Vec<TestIndex>,
    /// In which order.
    pub sequence: Sequence,
}

impl Together {
    /// A test that needs no other.
    pub fn single(test: TestIndex) -> Self {
        Self { tests: vec![test], sequence: Sequence::Any }
    }

    pub(crate) fn canonical(&self) -> Group {
        let mut tests = self.tests.clone();
        if self.sequence == Sequence::Any {
            tests.sort_unstable();
        }
        tests
    }
}

/// Polluters, and the tests that undo what they did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pollution {
    /// The polluters.
    pub polluters: Together,
    /// Their cleaners, each on its own.
    pub cleaners: Vec<TestIndex>,
}

/// Something that makes tests flaky.
#[derive(Clone, Debug, PartialEq)]
pub enum Phenomenon {
    /// Tests that pass alone and do not after any of the pollutions.
    Victims {
        /// The victims, all suffering from all pollutions.
        victims: Vec<TestIndex>,
        /// What they suffer from.
        pollutions: Vec<Pollution>,
        /// How they end then; not [`Ending::Skip`].
        ending: Ending,
    },
    /// A test that fails unless one of the setter groups ran before it.
    Brittle {
        /// The brittle.
        brittle: TestIndex,
        /// What makes it pass.
        setters: Vec<Together>,
        /// Victims of its failing: it then skips its own clean-up.
        pollutes: Vec<TestIndex>,
    },
    /// A test that fails when it runs a second time in the same process.
    NonIdempotent {
        /// The test.
        test: TestIndex,
    },
    /// A test that fails at random, whatever the order.
    Random {
        /// The test.
        test: TestIndex,
        /// How often, and whether in bursts.
        chance: Chance,
        /// How it ends then; not [`Ending::Skip`].
        ending: Ending,
    },
    /// A test that fails at random, and more or less often after one of the movers.
    MovedRate {
        /// The test.
        test: TestIndex,
        /// The tests that move its failure rate.
        movers: Vec<TestIndex>,
        /// The rate before any of them ran.
        rate_before: f64,
        /// The rate from then on.
        rate_after: f64,
    },
    /// A test that fails for a share of the seeds of a perturbed environment.
    OpenChoice {
        /// The test.
        test: TestIndex,
        /// The share.
        rate: f64,
    },
    /// A test that leaves places changed that nobody reads.
    Litter {
        /// The test.
        test: TestIndex,
        /// How many places.
        n_places: u32,
    },
    /// A test that fails where a file of other tests is collected, whether they are run or not.
    Stumbling {
        /// The test.
        test: TestIndex,
        /// A test of that file.
        file_of: TestIndex,
    },
    /// A test that always fails.
    AlwaysFailing {
        /// The test.
        test: TestIndex,
    },
    /// A test that declines to run after another; otherwise it passes.
    ChangingSkip {
        /// The test.
        test: TestIndex,
        /// The other.
        skipper: TestIndex,
    },
    /// Turns the outcome of a test around with this probability, whatever else is the matter with
    /// it. Its dependencies stay what they are without noise.
    Noise {
        /// The test.
        test: TestIndex,
        /// The probability, below one half.
        flip: f64,
    },
}

impl Phenomenon {
    /// The tests that suffer from it.
    pub fn sufferers(&self) -> Vec<TestIndex> {
        match self {
            Self::Victims { victims, .. } => victims.clone(),
            Self::Brittle { brittle, pollutes, .. } => [&[*brittle], pollutes.as_slice()].concat(),
            Self::NonIdempotent { test }
            | Self::Random { test, .. }
            | Self::MovedRate { test, .. }
            | Self::OpenChoice { test, .. }
            | Self::Stumbling { test, .. }
            | Self::AlwaysFailing { test }
            | Self::ChangingSkip { test, .. }
            | Self::Noise { test, .. } => vec![*test],
            Self::Litter { .. } => Vec::new(),
        }
    }

    /// The tests that act on them; cleaners as often as they clean.
    pub(crate) fn actors(&self) -> Actors {
        let mut actors = Actors::default();
        match self {
            Self::Victims { pollutions, .. } => {
                for pollution in pollutions {
                    actors.once.extend(&pollution.polluters.tests);
                    actors.cleaners.extend(&pollution.cleaners);
                }
            }
            Self::Brittle { setters, .. } => {
                actors.once = setters.iter().flat_map(|s| s.tests.clone()).collect();
            }
            Self::MovedRate { movers, .. } => actors.once.clone_from(movers),
            Self::ChangingSkip { skipper, .. } => actors.once = vec![*skipper],
            // It acts by being collected, and needs not be run.
            Self::Stumbling { file_of, .. } => actors.cleaners = vec![*file_of],
            Self::Litter { test, .. } => actors.once = vec![*test],
            Self::NonIdempotent { .. }
            | Self::Random { .. }
            | Self::OpenChoice { .. }
            | Self::AlwaysFailing { .. }
            | Self::Noise { .. } => (),
        }
        actors
    }
}

/// The tests that act on others.
#[derive(Debug, Default)]
pub(crate) struct Actors {
    pub(crate) once: Vec<TestIndex>,
    /// Here a test may stand several times.
    pub(crate) cleaners: Vec<TestIndex>,
}
