//! The loop between an analysis and the world that answers it.

use std::collections::BTreeMap;

use unflake_detect::{Analysis, Room};
use unflake_model::{Experiment, Means, RunId};

use crate::recall::Recall;
use crate::world::{Finish, Happening, Source, Watcher, World};

/// Asks and tells until the analysis has an answer.
pub fn drive<T: 'static>(
    mut analysis: Analysis<T>,
    world: &mut dyn World,
    recall: &mut Recall,
    watcher: &mut dyn Watcher,
) -> (T, Finish) {
    let mut under_way = UnderWay::default();
    let mut finish = Finish::Complete;
    loop {
        let mut n_recalled = 0;
        for experiment in analysis.ask_for(under_way.room(world)) {
            if let Some((number, answer)) = recall.take(&experiment) {
                analysis.tell(&answer.observation);
                watcher.ran(&experiment, &answer, Source::Recalled { number });
                n_recalled += 1;
            } else {
                watcher.asked(&experiment);
                world.submit(&experiment);
                under_way.0.insert(experiment.run, experiment);
            }
        }
        for suspicion in analysis.take_suspicions() {
            watcher.suspects(&suspicion);
        }
        for finding in analysis.take_conclusions() {
            watcher.found(&finding);
        }
        if let Some(answer) = analysis.take_answer() {
            return (answer, finish);
        }
        if 0 < n_recalled {
            continue;
        }
        match world.next() {
            Happening::TestEnded => watcher.test_ended(),
            Happening::Ended(answer) => {
                // A run that was given up may still report.
                let Some(experiment) = under_way.0.remove(&answer.observation.run) else {
                    continue;
                };
                analysis.tell(&answer.observation);
                watcher.ran(&experiment, &answer, Source::Run);
            }
            Happening::Interrupted(cut_off) => {
                finish = Finish::Interrupted;
                for answer in cut_off {
                    if let Some(experiment) = under_way.0.get(&answer.observation.run) {
                        watcher.cut_off(experiment, &answer);
                    }
                }
                under_way.0.clear();
                analysis.abandon();
            }
        }
    }
}

/// Experiments that were handed out and have no answer yet.
#[derive(Default)]
struct UnderWay(BTreeMap<RunId, Experiment>);

impl UnderWay {
    fn room(&self, world: &dyn World) -> Room {
        let n_plain = self.0.values().filter(|it| it.means != Means::Agent).count();
        let n_agent = self.0.len() - n_plain;
        let width = world.width().max(n_agent.saturating_sub(world.n_ahead()));
        Room {
            agent: (width + world.n_ahead()).saturating_sub(n_agent),
            width,
            plain: world.plain_width().saturating_sub(n_plain),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::Answer;
    use std::rc::Rc;
    use unflake_detect::Depth;
    use unflake_detect::Suspicion;
    use unflake_detect::explain::explain;
    use unflake_model::{Budget, Confidence, Finding};
    use unflake_sim::scenario::{Case, Scenario, Setting};

    /// Answers the latest experiment first, and can be cut off after a number of runs.
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
                return Happening::Interrupted(Vec::new());
            }
            self.n_left -= 1;
            let experiment = self.waiting.pop().expect("nobody waits for nothing");
            let observation = self.scenario.sim.observe(&experiment);
            Happening::Ended(Box::new(Answer::of(observation, Vec::new())))
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

    fn analysis(scenario: &Scenario) -> Analysis<Finding> {
        let suite = Rc::new(scenario.sim.suite().clone());
        let budget = Budget::unlimited(Confidence::USUAL);
        let target = scenario.targets[0];
        Analysis::new(suite, budget, |lab| explain(lab, target, Depth::Roles))
    }

    fn ask(scenario: &Scenario, n_runs: usize, recall: &mut Recall) -> (Finding, Finish, Log) {
        let mut world = SimWorld { scenario, waiting: Vec::new(), n_left: n_runs };
        let mut log = Log::default();
        let (finding, finish) = drive(analysis(scenario), &mut world, recall, &mut log);
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
