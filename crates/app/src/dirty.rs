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

use unflake_adapter::{Part, collection_warnings, with_causes};
use unflake_engine::{Change, Event, Interrupt, Limits, Watching};
use unflake_known::inspection::{Inspection, Unseen};
use unflake_known::{Ended, Origin, Warning};
use unflake_model::{Evidence, Observation, OutcomeKind, Suite, TestIndex};

use crate::baseline::refusals;
use crate::dirty::allow::AllowList;
use crate::logbook::Progress;
use crate::pass::{Look, Witness, pass};
use crate::study::{StudyError, now, start};
use crate::world::EngineWorld;

/// Everything the agent can watch.
const ALL_KINDS: &str = "all";
/// Who changed it: a test, or a fixture that outlives it.
const FIXTURES: &str = "fixtures";
/// Installed packages as well as the project.
const THIRD_PARTY: &str = "third-party";

/// What to look at.
#[derive(Clone, Debug)]
pub struct LintRequest {
    /// What is meant to be left behind.
    pub allow: AllowList,
    /// Whose state is watched.
    pub scope: Scope,
    /// Whether all tests are run, so that an entry of the list that nothing matches is of no use.
    pub is_whole_suite: bool,
    /// The command line, as it was typed.
    pub command: String,
}

/// Whose state is watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// That of the project, and of the process.
    Project,
    /// That of installed packages, too.
    ThirdParty,
}

/// Runs the suite once, watched.
pub fn lint(
    request: &LintRequest,
    part: &dyn Part,
    limits: &Limits,
    interrupt: &Interrupt,
    progress: &mut dyn Progress,
) -> Result<Inspection, StudyError> {
    progress.stage("collecting tests");
    let begun = now();
    let mut engine = start(part, limits, interrupt)?;
    let mut warnings = collection_warnings(&engine);
    let runner = engine.collected().runner.clone();
    let suite = engine.suite(|_| std::time::Duration::ZERO);

    let watching = Watching { kinds: request.kinds(), ..Watching::default() };
    let look = Look { watching, stage: "watching the tests" };
    let mut notes = Notes::default();
    let passed = pass(&look, &suite, &mut engine, &mut notes, progress);
    if notes.n_seen() == 0 {
        return Err(passed.error.map_or(StudyError::Interrupted, StudyError::World));
    }
    warnings.extend(passed.error.as_ref().map(|it| Warning::BrokenOff { reason: with_causes(it) }));
    warnings.extend(refusals(&passed.isolation));
    warnings.extend(notes.is_in_part.then_some(Warning::WatchedInPart));
    let mut allow = request.allow.clone();
    let tests = judge::judge(&notes.stretches, &suite, &mut allow);
    let is_whole = notes.n_seen() == suite.n_tests();
    Ok(Inspection {
        n_tests: suite.n_tests(),
        tests,
        unseen: notes.unseen(&suite),
        n_failed: notes.outcomes().filter(|it| it.evidence() == Some(Evidence::Fail)).count(),
        n_not_run: suite.n_tests() - notes.n_seen(),
        unused: if is_whole && request.is_whole_suite { allow.unused() } else { Vec::new() },
        warnings,
        wall_time: begun.elapsed(),
        ended: if passed.is_interrupted { Ended::Interrupted } else { Ended::Confident },
        origin: Origin::new(&runner, 0, &request.command, None),
    })
}

/// The tests of a suite that leave something behind, by one watched pass. What stands in its way is
/// no matter: nothing depends on it but the order in which orders are tried.
pub(crate) fn who_leaves_something(
    suite: &Suite,
    world: &mut EngineWorld,
    interrupt: &Interrupt,
    progress: &mut dyn Progress,
) -> Vec<TestIndex> {
    let kinds = [ALL_KINDS, FIXTURES].map(str::to_owned).to_vec();
    let watching = Watching { kinds, ..Watching::default() };
    let look = Look { watching, stage: "watching what tests leave behind" };
    let mut notes = Notes::default();
    let passed = pass(&look, suite, world.engine(), &mut notes, progress);
    if passed.is_interrupted {
        // Whoever comes next is to hear of it as well.
        interrupt.raise();
    }
    let dirt = judge::judge(&notes.stretches, suite, &mut AllowList::default());
    dirt.iter().filter_map(|dirty| suite.find(&dirty.test)).collect()
}

impl LintRequest {
    fn kinds(&self) -> Vec<String> {
        let third = (self.scope == Scope::ThirdParty).then_some(THIRD_PARTY);
        [ALL_KINDS, FIXTURES].into_iter().chain(third).map(str::to_owned).collect()
    }
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
