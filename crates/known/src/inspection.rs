//! What the tests of a suite leave behind.
//!
//! Not a campaign: one pass over the suite in its original order, watched. So there is no verdict
//! and no rate, but for each test a list of places with what was there and what is there now, each
//! with its [`Standing`]: whether it is dirt, and why not.

use std::collections::BTreeMap;
use std::time::Duration;

use unflake_model::{OutcomeKind, TestId};

use crate::{Ended, Origin, State, Warning};

/// What a watched pass over a suite has shown.
#[derive(Clone, Debug)]
pub struct Inspection {
    /// How many tests there are.
    pub n_tests: usize,
    /// Those that changed something, in the order in which they were run.
    pub tests: Vec<Leaver>,
    /// Those that took the process with them, so that nobody could look.
    pub unseen: Vec<Unseen>,
    /// How many failed or could not be run.
    pub n_failed: usize,
    /// How many were not run.
    pub n_not_run: usize,
    /// Entries of the allow-list that nothing matched.
    pub unused: Vec<String>,
    /// What limits the answer.
    pub warnings: Vec<Warning>,
    /// How long it took.
    pub wall_time: Duration,
    /// Whether it came to its end.
    pub ended: Ended,
    /// What was run.
    pub origin: Origin,
}

/// A test that changed something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leaver {
    /// Which.
    pub test: TestId,
    /// How it ended: a test that fails half-way does not come to its cleaning.
    pub outcome: OutcomeKind,
    /// What differs from how it was.
    pub places: Vec<Left>,
    /// How many more places there are.
    pub n_more: u64,
}

/// A place that is otherwise after a test than before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Left {
    /// The place, and what was and is there.
    pub state: State,
    /// The fixture that did it, if that outlives the test.
    pub by: Option<String>,
    /// What to make of it.
    pub standing: Standing,
}

/// What to make of a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Another test may stumble over it.
    Dirt {
        /// The later test that put it back, if one did.
        put_back_by: Option<TestId>,
    },
    /// An earlier test had left it otherwise; now it is as at the beginning.
    PutsBack {
        /// Who had left it so.
        left_by: TestId,
    },
    /// Not counted.
    Harmless(Harmless),
    /// The project says that it is meant to be so.
    Allowed {
        /// The entry of the allow-list that says it.
        entry: String,
    },
}

/// Why a change is not counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Harmless {
    /// A module was loaded for the first time.
    Loaded,
    /// A cache was filled, or emptied.
    Cached,
    /// Random numbers were drawn.
    Drawn,
    /// An entry was added that holds nothing.
    Empty,
    /// Done by a fixture that outlives the test, and undone when that ended.
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
    /// Whether it is counted.
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

/// A test that took the process with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unseen {
    /// Which.
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

    /// Changes that are not counted, by the reason for it.
    pub fn n_harmless(&self) -> BTreeMap<Harmless, u64> {
        let mut counts = BTreeMap::new();
        for (_, left) in self.places() {
            if let Standing::Harmless(why) = left.standing {
                *counts.entry(why).or_insert(0) += 1;
            }
        }
        counts
    }

    /// Changes that the project allows.
    pub fn n_allowed(&self) -> u64 {
        let is_allowed = |left: &Left| matches!(left.standing, Standing::Allowed { .. });
        self.places().filter(|(_, left)| is_allowed(left)).count() as u64
    }
}

impl Leaver {
    /// Whether anything it left is dirt.
    pub fn is_dirty(&self) -> bool {
        self.places.iter().any(|left| left.standing.is_dirt())
    }
}
