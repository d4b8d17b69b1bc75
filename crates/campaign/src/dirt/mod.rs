//! Which tests leave something behind, even if no other test stumbles over it yet?
//!
//! The suite is run once, in its original order, and watched: after each test the agent reports
//! what has changed. That list alone is of no use to anybody: tests load modules, fill caches, draw
//! random numbers, and fixtures that live for a whole module change things and put them back.
//! `judge` separates such changes from dirt; [`allow`] is what the project declares as intended.
//!
//! Where a test ends the process, the tests after it are watched in a new one. What that process
//! starts with is nobody's doing, and what the ending test left is unknown.
//!
//! Limits: there is one order, so what a test cleans up only after others have run looks as it did
//! this time; and only state that the agent watches is seen.

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
    /// The state of the project and of the process.
    Project,
    /// Also that of installed packages.
    ThirdParty,
}

/// The result of one watched run of a suite.
#[derive(Debug)]
pub struct Inspected {
    /// Tests that changed something, with a judgement on each change.
    pub leavers: Vec<Leaver>,
    /// Tests whose process was gone before anyone could look.
    pub unseen: Vec<Unseen>,
    /// How many tests were run.
    pub n_seen: usize,
    /// How many of them failed.
    pub n_failed: usize,
    /// Whether some state could not be watched.
    pub is_in_part: bool,
    /// Which levels of isolation held in the run.
    pub isolation: Isolation,
    /// Whether the user stopped it.
    pub is_interrupted: bool,
    /// Why the run could not go on, if it could not.
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

/// The tests of a suite that leave something behind. Failing to find out does not matter: only the
/// order in which orders are tried depends on it.
pub(crate) fn who_leaves_something(
    suite: &Rc<Suite>,
    world: &mut EngineWorld,
    interrupt: &Interrupt,
    progress: &mut dyn Progress,
) -> Vec<TestIndex> {
    let mut allow = AllowList::default();
    let inspected = inspect(suite, world, Scope::Project, &mut allow, progress);
    if inspected.is_interrupted {
        // The next step must see the interrupt as well.
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

/// One test, and the changes it left.
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
