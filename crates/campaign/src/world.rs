//! Who answers experiments, what an answer is, and who is kept informed.

use unflake_detect::Suspicion;
use unflake_known::Failure;
use unflake_model::{
    Evidence, Experiment, Finding, Observation, Outcome, OutcomeKind, RunId, Spent, TestIndex,
};

use crate::masked;

/// Who answers experiments.
pub trait World {
    /// How many experiments it works on at once.
    fn width(&self) -> usize;

    /// How many more it takes, to begin with them as soon as it can.
    fn n_ahead(&self) -> usize {
        0
    }

    /// Takes an experiment; its answer comes from [`World::next`] at some time.
    fn submit(&mut self, experiment: &Experiment);

    /// Waits for something to happen.
    fn next(&mut self) -> Happening;
}

/// What a world has to say.
#[derive(Clone, Debug)]
pub enum Happening {
    /// A run is over.
    Ended(Answer),
    /// There is room for more experiments than before, or for fewer.
    Room,
    /// The user does not want to wait any longer. Runs under way are given up.
    Interrupted,
}

/// What came of a run: what analyses are told, and what its failed attempts said.
#[derive(Clone, Debug)]
pub struct Answer {
    /// For analyses.
    pub observation: Observation,
    /// For people.
    pub failures: Vec<FailedAttempt>,
}

/// A failed attempt with what was said about it.
#[derive(Clone, Debug)]
pub struct FailedAttempt {
    /// Which test.
    pub test: TestIndex,
    /// Which attempt of it in that run, from 0.
    pub attempt: usize,
    /// How it ended.
    pub outcome: OutcomeKind,
    /// What it said.
    pub failure: Failure,
}

impl FailedAttempt {
    /// Of an attempt that is over, if it failed.
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
    /// What the run cost. Tests that were never started cost nothing.
    pub fn cost(&self) -> Spent {
        let attempts = self.observation.attempts.iter();
        let started = attempts.filter(|attempt| attempt.outcome.kind() != OutcomeKind::NotRun);
        let time = self.observation.duration;
        Spent { runs: 1, attempts: started.count() as u64, time }
    }
}

/// Who is kept informed.
pub trait Watcher {
    /// The analysis was told what came of an experiment.
    fn ran(&mut self, experiment: &Experiment, answer: &Answer, source: Source);

    /// The analysis begins to confirm something.
    fn suspects(&mut self, _suspicion: &Suspicion) {}

    /// The analysis has looked into a test, and goes on with others.
    fn found(&mut self, _finding: &Finding) {}
}

/// Where an answer comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The run was made just now.
    Run,
    /// It was made before, and is on record.
    Recalled {
        /// Under this number.
        number: RunId,
    },
}

/// How an analysis came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finish {
    /// By itself.
    Complete,
    /// The user interrupted it; the answer is what was known by then.
    Interrupted,
}
