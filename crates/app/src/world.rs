//! The engine as a world that answers experiments.

use std::collections::BTreeMap;

use unflake_engine::{Ending, Engine, EngineError, Event, Failure, Isolation, SubmitError};
use unflake_model::{Experiment, Observation, Outcome, OutcomeKind, RunId, TestIndex};

use crate::drive::{Happening, World};

/// Failures kept of one test; the rest are counted only.
const FAILURES_MAX: usize = 10;

/// A failed attempt with what was said about it.
#[derive(Clone, Debug)]
pub struct FailedAttempt {
    /// In which run.
    pub run: RunId,
    /// Which test.
    pub test: TestIndex,
    /// Which attempt of it in that run, from 0.
    pub attempt: usize,
    /// How it ended.
    pub outcome: Outcome,
    /// What it said.
    pub failure: Failure,
}

/// The engine, and what it has said so far beyond the observations.
pub struct EngineWorld {
    engine: Engine,
    jobs: usize,
    under_way: BTreeMap<RunId, Vec<FailedAttempt>>,
    ended: Option<Ended>,
    kept: BTreeMap<TestIndex, Vec<FailedAttempt>>,
    error: Option<WorldError>,
}

/// The run that ended last.
#[derive(Clone, Debug)]
pub struct Ended {
    /// How it came to its end.
    pub ending: Ending,
    /// Which levels of isolation held.
    pub isolation: Isolation,
    /// The attempts that failed in it.
    pub failures: Vec<FailedAttempt>,
}

impl EngineWorld {
    /// Lets this engine answer, at most `jobs` experiments at once.
    pub fn new(engine: Engine, jobs: usize) -> Self {
        Self {
            engine,
            jobs,
            under_way: BTreeMap::new(),
            ended: None,
            kept: BTreeMap::new(),
            error: None,
        }
    }

    /// The engine.
    pub fn engine(&mut self) -> &mut Engine {
        &mut self.engine
    }

    /// What made the engine give up, if it did.
    pub fn take_error(&mut self) -> Option<WorldError> {
        self.error.take()
    }

    /// What else is known of the run that [`World::next`] gave last.
    pub fn last_ended(&self) -> Option<&Ended> {
        self.ended.as_ref()
    }

    /// The first failures of each test.
    pub fn failures(&self) -> &BTreeMap<TestIndex, Vec<FailedAttempt>> {
        &self.kept
    }

    /// Runs one experiment to its end.
    pub fn run(&mut self, experiment: &Experiment) -> Result<Observation, Stopped> {
        self.submit(experiment);
        match self.next() {
            Happening::Ended(observation) => Ok(observation),
            Happening::Interrupted => Err(Stopped),
        }
    }

    fn ended(
        &mut self,
        observation: Observation,
        ending: Ending,
        isolation: Isolation,
    ) -> Observation {
        let failures = self.under_way.remove(&observation.run).unwrap_or_default();
        for failure in &failures {
            let kept = self.kept.entry(failure.test).or_default();
            if kept.len() < FAILURES_MAX {
                kept.push(failure.clone());
            }
        }
        self.ended = Some(Ended { ending, isolation, failures });
        observation
    }
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
}

/// The user interrupted, or the engine gave up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stopped;

impl World for EngineWorld {
    fn width(&self) -> usize {
        self.jobs
    }

    fn submit(&mut self, experiment: &Experiment) {
        self.under_way.insert(experiment.run, Vec::new());
        // What the engine cannot do at all ends the analysis with what is known.
        if let Err(error) = self.engine.submit(experiment) {
            self.error = Some(WorldError::Submit(error));
        }
    }

    fn next(&mut self) -> Happening {
        while self.error.is_none() {
            match self.engine.next_event() {
                Ok(Event::RunEnded { observation, ending, isolation }) => {
                    return Happening::Ended(self.ended(observation, ending, isolation));
                }
                Ok(Event::TestEnded { run, test, attempt, outcome, failure, .. }) => {
                    let is_failure = !matches!(
                        outcome.kind(),
                        OutcomeKind::Passed | OutcomeKind::Skipped | OutcomeKind::NotRun
                    );
                    if let (true, Some(failures)) = (is_failure, self.under_way.get_mut(&run)) {
                        let failure = failure.unwrap_or_default();
                        failures.push(FailedAttempt { run, test, attempt, outcome, failure });
                    }
                }
                Ok(Event::RunPutBack { run }) => {
                    self.under_way.insert(run, Vec::new());
                }
                Ok(Event::Interrupted | Event::Idle) => return self.give_up(),
                Ok(
                    Event::RunStarted { .. } | Event::TestStarted { .. } | Event::AgentDied { .. },
                ) => {}
                Err(error) => self.error = Some(WorldError::Engine(error)),
            }
        }
        self.give_up()
    }
}

impl EngineWorld {
    fn give_up(&mut self) -> Happening {
        self.engine.kill_all();
        self.under_way.clear();
        Happening::Interrupted
    }
}
