//! What is looked at in a run beyond how its tests end, and what was seen.
//!
//! An experiment carries a [`Look`], its observation brings back [`Seen`]. To look costs time, and
//! to put state back changes what tests find; so a run with a look is evidence for whoever asked
//! for it, and for nobody else.

use std::ops::RangeInclusive;

use crate::StateKind;

/// What to look at in a run, and what to do on the way so that there is something to see.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Look {
    /// Which state to compare before and after each test; none without.
    pub state: Option<StateLook>,
    /// State to put back on the way.
    pub restore: Option<Restore>,
    /// In a perturbed run: the only open choices to make, by number; all of them without.
    pub choices: Option<RangeInclusive<u64>>,
    /// What to tell of the functions that tests call.
    pub calls: Calls,
}

impl Look {
    /// Nothing: how tests end is all that is told.
    pub const NOTHING: Self =
        Self { state: None, restore: None, choices: None, calls: Calls::Unseen };

    /// Whether anything is looked at, or put back.
    pub fn is_nothing(&self) -> bool {
        *self == Self::NOTHING
    }

    /// Watches this state.
    pub fn at_state(state: StateLook) -> Self {
        Self { state: Some(state), ..Self::NOTHING }
    }

    /// Follows the calls of tests.
    pub fn at_calls(calls: Calls) -> Self {
        Self { calls, ..Self::NOTHING }
    }
}

/// Which state is compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateLook {
    /// Kinds of state.
    pub kinds: Vec<StateKind>,
    /// Whether to tell apart what a test changed from what a longer-lived fixture did.
    pub fixtures: bool,
    /// Whether the state of installed packages is watched as well as the project's.
    pub third_party: bool,
}

impl StateLook {
    /// All kinds, in the project.
    pub fn all() -> Self {
        Self { kinds: StateKind::ALL.to_vec(), fixtures: false, third_party: false }
    }
}

/// State to be put back to what it was before the first test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Restore {
    /// Before the attempt at this place of the order.
    pub before: usize,
    /// Where it is, as changes name it.
    pub items: Vec<String>,
    /// Whether these are what is *not* put back.
    pub all_but: bool,
}

/// What is told, or can be told, of the functions that tests call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Calls {
    /// Nothing.
    #[default]
    Unseen,
    /// Which are called.
    Noted,
    /// And how often each, which costs more.
    Counted,
}

/// What a look showed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// What attempts left changed.
    pub changes: Vec<AttemptChanges>,
    /// Whether some state was too large to be compared as a whole.
    pub in_part: bool,
    /// What was put back, if something was to be.
    pub restored: Option<Restored>,
    /// Open choices that were made on purpose.
    pub chosen: Option<Chosen>,
    /// The functions of this run, numbered by their places here.
    pub functions: Vec<CalledFunction>,
    /// What attempts called.
    pub calls: Vec<AttemptCalls>,
}

/// What one attempt left changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttemptChanges {
    /// The place of the attempt among all of its run.
    pub attempt: usize,
    /// The changes, as far as they were told.
    pub changes: Vec<StateChange>,
    /// How many more there were.
    pub n_more: u64,
}

/// A piece of state that a test left different from how it found it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateChange {
    /// Where it is, in the notation of the language.
    pub place: String,
    /// Of what kind it is.
    pub kind: StateKind,
    /// What it was, unless it was not there.
    pub before: Option<String>,
    /// What it is, unless it is gone.
    pub after: Option<String>,
    /// The fixture that made the change, if that outlives the test and fixtures were asked for.
    pub by: Option<String>,
}

/// State that was put back.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Restored {
    /// Where it is.
    pub items: Vec<String>,
    /// What could not be put back, and why.
    pub failed: Vec<(String, String)>,
}

/// Choices that language and libraries leave open, made on purpose. They are numbered from 1 in the
/// order in which they come up.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Chosen {
    /// How many came up.
    pub n: u64,
    /// Who asked, innermost first, if only one was to be made.
    pub stack: Vec<String>,
}

/// A function that some test called.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CalledFunction {
    /// The module it is of.
    pub module: String,
    /// Its name there, with the class if it is of one.
    pub name: String,
    /// Its file and the line on which it begins, if it is written in the language of the tests.
    pub place: Option<(String, u32)>,
}

/// What one attempt called.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AttemptCalls {
    /// The place of the attempt among all of its run.
    pub attempt: usize,
    /// Places in [`Seen::functions`].
    pub functions: Vec<usize>,
    /// How often each of the first of them was called, where that was counted.
    pub counts: Vec<u64>,
}
