//! The engine as a world that answers experiments.

use std::collections::{BTreeMap, BTreeSet};

use unflake_engine::{
    Ending, Engine, EngineError, Event, Isolation, Perturbed, SubmitError, Waker,
};
use unflake_known::Warning;
use unflake_model::{Environment, Experiment, Observation, RunId};

use crate::world::{Answer, FailedAttempt, Happening, Manner, World};

/// Runs in a row that fail to start before we give up: one failure may be chance.
const NOT_STARTED_MAX: usize = 3;

/// The engine, and what is known of the runs under way.
pub struct EngineWorld {
    engine: Engine,
    jobs: usize,
    under_way: BTreeMap<RunId, UnderWay>,
    /// Runs under way in which something is perturbed, not merely held fixed.
    changed: BTreeSet<RunId>,
    n_not_started: usize,
    /// How many perturbed runs could not be started, and why the first one could not.
    perturbed_not_run: Option<(u64, String)>,
    error: Option<WorldError>,
}

/// What was reported so far about a run that is not over.
#[derive(Default)]
struct UnderWay {
    failures: Vec<FailedAttempt>,
    perturbed: Perturbed,
}

impl EngineWorld {
    /// Lets this engine answer, at most `jobs` experiments at once.
    pub fn new(engine: Engine, jobs: usize) -> Self {
        Self {
            engine,
            jobs,
            under_way: BTreeMap::new(),
            changed: BTreeSet::new(),
            n_not_started: 0,
            perturbed_not_run: None,
            error: None,
        }
    }

    /// The engine that answers.
    pub fn engine(&mut self) -> &mut Engine {
        &mut self.engine
    }

    /// For those who must wake up whoever waits for the next event.
    pub(crate) fn waker(&self) -> Waker {
        self.engine.waker()
    }

    /// Whether no run is under way.
    pub(crate) fn is_idle(&self) -> bool {
        self.under_way.is_empty()
    }

    /// The error that made the engine give up, if any.
    pub fn take_error(&mut self) -> Option<WorldError> {
        self.error.take()
    }

    /// A warning about perturbed runs that could not be started, if any.
    pub fn take_perturbed_not_run(&mut self) -> Option<Warning> {
        let (n_runs, reason) = self.perturbed_not_run.take()?;
        Some(Warning::PerturbedNotRun { n_runs, reason })
    }

    /// Runs one experiment to its end.
    pub fn run(&mut self, experiment: &Experiment) -> Result<Answer, Stopped> {
        self.submit(experiment);
        loop {
            match self.next() {
                Happening::Ended(answer) => return Ok(*answer),
                Happening::Interrupted(_) => return Err(Stopped),
                Happening::TestEnded => (),
            }
        }
    }

    fn ended(&mut self, observation: Observation, ending: Ending, isolation: Isolation) -> Answer {
        let UnderWay { failures, perturbed } =
            self.under_way.remove(&observation.run).unwrap_or_default();
        let is_changed = self.changed.remove(&observation.run);
        self.count_not_started(&ending, is_changed);
        let manner = Some(Manner { ending, isolation, perturbed });
        Answer { observation, failures, manner }
    }

    /// Gives up after a few runs in a row that could not be started. Perturbed runs do not count:
    /// their circumstances may prevent any start.
    fn count_not_started(&mut self, ending: &Ending, is_changed: bool) {
        let Ending::NotStarted { why, stderr } = ending else {
            self.n_not_started = 0;
            return;
        };
        if is_changed {
            self.n_not_started = 0;
            let first = || (0, with_last_line(why, stderr));
            self.perturbed_not_run.get_or_insert_with(first).0 += 1;
            return;
        }
        self.n_not_started += 1;
        if NOT_STARTED_MAX <= self.n_not_started {
            self.error = Some(WorldError::not_started(why, stderr));
        }
    }

    /// Waits for something to happen; `None` if it is of no interest to anybody.
    pub(crate) fn wait(&mut self) -> Option<Happening> {
        if self.error.is_some() {
            return Some(self.give_up());
        }
        match self.engine.next_event() {
            Ok(Event::RunEnded { observation, ending, isolation }) => {
                let answer = self.ended(observation, ending, isolation);
                return Some(Happening::Ended(Box::new(answer)));
            }
            Ok(Event::TestEnded { run, test, attempt, outcome, failure, .. }) => {
                if let Some(under_way) = self.under_way.get_mut(&run) {
                    let failed = FailedAttempt::of(test, attempt, outcome, failure);
                    under_way.failures.extend(failed);
                }
                return Some(Happening::TestEnded);
            }
            Ok(Event::Perturbed { run, perturbed }) => {
                if let Some(under_way) = self.under_way.get_mut(&run) {
                    under_way.perturbed = perturbed;
                }
            }
            Ok(Event::RunPutBack { run }) => {
                self.under_way.insert(run, UnderWay::default());
            }
            Ok(Event::Interrupted | Event::Idle) => return Some(self.give_up()),
            Ok(
                Event::RunStarted { .. }
                | Event::TestStarted { .. }
                | Event::AgentDied { .. }
                | Event::Woken,
            ) => {}
            Err(error) => self.error = Some(WorldError::Engine(error)),
        }
        None
    }

    /// Takes the interrupt from the engine that somebody else has heard, so that whatever is asked
    /// next is not given up for it. Nothing is under way, so nothing is waited for.
    pub(crate) fn hear_interrupt(&mut self) {
        if let Err(error) = self.engine.next_event() {
            self.error = Some(WorldError::Engine(error));
        }
    }

    pub(crate) fn give_up(&mut self) -> Happening {
        let under_way = std::mem::take(&mut self.under_way).into_iter();
        let seen = under_way.filter_map(|(run, UnderWay { failures, .. })| {
            Some(Answer::of(self.engine.seen_so_far(run)?, failures))
        });
        let cut_off = seen.collect();
        self.changed.clear();
        self.engine.kill_all();
        Happening::Interrupted(cut_off)
    }
}

impl World for EngineWorld {
    fn width(&self) -> usize {
        self.jobs
    }

    fn n_ahead(&self) -> usize {
        self.engine.n_ahead()
    }

    fn plain_width(&self) -> usize {
        0
    }

    fn submit(&mut self, experiment: &Experiment) {
        let is_changed = match experiment.environment {
            Environment::Plain => false,
            Environment::Hashed { .. } => true,
            Environment::Perturbed { factors, .. } => !factors.is_empty(),
        };
        if is_changed {
            self.changed.insert(experiment.run);
        }
        self.under_way.insert(experiment.run, UnderWay::default());
        // An engine that cannot do this at all ends the analysis with what is known.
        if let Err(error) = self.engine.submit(experiment) {
            self.error = Some(WorldError::Submit(error));
        }
    }

    fn next(&mut self) -> Happening {
        loop {
            if let Some(happening) = self.wait() {
                return happening;
            }
        }
    }
}

/// Why a run was not started, with the last line of the output, which usually says most.
fn with_last_line(why: &str, stderr: &str) -> String {
    let last = stderr.lines().rev().find(|line| !line.trim().is_empty());
    let said = last.map(|last| format!("; it wrote `{last}`"));
    format!("{why}{}", said.unwrap_or_default())
}

/// Why the engine cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum WorldError {
    /// It was asked for something it cannot do.
    #[error(transparent)]
    Submit(SubmitError),
    /// Something it needs does not work.
    #[error(transparent)]
    Engine(EngineError),
    /// Processes can no longer be started.
    #[error("no run can be made: {why}")]
    NotStarted {
        /// Why the last one could not be started.
        why: String,
    },
}

impl WorldError {
    /// An error that includes the last line of the output.
    pub fn not_started(why: &str, stderr: &str) -> Self {
        Self::NotStarted { why: with_last_line(why, stderr) }
    }
}

/// The user interrupted, or the engine gave up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stopped;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::engine;
    use unflake_engine::Interrupt;
    use unflake_model::{Order, OutcomeKind, TestIndex};

    #[test]
    fn what_had_ended_when_a_run_was_given_up_is_known_with_what_it_said() {
        let tests = "import signal\n\n\n\
            def test_a():\n    assert 1 == 2\n\n\n\
            def test_b():\n    signal.pause()\n";
        let interrupt = Interrupt::default();
        let (_folder, engine) = engine(tests, &interrupt);
        let mut world = EngineWorld::new(engine, 1);
        let run = RunId(7);
        world.submit(&Experiment::new(
            run,
            Order::from_distinct([TestIndex::new(0), TestIndex::new(1)]),
        ));
        while world.under_way[&run].failures.is_empty() {
            assert!(matches!(world.wait(), None | Some(Happening::TestEnded)));
        }
        interrupt.raise();
        let Happening::Interrupted(cut_off) = world.next() else { panic!("it was interrupted") };
        let [answer] = &cut_off[..] else { panic!("one run was under way") };
        let attempts = answer.observation.attempts.iter();
        let kinds: Vec<OutcomeKind> = attempts.map(|attempt| attempt.outcome.kind()).collect();
        assert_eq!(kinds, [OutcomeKind::Failed, OutcomeKind::NotRun]);
        assert!(answer.failures[0].failure.message.contains("assert 1 == 2"));
        assert_eq!(answer.failures.len(), 1);
    }
}
