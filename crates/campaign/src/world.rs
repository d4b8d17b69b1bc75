//! Who answers experiments, what is an answer, and who is kept informed?

use unflake_detect::Suspicion;
use unflake_engine::{Ending, Isolation, Perturbed};
use unflake_known::Failure;
use unflake_model::{
    Evidence, Experiment, Finding, Observation, Outcome, OutcomeKind, RunId, Spent, TestIndex,
};

use crate::masked;

/// Answers experiments.
pub trait World {
    /// How many experiments the agent works on at once.
    fn width(&self) -> usize;

    /// How many more experiments it accepts in advance, to begin them as soon as it can.
    fn n_ahead(&self) -> usize {
        0
    }

    /// How many experiments the plain runner works on at once.
    fn plain_width(&self) -> usize {
        1
    }

    /// Accepts an experiment; its answer will come from [`World::next`].
    fn submit(&mut self, experiment: &Experiment);

    /// Waits for something to happen.
    fn next(&mut self) -> Happening;
}

/// What a world has to say.
#[derive(Clone, Debug)]
pub enum Happening {
    /// A test ended in a run that goes on.
    TestEnded,
    /// A run is over.
    Ended(Box<Answer>),
    /// The user does not want to wait any longer. Runs under way are given up; those in which some
    /// test had ended are here, as far as they got.
    Interrupted(Vec<Answer>),
}

/// The result of a run: the observation, what its failed attempts said, and how it was made.
#[derive(Clone, Debug)]
pub struct Answer {
    /// What the analysis is told.
    pub observation: Observation,
    /// What people are shown.
    pub failures: Vec<FailedAttempt>,
    /// How the run was made, if it was made just now and by the agent.
    pub manner: Option<Manner>,
}

/// How a run was made.
#[derive(Clone, Debug)]
pub struct Manner {
    /// How the run ended.
    pub ending: Ending,
    /// Which levels of isolation held.
    pub isolation: Isolation,
    /// Which circumstances were perturbed.
    pub perturbed: Perturbed,
}

/// A failed attempt with what was said about it.
#[derive(Clone, Debug)]
pub struct FailedAttempt {
    /// The test that failed.
    pub test: TestIndex,
    /// The number of the attempt among those of this test in the run, from 0.
    pub attempt: usize,
    /// How the attempt ended.
    pub outcome: OutcomeKind,
    /// What the failure said.
    pub failure: Failure,
}

impl FailedAttempt {
    /// The failure of an attempt that is over, if it failed.
    pub(crate) fn of(
        test: TestIndex,
        attempt: usize,
        outcome: Outcome,
        said: Option<unflake_engine::Failure>,
    ) -> Option<Self> {
        let said = said.unwrap_or_default();
        let failure = masked::failure(said.message, said.text);
        let is_failure = outcome.evidence() == Some(Evidence::Fail);
        is_failure.then(|| Self { test, attempt, outcome: outcome.kind(), failure })
    }
}

impl Answer {
    /// The answer of a run that was not made just now, or not by the agent.
    pub fn of(observation: Observation, failures: Vec<FailedAttempt>) -> Self {
        Self { observation, failures, manner: None }
    }

    /// The cost of the run. Tests that were never started cost nothing.
    pub fn cost(&self) -> Spent {
        let attempts = self.observation.attempts.iter();
        let started = attempts.filter(|attempt| attempt.outcome.kind() != OutcomeKind::NotRun);
        let time = self.observation.duration;
        Spent { runs: 1, attempts: started.count() as u64, time }
    }
}

/// Is kept informed while an analysis is driven.
pub trait Watcher {
    /// A run is asked for.
    fn asked(&mut self, _experiment: &Experiment) {}

    /// The analysis was told the answer to an experiment.
    fn ran(&mut self, experiment: &Experiment, answer: &Answer, source: Source);

    /// A run was given up, but some of its tests had ended. The analysis is not told.
    fn cut_off(&mut self, _experiment: &Experiment, _answer: &Answer) {}

    /// A test ended in a run that goes on.
    fn test_ended(&mut self) {}

    /// The analysis begins to confirm something.
    fn suspects(&mut self, _suspicion: &Suspicion) {}

    /// The analysis has finished with a test, and goes on with others.
    fn found(&mut self, _finding: &Finding) {}
}

/// Where an answer comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The run was made just now.
    Run,
    /// The run was made before, and is on record.
    Recalled {
        /// Its number on record.
        number: RunId,
    },
}

/// How driving an analysis ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finish {
    /// The analysis completed by itself.
    Complete,
    /// The user interrupted it; the answer is what was known by then.
    Interrupted,
}
