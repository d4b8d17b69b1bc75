//! The engine as a world that answers experiments.

use std::collections::BTreeMap;

use unflake_engine::{
    Change, Chosen, Ending, Engine, EngineError, Event, Isolation, Perturbed, SubmitError, Watching,
};
use unflake_model::{Environment, Evidence, Experiment, Observation, RunId, TestIndex};
use unflake_report::Failure;

use crate::drive::{Answer, FailedAttempt, Happening, World};

/// Runs in a row that could not be started, after which we give up: once may be chance.
pub(crate) const NOT_STARTED_MAX: usize = 3;

/// The engine, and what it has said so far beyond the observations.
pub struct EngineWorld {
    engine: Engine,
    jobs: usize,
    under_way: BTreeMap<RunId, Vec<FailedAttempt>>,
    /// What was made otherwise in perturbed runs under way.
    perturbed: BTreeMap<RunId, Perturbed>,
    /// What tests of the watched run under way left changed.
    changes: Vec<(TestIndex, Change)>,
    /// Open choices of the run under way that were made on purpose.
    chosen: Option<Chosen>,
    ended: Option<Ended>,
    n_not_started: usize,
    error: Option<WorldError>,
}

/// The run that ended last.
#[derive(Clone, Debug)]
pub struct Ended {
    /// How it came to its end.
    pub ending: Ending,
    /// Which levels of isolation held.
    pub isolation: Isolation,
    /// What its failed attempts said.
    pub failures: Vec<FailedAttempt>,
    /// What its tests left changed, if it was watched.
    pub changes: Vec<(TestIndex, Change)>,
    /// What was made otherwise, if it was perturbed.
    pub perturbed: Perturbed,
    /// Open choices that were made on purpose.
    pub chosen: Option<Chosen>,
}

impl EngineWorld {
    /// Lets this engine answer, at most `jobs` experiments at once.
    pub fn new(engine: Engine, jobs: usize) -> Self {
        Self {
            engine,
            jobs,
            under_way: BTreeMap::new(),
            perturbed: BTreeMap::new(),
            changes: Vec::new(),
            chosen: None,
            ended: None,
            n_not_started: 0,
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

    /// Runs one experiment to its end.
    pub fn run(&mut self, experiment: &Experiment) -> Result<Observation, Stopped> {
        self.run_watched(experiment, None)
    }

    /// Runs one experiment to its end, and looks at the state its tests leave behind.
    pub fn run_watched(
        &mut self,
        experiment: &Experiment,
        watching: Option<Watching>,
    ) -> Result<Observation, Stopped> {
        self.submit(experiment);
        self.engine.watch(experiment.run, watching);
        match self.next() {
            Happening::Ended(answer) => Ok(answer.observation),
            Happening::Interrupted => Err(Stopped),
        }
    }

    fn ended(&mut self, observation: Observation, ending: Ending, isolation: Isolation) -> Answer {
        let failures = self.under_way.remove(&observation.run).unwrap_or_default();
        let perturbed = self.perturbed.remove(&observation.run);
        if let (Ending::NotStarted { why, .. }, None) = (&ending, &perturbed) {
            self.n_not_started += 1;
            if NOT_STARTED_MAX <= self.n_not_started {
                self.error = Some(WorldError::NotStarted { why: why.clone() });
            }
        } else {
            self.n_not_started = 0;
        }
        let changes = std::mem::take(&mut self.changes);
        let perturbed = perturbed.unwrap_or_default();
        let chosen = self.chosen.take();
        let told = failures.clone();
        self.ended = Some(Ended { ending, isolation, failures: told, changes, perturbed, chosen });
        Answer { observation, failures }
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
    /// No process can be brought up any more.
    #[error("{NOT_STARTED_MAX} runs in a row could not be started: {why}")]
    NotStarted {
        /// Why the last one could not.
        why: String,
    },
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
        if experiment.environment != Environment::Plain {
            self.perturbed.insert(experiment.run, Perturbed::default());
        }
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
                Ok(Event::TestEnded { run, test, attempt, outcome, failure, changes, .. }) => {
                    self.changes.extend(changes.into_iter().map(|change| (test, change)));
                    let is_failure = outcome.evidence() == Some(Evidence::Fail);
                    if let (true, Some(failures)) = (is_failure, self.under_way.get_mut(&run)) {
                        let said = failure.unwrap_or_default();
                        let failure = Failure { message: said.message, text: said.text };
                        let outcome = outcome.kind();
                        failures.push(FailedAttempt { test, attempt, outcome, failure });
                    }
                }
                Ok(Event::Perturbed { run, perturbed }) => {
                    self.perturbed.insert(run, perturbed);
                }
                Ok(Event::Chosen { chosen, .. }) => self.chosen = Some(chosen),
                Ok(Event::RunPutBack { run }) => {
                    self.under_way.insert(run, Vec::new());
                    self.changes.clear();
                }
                Ok(Event::Interrupted | Event::Idle) => return self.give_up(),
                Ok(
                    Event::RunStarted { .. }
                    | Event::TestStarted { .. }
                    | Event::Traced { .. }
                    | Event::Restored { .. }
                    | Event::WatchedInPart { .. }
                    | Event::AgentDied { .. },
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
