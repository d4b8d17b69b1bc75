//! The loop between an analysis and whoever answers it.

use std::collections::BTreeMap;

use unflake_detect::{Inquiry, Suspicion};
use unflake_known::Failure;
use unflake_model::{
    Evidence, Experiment, Finding, Observation, Outcome, OutcomeKind, RunId, Spent, TestIndex,
};

use crate::masked;
use crate::recall::Recall;

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

/// Asks and tells until there is an answer.
pub fn drive<T: 'static>(
    mut inquiry: Inquiry<T>,
    world: &mut dyn World,
    recall: &mut Recall,
    watcher: &mut dyn Watcher,
) -> (T, Finish) {
    let mut under_way: BTreeMap<RunId, Experiment> = BTreeMap::new();
    let mut finish = Finish::Complete;
    loop {
        let width = world.width().max(under_way.len().saturating_sub(world.n_ahead()));
        let room = (width + world.n_ahead()).saturating_sub(under_way.len());
        let mut n_recalled = 0;
        for experiment in inquiry.ask_ahead(room, width) {
            if let Some((number, answer)) = recall.take(&experiment) {
                inquiry.tell(&answer.observation);
                watcher.ran(&experiment, &answer, Source::Recalled { number });
                n_recalled += 1;
            } else {
                world.submit(&experiment);
                under_way.insert(experiment.run, experiment);
            }
        }
        for suspicion in inquiry.take_suspicions() {
            watcher.suspects(&suspicion);
        }
        for finding in inquiry.take_conclusions() {
            watcher.found(&finding);
        }
        if let Some(answer) = inquiry.take_answer() {
            return (answer, finish);
        }
        if 0 < n_recalled {
            continue;
        }
        match world.next() {
            Happening::Ended(answer) => {
                // A run given up may still be heard of.
                if let Some(experiment) = under_way.remove(&answer.observation.run) {
                    inquiry.tell(&answer.observation);
                    watcher.ran(&experiment, &answer, Source::Run);
                }
            }
            Happening::Room => (),
            Happening::Interrupted => {
                finish = Finish::Interrupted;
                under_way.clear();
                inquiry.abandon();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::rc::Rc;
    use unflake_detect::explain::{Depth, explain};
    use unflake_model::{Budget, Confidence, Finding};
    use unflake_sim::scenario::{Case, Scenario, Setting};

    /// Answers the latest experiment first, and can be cut off after so many runs.
    struct SimWorld<'a> {
        scenario: &'a Scenario,
        waiting: Vec<Experiment>,
        n_left: usize,
    }

    impl World for SimWorld<'_> {
        fn width(&self) -> usize {
            3
        }

        fn submit(&mut self, experiment: &Experiment) {
            self.waiting.push(experiment.clone());
        }

        fn next(&mut self) -> Happening {
            if self.n_left == 0 {
                return Happening::Interrupted;
            }
            self.n_left -= 1;
            let experiment = self.waiting.pop().expect("nobody waits for nothing");
            let observation = self.scenario.sim.observe(&experiment);
            Happening::Ended(Answer { observation, failures: Vec::new() })
        }
    }

    #[derive(Default)]
    struct Log(Vec<(Experiment, Answer, Source)>, Vec<(usize, Suspicion)>, Vec<Finding>);

    impl Watcher for Log {
        fn ran(&mut self, experiment: &Experiment, answer: &Answer, source: Source) {
            self.0.push((experiment.clone(), answer.clone(), source));
        }

        fn suspects(&mut self, suspicion: &Suspicion) {
            self.1.push((self.0.len(), suspicion.clone()));
        }

        fn found(&mut self, finding: &Finding) {
            self.2.push(finding.clone());
        }
    }

    fn inquiry(scenario: &Scenario) -> Inquiry<Finding> {
        let suite = Rc::new(scenario.sim.suite().clone());
        let budget = Budget::unlimited(Confidence::USUAL);
        let target = scenario.targets[0];
        Inquiry::new(suite, budget, |lab| explain(lab, target, Depth::Roles))
    }

    fn ask(scenario: &Scenario, n_runs: usize, recall: &mut Recall) -> (Finding, Finish, Log) {
        let mut world = SimWorld { scenario, waiting: Vec::new(), n_left: n_runs };
        let mut log = Log::default();
        let (finding, finish) = drive(inquiry(scenario), &mut world, recall, &mut log);
        (finding, finish, log)
    }

    #[test]
    fn an_interrupted_campaign_goes_on_from_where_it_was_cut_off() {
        let setting = Setting { n_tests: 60, noise: 0.0, seed: 5 };
        let scenario = Case::CleanerBetween.scenario(setting);
        let (whole, finish, log) = ask(&scenario, usize::MAX, &mut Recall::default());
        assert_eq!(finish, Finish::Complete);
        for n_runs in [0, 1, 7, log.0.len() / 2, log.0.len() - 1] {
            let (_, finish, first) = ask(&scenario, n_runs, &mut Recall::default());
            assert_eq!(finish, Finish::Interrupted, "after {n_runs}");
            assert_eq!(first.0.len(), n_runs);
            let mut recall = Recall::default();
            for (number, (experiment, answer, _)) in (100..).zip(first.0) {
                recall.add(RunId(number), &experiment, answer);
            }
            let (resumed, finish, second) = ask(&scenario, usize::MAX, &mut recall);
            assert_eq!(finish, Finish::Complete);
            assert_eq!(resumed.verdict, whole.verdict);
            assert_eq!(resumed.dependencies, whole.dependencies);
            let recalled = second.0.iter().filter_map(|(_, _, source)| match source {
                Source::Recalled { number } => Some(number.0),
                Source::Run => None,
            });
            let numbers: std::collections::BTreeSet<u64> = recalled.collect();
            assert!(n_runs <= numbers.len() + 2, "at most what was under way is run again");
            assert!(numbers.iter().all(|number| (100..100 + n_runs as u64).contains(number)));
        }
    }

    /// Has room for one, and after the first look for three.
    struct Widening<'a> {
        inner: SimWorld<'a>,
        width: usize,
        seen_waiting: Vec<usize>,
    }

    impl World for Widening<'_> {
        fn width(&self) -> usize {
            self.width
        }

        fn submit(&mut self, experiment: &Experiment) {
            self.inner.submit(experiment);
        }

        fn next(&mut self) -> Happening {
            self.seen_waiting.push(self.inner.waiting.len());
            if self.width == 1 {
                self.width = 3;
                return Happening::Room;
            }
            self.inner.next()
        }
    }

    #[test]
    fn where_room_is_made_it_is_used_before_another_run_has_ended() {
        let scenario = Case::CleanerBetween.scenario(Setting { n_tests: 60, noise: 0.0, seed: 5 });
        let inner = SimWorld { scenario: &scenario, waiting: Vec::new(), n_left: usize::MAX };
        let mut world = Widening { inner, width: 1, seen_waiting: Vec::new() };
        drive(inquiry(&scenario), &mut world, &mut Recall::default(), &mut Log::default());
        assert_eq!(world.seen_waiting[..2], [1, 3]);
    }

    #[test]
    fn what_is_confirmed_is_told_before_most_of_the_runs_that_confirm_it() {
        let setting = Setting { n_tests: 60, noise: 0.0, seed: 5 };
        let scenario = Case::CleanerBetween.scenario(setting);
        let (finding, _, log) = ask(&scenario, usize::MAX, &mut Recall::default());
        let [(n_before, suspicion)] = &log.1[..] else { panic!("suspicions: {:?}", log.1) };
        assert_eq!(suspicion.test, finding.test);
        assert_eq!(vec![suspicion.group.clone()], finding.dependencies.polluters);
        assert!(n_before + 30 < log.0.len(), "{n_before} of {}", log.0.len());
        let told: Vec<_> = log.2.iter().map(|told| (told.test, told.verdict)).collect();
        assert_eq!(told, [(finding.test, finding.verdict)], "and what was found is told, once");
    }
}
