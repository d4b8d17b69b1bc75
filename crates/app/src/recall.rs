//! Runs of an interrupted campaign, given back when the same experiment is asked for again.
//!
//! An analysis is a function of the answers it gets. Given the answers of an earlier campaign, it
//! asks for the same experiments, and goes on from where it was cut off; nothing needs to know how
//! far it had come. Runs are matched by what was run, not by number: with several workers the
//! numbers depend on who was quicker.

use std::collections::{BTreeMap, VecDeque};

use unflake_model::{Environment, Experiment, Observation, Repetition, TestIndex};

type Content = (Vec<TestIndex>, Environment, Repetition);

/// Observations waiting to be asked for again.
#[derive(Debug, Default)]
pub struct Recall {
    waiting: BTreeMap<Content, VecDeque<Observation>>,
}

impl Recall {
    /// Remembers a run.
    pub fn add(&mut self, experiment: &Experiment, observation: Observation) {
        self.waiting.entry(content(experiment)).or_default().push_back(observation);
    }

    /// The earliest run of what is asked for that was not given back yet, under its new number.
    pub fn take(&mut self, experiment: &Experiment) -> Option<Observation> {
        let observation = self.waiting.get_mut(&content(experiment))?.pop_front()?;
        Some(Observation { run: experiment.run, ..observation })
    }
}

fn content(experiment: &Experiment) -> Content {
    (experiment.order.tests().to_vec(), experiment.environment, experiment.repetition)
}
