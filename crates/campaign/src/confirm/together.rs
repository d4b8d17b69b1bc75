//! How are many findings put to the test where each start of the plain runner is dear?
//!
//! A build tool takes seconds to start, and one polluter can have thirty victims: three tries of
//! each take longer than the search. So victims of the same polluters that stand in one class are
//! tried in the same runs: the polluters, then all of these victims. One that fails in each of them
//! has failed after its polluters, with the other victims in between, which is said with it. One
//! that does not is tried by itself, because another victim may have put the state back.

use std::collections::BTreeMap;

use unflake_adapter::PlainRunner;
use unflake_known::Confirmation;
use unflake_model::{
    ClassIndex, Evidence, Finding, Group, Suite, Tally, TestId, TestIndex, Verdict,
};

use crate::confirm::{TRIES, confirm};

/// Plain runs of tests that fail at random: at least, at most, and at most where each is dear.
const RANDOM_MIN: u32 = 5;
/// See [`RANDOM_MIN`]: what fails in a twentieth of its runs is seen to in two cases of three.
const RANDOM_MAX: u32 = 20;
/// See [`RANDOM_MIN`].
const RANDOM_DEAR_MAX: u32 = 5;

/// What victims of one run have in common: whom they fail after, where they stand, and whether that
/// is behind their polluters in the original order. A runner that can be told to run one of them
/// after its polluters can then be told to run them all.
type Company = (Group, ClassIndex, bool);

/// Tries all findings, in their order.
pub(crate) fn confirm_all(
    suite: &Suite,
    findings: &[Finding],
    runner: &dyn PlainRunner,
) -> Vec<Result<Option<Confirmation>, String>> {
    let mut shared =
        if runner.is_dear() { shared(suite, findings, runner) } else { BTreeMap::new() };
    shared.extend(count_random(suite, findings, runner));
    let one = |finding: &Finding| match shared.get(&finding.test) {
        Some(confirmation) => Ok(Some(*confirmation)),
        None => confirm(suite, finding, runner),
    };
    findings.iter().map(one).collect()
}

/// How often tests that fail at random do so under the plain runner, all of them in the same runs:
/// until each has passed and failed, at most [`RANDOM_MAX`] times.
fn count_random(
    suite: &Suite,
    findings: &[Finding],
    runner: &dyn PlainRunner,
) -> BTreeMap<TestIndex, Confirmation> {
    let is_random = |finding: &&Finding| {
        finding.verdict.is_non_deterministic() && finding.dependencies.polluters.is_empty()
    };
    let tests: Vec<TestIndex> = findings.iter().filter(is_random).map(|it| it.test).collect();
    if tests.is_empty() {
        return BTreeMap::new();
    }
    let ids: Vec<&TestId> = tests.iter().map(|test| suite.id(*test)).collect();
    let took = tests.iter().map(|test| suite.duration(*test)).sum();
    let n_max = if runner.is_dear() { RANDOM_DEAR_MAX } else { RANDOM_MAX };
    let mut tallies = vec![Tally::default(); tests.len()];
    for number in 0..n_max {
        let is_enough = tallies.iter().all(|tally| tally.is_mixed());
        if RANDOM_MIN <= number && is_enough {
            break;
        }
        // What stands in the way is told with what depends on the order, if anything does.
        let Ok(ended) = runner.run(&ids, took) else { break };
        for (tally, id) in tallies.iter_mut().zip(&ids) {
            if let Some(evidence) = ended.get(*id).and_then(|kind| kind.evidence()) {
                tally.add(evidence);
            }
        }
    }
    let count = |n: u64| u32::try_from(n).unwrap_or(u32::MAX);
    let seen = tests.into_iter().zip(tallies).filter(|(_, tally)| 0 < tally.attempts);
    let confirmation = |tally: Tally| Confirmation {
        as_predicted: count(tally.failures),
        tries: count(tally.attempts),
        others: 0,
    };
    seen.map(|(test, tally)| (test, confirmation(tally))).collect()
}

/// Victims that failed in every run they shared.
fn shared(
    suite: &Suite,
    findings: &[Finding],
    runner: &dyn PlainRunner,
) -> BTreeMap<TestIndex, Confirmation> {
    let mut companies: BTreeMap<Company, Vec<TestIndex>> = BTreeMap::new();
    for finding in findings.iter().filter(|finding| finding.verdict == Verdict::OdVictim) {
        let Some(polluters) = finding.dependencies.polluters.first() else { continue };
        let is_behind = polluters.iter().all(|polluter| *polluter < finding.test);
        let company = (polluters.clone(), suite.class_of(finding.test), is_behind);
        companies.entry(company).or_default().push(finding.test);
    }
    let mut confirmed = BTreeMap::new();
    for ((polluters, ..), mut victims) in companies {
        victims.retain(|victim| !polluters.contains(victim));
        victims.sort_unstable();
        if 1 < victims.len() {
            confirmed.extend(confirm_together(suite, &polluters, victims, runner));
        }
    }
    confirmed
}

fn confirm_together(
    suite: &Suite,
    polluters: &[TestIndex],
    mut victims: Vec<TestIndex>,
    runner: &dyn PlainRunner,
) -> BTreeMap<TestIndex, Confirmation> {
    let order: Vec<TestIndex> = polluters.iter().chain(&victims).copied().collect();
    let ids: Vec<&TestId> = order.iter().map(|test| suite.id(*test)).collect();
    let took = order.iter().map(|test| suite.duration(*test)).sum();
    let others = u32::try_from(victims.len() - 1).unwrap_or(u32::MAX);
    for _ in 0..TRIES {
        // What stands in the way comes up again, and is told, when they are tried one by one.
        let Ok(ended) = runner.run(&ids, took) else { return BTreeMap::new() };
        victims.retain(|victim| {
            let evidence = ended.get(suite.id(*victim)).and_then(|kind| kind.evidence());
            evidence == Some(Evidence::Fail)
        });
        if victims.is_empty() {
            break;
        }
    }
    let confirmation = Confirmation { as_predicted: TRIES, tries: TRIES, others };
    victims.into_iter().map(|victim| (victim, confirmation)).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::Mutex;
    use std::time::Duration;

    use unflake_model::{Dependencies, OutcomeKind, Spent, Tried};

    use super::*;

    /// Test 0 pollutes 1, 2 and 3 of its class and 4 of the other; 2 puts it back.
    struct Runner {
        is_dear: bool,
        runs: Mutex<Vec<usize>>,
    }

    impl PlainRunner for Runner {
        fn run_suite(&self, _: Duration) -> Result<BTreeMap<TestId, OutcomeKind>, String> {
            Ok(BTreeMap::new())
        }

        fn run(
            &self,
            tests: &[&TestId],
            _: Duration,
        ) -> Result<BTreeMap<TestId, OutcomeKind>, String> {
            self.runs.lock().unwrap().push(tests.len());
            let suite = suite();
            let mut is_polluted = false;
            let ended = tests.iter().map(|id| {
                let fails = is_polluted && **id != *suite.id(TestIndex::new(0));
                is_polluted |= **id == *suite.id(TestIndex::new(0));
                is_polluted &= **id != *suite.id(TestIndex::new(2));
                let kind = if fails { OutcomeKind::Failed } else { OutcomeKind::Passed };
                ((*id).clone(), kind)
            });
            Ok(ended.collect())
        }

        fn command(&self, _: &[&TestId]) -> Option<String> {
            None
        }

        fn run_twice(&self, _: &TestId, _: Duration) -> Result<Option<OutcomeKind>, String> {
            Ok(None)
        }

        fn command_twice(&self, _: &TestId) -> Option<String> {
            None
        }

        fn is_dear(&self) -> bool {
            self.is_dear
        }
    }

    fn suite() -> Suite {
        Suite::of_sizes(&[4, 1]).unwrap()
    }

    fn victim(test: usize) -> Finding {
        Finding {
            test: TestIndex::new(test),
            verdict: Verdict::OdVictim,
            confirmed: true,
            confidence: None,
            tally: Tally::default(),
            tried: Tried::default(),
            passed_in: None,
            failed_in: None,
            dependencies: Dependencies {
                polluters: vec![vec![TestIndex::new(0)]],
                ..Dependencies::default()
            },
            is_complete: true,
            contrast: None,
            fails_under: None,
            questions: 0,
            spent: Spent::default(),
        }
    }

    fn tried(is_dear: bool) -> (Vec<(u32, u32, u32)>, Vec<usize>) {
        let runner = Runner { is_dear, runs: Mutex::default() };
        let findings = [1, 2, 3, 4].map(victim);
        let answers = confirm_all(&suite(), &findings, &runner).into_iter().map(|answer| {
            let it = answer.unwrap().unwrap();
            (it.as_predicted, it.tries, it.others)
        });
        let answers = answers.collect();
        (answers, runner.runs.into_inner().unwrap())
    }

    #[test]
    fn victims_of_a_class_share_runs_and_whom_another_hides_is_tried_alone() {
        let (answers, runs) = tried(true);
        assert_eq!(answers, [(3, 3, 2), (3, 3, 2), (3, 3, 0), (3, 3, 0)]);
        assert_eq!(runs, [4, 4, 4, 2, 2, 2, 2, 2, 2]);
    }

    #[test]
    fn where_a_start_is_cheap_each_is_tried_alone() {
        let (answers, runs) = tried(false);
        assert_eq!((answers, runs.len()), (vec![(3, 3, 0); 4], 12));
    }
}
