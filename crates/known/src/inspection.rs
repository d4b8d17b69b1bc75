//! What the tests of a suite leave behind.
//!
//! Not a campaign: one watched pass over the suite in its original order. So there is no verdict
//! and no rate, but for each test a list of changed places with their values before and after, each
//! with its [`Standing`]: whether it is dirt, and if not, why.

use std::collections::BTreeMap;
use std::time::Duration;

use unflake_model::{OutcomeKind, TestId};

use crate::{Ended, Origin, State, Warning};

/// What a watched pass over a suite showed.
#[derive(Clone, Debug)]
pub struct Inspection {
    /// How many tests the suite has.
    pub n_tests: usize,
    /// Tests that changed something, in the order in which they ran.
    pub tests: Vec<Leaver>,
    /// Tests that ended the process, so that nobody could look.
    pub unseen: Vec<Unseen>,
    /// How many tests failed or could not be run.
    pub n_failed: usize,
    /// How many tests were not run.
    pub n_not_run: usize,
    /// Entries of the allow-list that nothing matched.
    pub unused: Vec<String>,
    /// Warnings about what limits the answer.
    pub warnings: Vec<Warning>,
    /// How long it took.
    pub wall_time: Duration,
    /// Why it ended.
    pub ended: Ended,
    /// The runner, seed, command and campaign behind the answer.
    pub origin: Origin,
}

/// A test that changed something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leaver {
    /// The test that made the changes.
    pub test: TestId,
    /// How it ended: a test that fails half-way does not reach its clean-up.
    pub outcome: OutcomeKind,
    /// The places that it changed.
    pub places: Vec<Left>,
    /// How many more places there are.
    pub n_more: u64,
}

/// A place that a test changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Left {
    /// The place, with its values before and after.
    pub state: State,
    /// The fixture that made the change, if it outlives the test.
    pub by: Option<String>,
    /// Whether the change is dirt.
    pub standing: Standing,
}

/// Whether a change is dirt, and if not, why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Another test may stumble over it.
    Dirt {
        /// The later test that put it back, if one did.
        put_back_by: Option<TestId>,
    },
    /// It restores what an earlier test had changed.
    PutsBack {
        /// The test that had changed it.
        left_by: TestId,
    },
    /// It is not counted, for this reason.
    Harmless(Harmless),
    /// The project declares that it is intended.
    Allowed {
        /// The entry of the allow-list that does so.
        entry: String,
    },
}

/// Why a change is not counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Harmless {
    /// A module was loaded for the first time.
    Loaded,
    /// A cache was filled or emptied.
    Cached,
    /// Random numbers were drawn.
    Drawn,
    /// An empty entry was added.
    Empty,
    /// A fixture that outlives the test made it, and undid it when it ended.
    Fixture,
}

impl Harmless {
    /// The name in machine-readable formats.
    pub fn slug(self) -> &'static str {
        match self {
            Self::Loaded => "loaded",
            Self::Cached => "cached",
            Self::Drawn => "drawn",
            Self::Empty => "empty",
            Self::Fixture => "fixture",
        }
    }
}

impl Standing {
    /// Whether it counts as dirt.
    pub fn is_dirt(&self) -> bool {
        matches!(self, Self::Dirt { .. })
    }

    /// The name in machine-readable formats.
    pub fn slug(&self) -> &'static str {
        match self {
            Self::Dirt { .. } => "dirt",
            Self::PutsBack { .. } => "puts-back",
            Self::Harmless(_) => "harmless",
            Self::Allowed { .. } => "allowed",
        }
    }
}

/// A test that ended the process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unseen {
    /// The test that did.
    pub test: TestId,
    /// How it ended.
    pub outcome: OutcomeKind,
}

impl Inspection {
    /// How many tests are dirty.
    pub fn n_dirty(&self) -> usize {
        self.tests.iter().filter(|leaver| leaver.is_dirty()).count()
    }

    /// Every changed place, with the test that changed it.
    pub fn places(&self) -> impl Iterator<Item = (&Leaver, &Left)> {
        self.tests.iter().flat_map(|leaver| leaver.places.iter().map(move |left| (leaver, left)))
    }

    /// How many changes are not counted, by reason.
    pub fn n_harmless(&self) -> BTreeMap<Harmless, u64> {
        let mut counts = BTreeMap::new();
        for (_, left) in self.places() {
            if let Standing::Harmless(why) = left.standing {
                *counts.entry(why).or_insert(0) += 1;
            }
        }
        counts
    }

    /// How many changes the project allows.
    pub fn n_allowed(&self) -> u64 {
        let is_allowed = |left: &Left| matches!(left.standing, Standing::Allowed { .. });
        self.places().filter(|(_, left)| is_allowed(left)).count() as u64
    }
}

impl Leaver {
    /// Whether any of its changes is dirt.
    pub fn is_dirty(&self) -> bool {
        self.places.iter().any(|left| left.standing.is_dirt())
    }
}
