//! What a run looks at beyond how its tests end, and what it saw.
//!
//! An experiment carries a [`Look`], and its observation brings back what was [`Seen`]. Looking
//! costs time, and putting state back changes what tests find; so a run with a look is evidence
//! only for the analysis that asked for it.

use std::ops::RangeInclusive;

use crate::StateKind;

/// What a run looks at, and what it does on the way so that there is something to see.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Look {
    /// Which state to compare before and after each test; `None` compares nothing.
    pub state: Option<StateLook>,
    /// State to put back on the way, if any.
    pub restore: Option<Restore>,
    /// In a perturbed run: the numbers of the open choices to perturb; `None` perturbs all.
    pub choices: Option<RangeInclusive<u64>>,
    /// What to report about the functions that tests call.
    pub calls: Calls,
}

impl Look {
    /// Looks at nothing: only how tests end is reported.
    pub const NOTHING: Self =
        Self { state: None, restore: None, choices: None, calls: Calls::Unseen };

    /// Whether it neither looks at anything nor puts anything back.
    pub fn is_nothing(&self) -> bool {
        *self == Self::NOTHING
    }

    /// Looks at this state and nothing else.
    pub fn at_state(state: StateLook) -> Self {
        Self { state: Some(state), ..Self::NOTHING }
    }

    /// Looks at the calls of tests and at nothing else.
    pub fn at_calls(calls: Calls) -> Self {
        Self { calls, ..Self::NOTHING }
    }
}

/// Which state is compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateLook {
    /// The kinds of state to compare.
    pub kinds: Vec<StateKind>,
    /// Whether to tell changes made by a test from those made by a longer-lived fixture.
    pub fixtures: bool,
    /// Whether to compare the state of installed packages as well as the project's.
    pub third_party: bool,
}

impl StateLook {
    /// All kinds of state, in the project only.
    pub fn all() -> Self {
        Self { kinds: StateKind::ALL.to_vec(), fixtures: false, third_party: false }
    }
}

/// State to be put back to what it was before the first test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Restore {
    /// The place in the order of the attempt before which it is put back.
    pub before: usize,
    /// The places of the state, as changes name them.
    pub items: Vec<String>,
    /// Whether to put back everything *except* these.
    pub all_but: bool,
}

/// What is reported, or can be reported, about the functions that tests call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Calls {
    /// Nothing.
    #[default]
    Unseen,
    /// The names of the functions called.
    Noted,
    /// Also how often each is called, which costs more.
    Counted,
}

/// What a look showed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// What each attempt left changed.
    pub changes: Vec<AttemptChanges>,
    /// Whether some state was too large to compare completely.
    pub in_part: bool,
    /// What was put back, if that was asked for.
    pub restored: Option<Restored>,
    /// The open choices that were perturbed.
    pub chosen: Option<Chosen>,
    /// The functions called in this run; attempts refer to them by position.
    pub functions: Vec<CalledFunction>,
    /// What each attempt called.
    pub calls: Vec<AttemptCalls>,
}

/// What one attempt left changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttemptChanges {
    /// The position of the attempt in the run.
    pub attempt: usize,
    /// The changes that were reported.
    pub changes: Vec<StateChange>,
    /// How many more changes there were.
    pub n_more: u64,
}

/// A piece of state that a test left different from how it found it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateChange {
    /// Where the state is, in the notation of the language.
    pub place: String,
    /// The kind of state.
    pub kind: StateKind,
    /// The value before; `None` if there was none.
    pub before: Option<String>,
    /// The value after; `None` if it is gone.
    pub after: Option<String>,
    /// The fixture that made the change, if it outlives the test and fixtures were asked for.
    pub by: Option<String>,
}

/// State that was put back.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Restored {
    /// The places of the state that was put back.
    pub items: Vec<String>,
    /// The places that could not be put back, each with the reason.
    pub failed: Vec<(String, String)>,
}

/// Choices that language and libraries leave open, perturbed on purpose. They are numbered from 1
/// in the order in which they come up.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Chosen {
    /// How many choices came up.
    pub n: u64,
    /// The stack that asked, innermost call first, if only one choice was to be perturbed.
    pub stack: Vec<String>,
}

/// A function that some test called.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CalledFunction {
    /// The module that defines it.
    pub module: String,
    /// Its name within the module, with its class if it has one.
    pub name: String,
    /// Its file and first line, if it is written in the language of the tests.
    pub place: Option<(String, u32)>,
}

/// What one attempt called.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AttemptCalls {
    /// The position of the attempt in the run.
    pub attempt: usize,
    /// Positions in [`Seen::functions`].
    pub functions: Vec<usize>,
    /// How often each of the first of them was called, where calls were counted.
    pub counts: Vec<u64>,
}
