//! One pass over a suite, in its order, whatever its tests do to the process.
//!
//! Where a test takes the process with it, the tests behind it are run in another one. Each run
//! comes at least one test further, or is one of few that do not, so there is an end to it.

use unflake_engine::{Ending, Engine, Event, Isolation, Watching};
use unflake_model::{
    Environment, Experiment, Observation, Order, OutcomeKind, Repetition, RunId, Suite, TestIndex,
};

use crate::engine_world::{NOT_STARTED_MAX, WorldError};
use crate::logbook::Progress;

/// Numbers of runs that no analysis asked for.
pub const OUR_OWN: u64 = 1 << 62;

/// So many tests go by until whoever waits is told how far it is.
const TOLD_EVERY: usize = 20;

/// Who takes note of what happens.
pub trait Witness {
    /// Of how many tests there is a note.
    fn n_seen(&self) -> usize;

    /// A run begins in a process of its own.
    fn run_begins(&mut self);

    /// Something happened in it.
    fn hear(&mut self, event: Event);

    /// It is over; whether every test was run, and every fixture torn down.
    fn run_ended(&mut self, _observation: &Observation, _is_whole: bool) {}
}

/// How a pass came to its end.
#[derive(Debug, Default)]
pub struct Passed {
    /// That of the last run.
    pub isolation: Isolation,
    /// Whether the user stopped it.
    pub is_interrupted: bool,
    /// Why there was no going on.
    pub error: Option<WorldError>,
}

/// What to look at in a pass, and what to call that while it lasts.
pub struct Look<'a> {
    /// What is watched.
    pub watching: Watching,
    /// What to call it while it lasts.
    pub stage: &'a str,
    /// The tests to run, in this order; all in their original order without.
    pub tests: Option<&'a [TestIndex]>,
}

/// Runs the tests, all of them in their original order unless some were chosen.
pub fn pass(
    look: &Look<'_>,
    suite: &Suite,
    engine: &mut Engine,
    witness: &mut dyn Witness,
    progress: &mut dyn Progress,
) -> Passed {
    let chosen = look.tests.map(|tests| Order::from_distinct(tests.to_vec()));
    let (mut rest, mut n_futile) = (chosen.unwrap_or_else(|| Order::original(suite)), 0);
    let n_tests = rest.len();
    let mut passed = Passed::default();
    for number in OUR_OWN.. {
        let (environment, repetition) = (Environment::Plain, Repetition::Once);
        let experiment = Experiment { run: RunId(number), order: rest, environment, repetition };
        if let Err(error) = engine.submit(&experiment) {
            passed.error = Some(WorldError::Submit(error));
            break;
        }
        engine.watch(experiment.run, Some(look.watching.clone()));
        witness.run_begins();
        let mut told = |n| progress.stage(&format!("{}: {n} of {n_tests}", look.stage));
        let Some(left) = passed.attend(engine, witness, &mut told) else {
            engine.kill_all();
            break;
        };
        n_futile = if left.tests.len() == experiment.order.len() { n_futile + 1 } else { 0 };
        if NOT_STARTED_MAX <= n_futile {
            passed.error = Some(left.error);
            break;
        }
        if left.tests.is_empty() {
            break;
        }
        rest = Order::from_distinct(left.tests);
    }
    passed
}

/// The tests that a run did not come to.
struct Left {
    tests: Vec<TestIndex>,
    /// Why, if there is none that it came to.
    error: WorldError,
}

impl Passed {
    /// Has everything heard until a run is over; none if there is no going on.
    fn attend(
        &mut self,
        engine: &mut Engine,
        witness: &mut dyn Witness,
        told: &mut dyn FnMut(usize),
    ) -> Option<Left> {
        loop {
            if witness.n_seen().is_multiple_of(TOLD_EVERY) {
                told(witness.n_seen());
            }
            match engine.next_event() {
                Ok(Event::RunEnded { observation, ending, isolation }) => {
                    witness.run_ended(&observation, ending == Ending::Complete);
                    self.isolation = isolation;
                    let attempts = observation.attempts.into_iter();
                    let left = attempts.filter(|it| it.outcome.kind() == OutcomeKind::NotRun);
                    let tests = left.map(|attempt| attempt.test).collect();
                    let error = match &ending {
                        Ending::NotStarted { why, stderr } => WorldError::not_started(why, stderr),
                        _ => WorldError::not_started("no test began", ""),
                    };
                    return Some(Left { tests, error });
                }
                Ok(Event::Interrupted | Event::Idle) => {
                    self.is_interrupted = true;
                    return None;
                }
                Ok(event) => witness.hear(event),
                Err(error) => {
                    self.error = Some(WorldError::Engine(error));
                    return None;
                }
            }
        }
    }
}
