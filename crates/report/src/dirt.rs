//! What the tests of a suite leave behind, for people and for programs.
//!
//! Not a campaign: one pass over the suite in its original order, watched. So there is no verdict
//! and no rate, but for each test a list of places with what was there and what is there now, each
//! with its [`Standing`]: whether it is dirt, and why not. Whoever reads it wants to see what is
//! worth a look and nothing else; [`Shown::All`] is for who wants to check that.
//!
//! The rules of the other formats hold here, too: what comes from tests is never obeyed, and what
//! is left out is counted.

pub mod json;
pub mod markdown;
pub mod text;

use std::collections::{BTreeMap, BTreeSet};
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
    /// What is otherwise than it was.
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

    /// In words.
    pub fn meaning(self) -> &'static str {
        match self {
            Self::Loaded => "a module was loaded",
            Self::Cached => "a cache was used",
            Self::Drawn => "random numbers were drawn",
            Self::Empty => "an empty entry was added",
            Self::Fixture => "a fixture that outlives the test did and undid it",
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

/// How much to show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown {
    /// Dirt, and who puts it back.
    Dirt,
    /// All changes, with why they are not counted.
    All,
}

impl Shown {
    fn covers(self, standing: &Standing) -> bool {
        let is_news = matches!(standing, Standing::Dirt { .. } | Standing::PutsBack { .. });
        is_news || self == Self::All
    }
}

impl Inspection {
    /// How many tests are dirty.
    pub fn n_dirty(&self) -> usize {
        self.tests.iter().filter(|leaver| leaver.is_dirty()).count()
    }

    fn places(&self) -> impl Iterator<Item = (&Leaver, &Left)> {
        self.tests.iter().flat_map(|leaver| leaver.places.iter().map(move |left| (leaver, left)))
    }

    /// Changes that are not counted, by the reason for it.
    fn n_harmless(&self) -> BTreeMap<Harmless, u64> {
        let mut counts = BTreeMap::new();
        for (_, left) in self.places() {
            if let Standing::Harmless(why) = left.standing {
                *counts.entry(why).or_insert(0) += 1;
            }
        }
        counts
    }

    fn n_allowed(&self) -> u64 {
        let is_allowed = |left: &Left| matches!(left.standing, Standing::Allowed { .. });
        self.places().filter(|(_, left)| is_allowed(left)).count() as u64
    }

    /// Things that many tests change, so that to repeat them for each test says nothing.
    fn crowds(&self) -> Vec<Crowd<'_>> {
        let mut crowds: Vec<Crowd<'_>> = Vec::new();
        let mut places: BTreeMap<(&str, &str), usize> = BTreeMap::new();
        for (leaver, left) in self.places().filter(|(_, left)| left.standing.is_dirt()) {
            let key = (left.state.kind.as_str(), thing(&left.state));
            let place = *places.entry(key).or_insert(crowds.len());
            if place == crowds.len() {
                crowds.push(Crowd { thing: key.1, first: left, tests: BTreeSet::new(), leaver });
            }
            crowds[place].tests.insert(leaver.test.as_str());
        }
        crowds.retain(|crowd| CROWD_MIN <= crowd.tests.len());
        crowds
    }
}

/// From so many tests on a thing is told once, with how many it were.
const CROWD_MIN: usize = 5;

/// A thing that many tests change.
pub(crate) struct Crowd<'a> {
    thing: &'a str,
    first: &'a Left,
    leaver: &'a Leaver,
    tests: BTreeSet<&'a str>,
}

impl Crowd<'_> {
    /// Whether it is told with this what a test did, or put back.
    fn holds(&self, left: &Left) -> bool {
        left.state.kind == self.first.state.kind && thing(&left.state) == self.thing
    }
}

/// The container of which a place is part, where containers have names: `shop.LOG` of
/// `shop.LOG[17]`, which is another one each time.
fn thing(state: &State) -> &str {
    let has_names =
        matches!(state.kind.as_str(), "global" | "class-attribute" | "default-argument");
    match state.place.find('[').filter(|_| has_names) {
        Some(end) => &state.place[..end],
        None => &state.place,
    }
}

impl Leaver {
    /// Whether anything it left is dirt.
    pub fn is_dirty(&self) -> bool {
        self.places.iter().any(|left| left.standing.is_dirt())
    }
}
