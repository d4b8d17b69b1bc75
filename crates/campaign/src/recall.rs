//! Runs of an interrupted campaign, given back when the same experiment is asked for again.
//!
//! Runs of other campaigns that asked something else about the same code are lent (`lent.rs`):
//! under numbers of their own, from [`Origin::LENT`] on.
//!
//! An analysis is a function of the answers it gets. Given the answers of an earlier campaign, it
//! asks for the same experiments, and goes on from where it was cut off; nothing needs to know how
//! far it had come. Runs are matched by what was run, not by number: with several workers the
//! numbers depend on which was quicker.

use std::collections::{BTreeMap, VecDeque};

use unflake_model::{Environment, Experiment, Observation, Repetition, RunId, Spent, TestIndex};

use unflake_known::Origin;

use crate::world::Answer;

type Content = (Vec<TestIndex>, Environment, Repetition);

/// Answers waiting to be asked for again.
#[derive(Debug, Default)]
pub struct Recall {
    waiting: BTreeMap<Content, VecDeque<(RunId, Answer)>>,
    cost: Spent,
    n_lent_taken: u64,
}

impl Recall {
    /// Remembers a run with its number on record.
    pub fn add(&mut self, number: RunId, experiment: &Experiment, answer: Answer) {
        self.cost = self.cost.plus(answer.cost());
        self.waiting.entry(content(experiment)).or_default().push_back((number, answer));
    }

    /// The earliest run of this experiment that was not given back yet: its number on record, and
    /// the answer under its new number. Plain runs and those with a look are never on record.
    pub fn take(&mut self, experiment: &Experiment) -> Option<(RunId, Answer)> {
        if !experiment.is_evidence() {
            return None;
        }
        let (number, answer) = self.waiting.get_mut(&content(experiment))?.pop_front()?;
        self.n_lent_taken += u64::from(Origin::LENT <= number);
        let observation = Observation { run: experiment.run, ..answer.observation };
        Some((number, Answer { observation, ..answer }))
    }

    /// Adds what another one remembers, after everything that is remembered here.
    pub fn append(&mut self, other: Self) {
        self.cost = self.cost.plus(other.cost);
        for (content, answers) in other.waiting {
            self.waiting.entry(content).or_default().extend(answers);
        }
    }

    /// How many runs of other campaigns were given back.
    pub fn n_lent_taken(&self) -> u64 {
        self.n_lent_taken
    }

    /// What all remembered runs cost.
    pub fn cost(&self) -> Spent {
        self.cost
    }
}

fn content(experiment: &Experiment) -> Content {
    (experiment.order.tests().to_vec(), experiment.environment, experiment.repetition)
}
