//! Which tests leave something behind, even where no other test stumbles over it yet?
//!
//! The suite is run once, in its original order and watched: after each test the agent says what is
//! different from before. That list alone is of no use to anybody: tests load modules, fill
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

use std::collections::BTreeMap;
use std::rc::Rc;

use unflake_engine::{Interrupt, Isolation};
use unflake_known::inspection::{Leaver, Unseen};
use unflake_model::{
    AttemptChanges, Evidence, Look, Order, OutcomeKind, StateChange, StateLook, Suite, TestIndex,
};

use crate::dirt::allow::AllowList;
use crate::engine_world::{EngineWorld, WorldError};
use crate::gather::{Asked, Gathered, gather};
use crate::logbook::Progress;
use crate::world::{Answer, Finish};

/// Whose state is watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// That of the project, and of the process.
    Project,
    /// That of installed packages, too.
    ThirdParty,
}

/// What one watched run of a suite says.
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
    /// Levels of isolation that could not be had.
    pub isolation: Isolation,
    /// Whether the user stopped it.
    pub is_interrupted: bool,
    /// Why there was no going on.
    pub error: Option<WorldError>,
}

/// Runs the suite once, and looks at what each test leaves behind.
pub fn inspect(
    suite: &Rc<Suite>,
    world: &mut EngineWorld,
    scope: Scope,
    allow: &mut AllowList,
    progress: &mut dyn Progress,
) -> Inspected {
    let third_party = scope == Scope::ThirdParty;
    let state = StateLook { fixtures: true, third_party, ..StateLook::all() };
    let asked = Asked {
        look: Look::at_state(state),
        order: Order::original(suite),
        stage: "watching what tests leave behind",
    };
    let Gathered { answers, finish, error } = gather(asked, suite, world, progress);
    let stretches: Vec<Stretch> = answers.iter().map(Stretch::of).collect();
    let outcomes = || stretches.iter().flat_map(|stretch| &stretch.seen).map(|seen| seen.outcome);
    Inspected {
        leavers: judge::judge(&stretches, suite, allow),
        unseen: unseen(&stretches, suite),
        n_seen: outcomes().count(),
        n_failed: outcomes().filter(|it| it.evidence() == Some(Evidence::Fail)).count(),
        is_in_part: answers.iter().any(|answer| answer.observation.seen.in_part),
        isolation: answers
            .iter()
            .rev()
            .find_map(|answer| answer.manner.as_ref())
            .map(|manner| manner.isolation.clone())
            .unwrap_or_default(),
        is_interrupted: finish == Finish::Interrupted,
        error,
    }
}

/// The tests of a suite that leave something behind. What stands in the way of finding out does not
/// matter: nothing depends on it but the order in which orders are tried.
pub(crate) fn who_leaves_something(
    suite: &Rc<Suite>,
    world: &mut EngineWorld,
    interrupt: &Interrupt,
    progress: &mut dyn Progress,
) -> Vec<TestIndex> {
    let mut allow = AllowList::default();
    let inspected = inspect(suite, world, Scope::Project, &mut allow, progress);
    if inspected.is_interrupted {
        // Whoever comes next is to hear of it as well.
        interrupt.raise();
    }
    inspected.leavers.iter().filter_map(|leaver| suite.find(&leaver.test)).collect()
}

/// Tests that were watched in one process.
#[derive(Clone, Debug, Default)]
struct Stretch {
    seen: Vec<SeenTest>,
    /// Whether all fixtures were torn down in the end.
    is_whole: bool,
}

/// One test, and what it left.
#[derive(Clone, Debug)]
struct SeenTest {
    test: TestIndex,
    outcome: OutcomeKind,
    changes: Vec<StateChange>,
    n_more: u64,
}

impl Stretch {
    fn of(answer: &Answer) -> Self {
        let mut changes: BTreeMap<usize, &AttemptChanges> =
            answer.observation.seen.changes.iter().map(|it| (it.attempt, it)).collect();
        let attempts = answer.observation.attempts.iter().enumerate();
        let run = attempts.filter(|(_, it)| it.outcome.kind() != OutcomeKind::NotRun);
        let seen = run.map(|(place, attempt)| {
            let left = changes.remove(&place);
            SeenTest {
                test: attempt.test,
                outcome: attempt.outcome.kind(),
                changes: left.map(|it| it.changes.clone()).unwrap_or_default(),
                n_more: left.map_or(0, |it| it.n_more),
            }
        });
        Self { seen: seen.collect(), is_whole: Gathered::is_complete(answer) }
    }
}

fn unseen(stretches: &[Stretch], suite: &Suite) -> Vec<Unseen> {
    let seen = stretches.iter().flat_map(|stretch| &stretch.seen);
    let gone = seen.filter(|seen| seen.outcome.ends_the_process());
    let unseen =
        |seen: &SeenTest| Unseen { test: suite.id(seen.test).clone(), outcome: seen.outcome };
    gone.map(unseen).collect()
}
