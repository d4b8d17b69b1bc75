//! Which tests leave something behind, even where no other test stumbles over it yet?
//!
//! The suite is run once, in its original order and watched: after each test the agent says what is
//! otherwise than before it. That list alone is of no use to anybody: tests load modules, fill
//! caches, draw random numbers, and fixtures that live for a whole module change things and put
//! them back. `judge` tells those apart from dirt; [`allow`] is what the project says is meant to
//! be so.
//!
//! Where a test takes the process with it, the tests behind it are watched in another one. What is
//! left in that one's beginning is nobody's, and what the test itself left is not known.
//!
//! Limits: one order, so a test that cleans up only after others have run looks as it did this
//! time; and only what the agent watches is seen.

pub mod allow;
mod judge;

use unflake_engine::{Change, Engine, Event, Interrupt, Watching};
use unflake_known::inspection::{Leaver, Unseen};
use unflake_model::{Evidence, Observation, OutcomeKind, Suite, TestIndex};

use crate::dirt::allow::AllowList;
use crate::engine_world::EngineWorld;
use crate::logbook::Progress;
use crate::pass::{Look, Passed, Witness, pass};

/// Everything the agent can watch.
const ALL_KINDS: &str = "all";
/// Who changed it: a test, or a fixture that outlives it.
const FIXTURES: &str = "fixtures";
/// Installed packages as well as the project.
const THIRD_PARTY: &str = "third-party";

/// Whose state is watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// That of the project, and of the process.
    Project,
    /// That of installed packages, too.
    ThirdParty,
}

/// What one watched pass over a suite says.
#[derive(Debug)]
pub struct Inspected {
    /// Tests that changed something, with what to make of it.
    pub leavers: Vec<Leaver>,
    /// Tests whose process was gone before anybody could look.
    pub unseen: Vec<Unseen>,
    /// How many tests were run.
    pub n_seen: usize,
    /// How many of them failed.
    pub n_failed: usize,
    /// Whether not all state could be watched.
    pub is_in_part: bool,
    /// How the pass came to its end.
    pub passed: Passed,
}

/// Runs the suite once, and looks at what each test leaves behind.
pub fn inspect(
    suite: &Suite,
    engine: &mut Engine,
    scope: Scope,
    allow: &mut AllowList,
    progress: &mut dyn Progress,
) -> Inspected {
    let third_party = (scope == Scope::ThirdParty).then_some(THIRD_PARTY);
    let kinds = [ALL_KINDS, FIXTURES].into_iter().chain(third_party).map(str::to_owned);
    let watching = Watching { kinds: kinds.collect(), ..Watching::default() };
    let look = Look { watching, stage: "watching what tests leave behind", tests: None };
    let mut notes = Notes::default();
    let passed = pass(&look, suite, engine, &mut notes, progress);
    Inspected {
        leavers: judge::judge(&notes.stretches, suite, allow),
        unseen: notes.unseen(suite),
        n_seen: notes.n_seen(),
        n_failed: notes.outcomes().filter(|it| it.evidence() == Some(Evidence::Fail)).count(),
        is_in_part: notes.is_in_part,
        passed,
    }
}

/// The tests of a suite that leave something behind. What stands in the way of finding out does not
/// matter: nothing depends on it but the order in which orders are tried.
pub(crate) fn who_leaves_something(
    suite: &Suite,
    world: &mut EngineWorld,
    interrupt: &Interrupt,
    progress: &mut dyn Progress,
) -> Vec<TestIndex> {
    let mut allow = AllowList::default();
    let inspected = inspect(suite, world.engine(), Scope::Project, &mut allow, progress);
    if inspected.passed.is_interrupted {
        // Whoever comes next is to hear of it as well.
        interrupt.raise();
    }
    inspected.leavers.iter().filter_map(|leaver| suite.find(&leaver.test)).collect()
}

/// Tests that were watched in one process.
#[derive(Clone, Debug, Default)]
struct Stretch {
    seen: Vec<Seen>,
    /// Whether all fixtures were torn down in the end.
    is_whole: bool,
}

/// One test, and what it left.
#[derive(Clone, Debug)]
struct Seen {
    test: TestIndex,
    outcome: OutcomeKind,
    changes: Vec<Change>,
    n_more: u64,
}

/// What was seen in a pass over a suite.
#[derive(Default)]
struct Notes {
    stretches: Vec<Stretch>,
    is_in_part: bool,
}

impl Witness for Notes {
    fn n_seen(&self) -> usize {
        self.stretches.iter().map(|stretch| stretch.seen.len()).sum()
    }

    fn run_begins(&mut self) {
        self.stretches.push(Stretch::default());
    }

    fn hear(&mut self, event: Event) {
        match event {
            Event::TestEnded { test, outcome, changes, n_more, .. } => {
                let seen = Seen { test, outcome: outcome.kind(), changes, n_more };
                self.stretch().seen.push(seen);
            }
            Event::RunPutBack { .. } => self.stretch().seen.clear(),
            Event::WatchedInPart { .. } => self.is_in_part = true,
            _ => (),
        }
    }

    fn run_ended(&mut self, _: &Observation, is_whole: bool) {
        self.stretch().is_whole = is_whole;
    }
}

impl Notes {
    /// The one under way.
    fn stretch(&mut self) -> &mut Stretch {
        self.stretches.last_mut().expect("each run begins with one")
    }

    fn seen(&self) -> impl Iterator<Item = &Seen> {
        self.stretches.iter().flat_map(|stretch| &stretch.seen)
    }

    fn outcomes(&self) -> impl Iterator<Item = OutcomeKind> {
        self.seen().map(|seen| seen.outcome)
    }

    fn unseen(&self, suite: &Suite) -> Vec<Unseen> {
        let gone = self.seen().filter(|seen| seen.outcome.ends_the_process());
        let unseen =
            |seen: &Seen| Unseen { test: suite.id(seen.test).clone(), outcome: seen.outcome };
        gone.map(unseen).collect()
    }
}
