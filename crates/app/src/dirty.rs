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

use unflake_engine::{
    Change, Ending, Engine, Event, Interrupt, Isolation, Limits, SubmitError, Watching,
};
use unflake_model::{
    Environment, Evidence, Experiment, Order, OutcomeKind, Repetition, RunId, Suite, TestIndex,
};
use unflake_pytest::Project;
use unflake_report::dirt::{Inspection, Unseen};
use unflake_report::{Ended, Origin, Warning};

use crate::baseline::refusals;
use crate::causes::with_causes;
use crate::dirty::allow::AllowList;
use crate::logbook::Progress;
use crate::study::{StudyError, collection_warnings, now, start};
use crate::world::{NOT_STARTED_MAX, WorldError};

/// Everything the agent can watch.
const ALL_KINDS: &str = "all";
/// Who changed it: a test, or a fixture that outlives it.
const FIXTURES: &str = "fixtures";
/// Installed packages as well as the project.
const THIRD_PARTY: &str = "third-party";

/// So many tests go by until whoever waits is told how far it is.
const TOLD_EVERY: usize = 20;

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
    project: &Project,
    limits: &Limits,
    interrupt: &Interrupt,
    progress: &mut dyn Progress,
) -> Result<Inspection, StudyError> {
    progress.stage("collecting tests");
    let begun = now();
    let mut engine = start(project, limits, interrupt)?;
    let mut warnings = collection_warnings(&engine);
    let runner = engine.collected().runner.clone();
    let suite = engine.suite(|_| std::time::Duration::ZERO);

    let mut pass = Pass { kinds: request.kinds(), ..Pass::default() };
    pass.run_all(Order::original(&suite), &mut engine, progress);
    if pass.stretches.iter().all(|stretch| stretch.seen.is_empty()) {
        return Err(pass.error.map_or(StudyError::Interrupted, StudyError::World));
    }
    warnings.extend(pass.error.as_ref().map(|it| Warning::BrokenOff { reason: with_causes(it) }));
    warnings.extend(refusals(&pass.isolation));
    warnings.extend(pass.is_in_part.then_some(Warning::WatchedInPart));
    let mut allow = request.allow.clone();
    let tests = judge::judge(&pass.stretches, &suite, &mut allow);
    let is_whole = pass.n_seen() == suite.n_tests();
    Ok(Inspection {
        n_tests: suite.n_tests(),
        tests,
        unseen: pass.unseen(&suite),
        n_failed: pass.outcomes().filter(|it| it.evidence() == Some(Evidence::Fail)).count(),
        n_not_run: suite.n_tests() - pass.n_seen(),
        unused: if is_whole && request.is_whole_suite { allow.unused() } else { Vec::new() },
        warnings,
        wall_time: begun.elapsed(),
        ended: if pass.is_interrupted { Ended::Interrupted } else { Ended::Confident },
        origin: Origin::new(&runner, 0, &request.command, None),
    })
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

/// One pass over a suite.
#[derive(Default)]
struct Pass {
    kinds: Vec<String>,
    stretches: Vec<Stretch>,
    isolation: Isolation,
    is_in_part: bool,
    is_interrupted: bool,
    why_not_started: String,
    error: Option<WorldError>,
}

impl Pass {
    /// Runs an order, and what a test cut off in processes of their own. Each run comes at least
    /// one test further, or is one of few that do not, so there is an end to it.
    fn run_all(&mut self, order: Order, engine: &mut Engine, progress: &mut dyn Progress) {
        let n_tests = order.len();
        let mut rest = order;
        let mut n_futile = 0;
        for number in 0.. {
            let (environment, repetition) = (Environment::Plain, Repetition::Once);
            let run = RunId(number);
            let experiment = Experiment { run, order: rest, environment, repetition };
            let mut told = |n_seen| {
                progress.stage(&format!("watching the tests: {n_seen} of {n_tests}"));
            };
            if let Err(error) = self.submit(&experiment, engine) {
                self.error = Some(WorldError::Submit(error));
                return;
            }
            self.stretches.push(Stretch::default());
            let Some(not_run) = self.run(engine, &mut told) else {
                engine.kill_all();
                return;
            };
            let is_futile = not_run.len() == experiment.order.len();
            n_futile = if is_futile { n_futile + 1 } else { 0 };
            if NOT_STARTED_MAX <= n_futile {
                self.error = Some(WorldError::NotStarted { why: self.why_not_started.clone() });
            }
            if not_run.is_empty() || self.error.is_some() {
                return;
            }
            rest = Order::from_distinct(not_run);
        }
    }

    fn submit(&self, experiment: &Experiment, engine: &mut Engine) -> Result<(), SubmitError> {
        engine.submit(experiment)?;
        let kinds = self.kinds.clone();
        engine.watch(experiment.run, Some(Watching { kinds, ..Watching::default() }));
        Ok(())
    }

    /// Takes note of all that happens until a run is over; the tests it did not come to. None if
    /// there is no going on.
    fn run(&mut self, engine: &mut Engine, told: &mut dyn FnMut(usize)) -> Option<Vec<TestIndex>> {
        loop {
            if self.n_seen().is_multiple_of(TOLD_EVERY) {
                told(self.n_seen());
            }
            match engine.next_event() {
                Ok(Event::TestEnded { test, outcome, changes, n_more, .. }) => {
                    let seen = Seen { test, outcome: outcome.kind(), changes, n_more };
                    self.stretch().seen.push(seen);
                }
                Ok(Event::RunEnded { observation, ending, isolation }) => {
                    self.stretch().is_whole = ending == Ending::Complete;
                    if let Ending::NotStarted { why, .. } = ending {
                        self.why_not_started = why;
                    }
                    self.isolation = isolation;
                    let attempts = observation.attempts.into_iter();
                    let left = attempts.filter(|it| it.outcome.kind() == OutcomeKind::NotRun);
                    return Some(left.map(|attempt| attempt.test).collect());
                }
                Ok(Event::RunPutBack { .. }) => self.stretch().seen.clear(),
                Ok(Event::WatchedInPart { .. }) => self.is_in_part = true,
                Ok(Event::Interrupted | Event::Idle) => {
                    self.is_interrupted = true;
                    return None;
                }
                Ok(
                    Event::RunStarted { .. }
                    | Event::TestStarted { .. }
                    | Event::Traced { .. }
                    | Event::Restored { .. }
                    | Event::Perturbed { .. }
                    | Event::Chosen { .. }
                    | Event::AgentDied { .. },
                ) => {}
                Err(error) => {
                    self.error = Some(WorldError::Engine(error));
                    return None;
                }
            }
        }
    }

    /// The one under way.
    fn stretch(&mut self) -> &mut Stretch {
        self.stretches.last_mut().expect("each run begins with one")
    }

    fn seen(&self) -> impl Iterator<Item = &Seen> {
        self.stretches.iter().flat_map(|stretch| &stretch.seen)
    }

    fn n_seen(&self) -> usize {
        self.stretches.iter().map(|stretch| stretch.seen.len()).sum()
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
