//! Kinds of flakiness, and which tests play which part in them.
//!
//! Each phenomenon has variables of its own when it is planted ([`SimSuite::planted`]), so that
//! phenomena do not mix, even if one test plays parts in several.
//!
//! [`SimSuite::planted`]: crate::world::SimSuite::planted

use unflake_model::{Group, TestIndex};

use crate::behaviour::{Chance, Ending};

/// The order in which the tests of a group must run to have their effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sequence {
    /// In any order.
    Any,
    /// In the order listed, with or without other tests in between.
    AsListed,
}

/// Tests that act only together. Often there is just one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Together {
    /// The tests of the group.
    pub tests: Vec<TestIndex>,
    /// The order that they must run in.
    pub sequence: Sequence,
}

impl Together {
    /// A test that acts on its own.
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
    /// The tests that pollute, together.
    pub polluters: Together,
    /// The tests that undo it, each on its own.
    pub cleaners: Vec<TestIndex>,
}

/// Something that makes tests flaky.
#[derive(Clone, Debug, PartialEq)]
pub enum Phenomenon {
    /// Tests that pass alone, but not after any of the pollutions.
    Victims {
        /// The victims, all of which suffer from all pollutions.
        victims: Vec<TestIndex>,
        /// The pollutions that they suffer from.
        pollutions: Vec<Pollution>,
        /// How they end after a pollution; not [`Ending::Skip`].
        ending: Ending,
    },
    /// A test that fails unless one of the setter groups ran before it.
    Brittle {
        /// The test that fails alone.
        brittle: TestIndex,
        /// The groups that make it pass.
        setters: Vec<Together>,
        /// Victims of its failing, because it then skips its own clean-up.
        pollutes: Vec<TestIndex>,
    },
    /// A test that fails when it runs a second time in the same process.
    NonIdempotent {
        /// The test that spoils itself.
        test: TestIndex,
    },
    /// A test that fails at random, whatever the order.
    Random {
        /// The test that fails.
        test: TestIndex,
        /// How often it fails, and whether in bursts.
        chance: Chance,
        /// How it ends when it does not pass; not [`Ending::Skip`].
        ending: Ending,
    },
    /// A test that fails at random, and more or less often after one of the movers.
    MovedRate {
        /// The test whose rate is moved.
        test: TestIndex,
        /// The tests that move its failure rate.
        movers: Vec<TestIndex>,
        /// Its failure rate before any of them ran.
        rate_before: f64,
        /// Its failure rate once one of them ran.
        rate_after: f64,
    },
    /// A test that fails for a share of the seeds of a perturbed environment.
    OpenChoice {
        /// The test that depends on the choice.
        test: TestIndex,
        /// The share of seeds for which it fails.
        rate: f64,
    },
    /// A test that leaves places changed that nobody reads.
    Litter {
        /// The test that leaves them.
        test: TestIndex,
        /// The number of places.
        n_places: u32,
    },
    /// A test that fails if a file of other tests is collected, whether they run or not.
    Stumbling {
        /// The test that fails.
        test: TestIndex,
        /// A test in that file.
        file_of: TestIndex,
    },
    /// A test that always fails.
    AlwaysFailing {
        /// The test that fails.
        test: TestIndex,
    },
    /// A test that is skipped after another one, and otherwise passes.
    ChangingSkip {
        /// The test that is skipped.
        test: TestIndex,
        /// The test after which it is.
        skipper: TestIndex,
    },
    /// Flips the outcome of a test with this probability, whatever else is wrong with it. Its
    /// dependencies are those that it has without noise.
    Noise {
        /// The test with noise.
        test: TestIndex,
        /// The probability of a flip, below one half.
        flip: f64,
    },
}

impl Phenomenon {
    /// The tests that suffer from the phenomenon.
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

    /// The tests that act on sufferers; cleaners appear as often as they clean.
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
            // The file acts by being collected, and its tests need not run.
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
    /// A test may appear several times here.
    pub(crate) cleaners: Vec<TestIndex>,
}
