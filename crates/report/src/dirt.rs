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

use unflake_known::State;
use unflake_known::inspection::{Harmless, Inspection, Leaver, Left, Standing};
use unflake_model::StateKind;

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

/// Why a change is not counted, in words.
pub(crate) fn meaning(why: Harmless) -> &'static str {
    match why {
        Harmless::Loaded => "a module was loaded",
        Harmless::Cached => "a cache was used",
        Harmless::Drawn => "random numbers were drawn",
        Harmless::Empty => "an empty entry was added",
        Harmless::Fixture => "a fixture that outlives the test did and undid it",
    }
}

/// Things that many tests change, so that to repeat them for each test says nothing.
pub(crate) fn crowds(inspection: &Inspection) -> Vec<Crowd<'_>> {
    let mut crowds: Vec<Crowd<'_>> = Vec::new();
    let mut places: BTreeMap<(StateKind, &str), usize> = BTreeMap::new();
    for (leaver, left) in inspection.places().filter(|(_, left)| left.standing.is_dirt()) {
        let key = (left.state.kind, thing(&left.state));
        let place = *places.entry(key).or_insert(crowds.len());
        if place == crowds.len() {
            crowds.push(Crowd { thing: key.1, first: left, tests: BTreeSet::new(), leaver });
        }
        crowds[place].tests.insert(leaver.test.as_str());
    }
    crowds.retain(|crowd| CROWD_MIN <= crowd.tests.len());
    crowds
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
    let named = [StateKind::Global, StateKind::ClassAttribute, StateKind::DefaultArgument];
    let has_names = named.contains(&state.kind);
    match state.place.find('[').filter(|_| has_names) {
        Some(end) => &state.place[..end],
        None => &state.place,
    }
}
