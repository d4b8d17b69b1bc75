//! What does a policy for choosing reruns find, and in how much time?
//!
//! A suite is reduced here to what matters for rerunning: each test takes its time and, in each
//! run, fails or is skipped with its own probabilities. A [`Policy`] chooses what runs next,
//! without knowing these. The first run is of everything, for every policy: it gives the run times.
//! After that a test runs until it was seen both to pass and to fail, and then no more. A traced
//! run reveals what its test is exposed to, and takes longer.
//!
//! The luck of the n-th run of a test is the same under every policy, so that policies differ only
//! by their choices.

use unflake_model::random::Random;
use unflake_model::{Evidence, OutcomeKind, TestIndex};

/// A test, as far as rerunning is concerned.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rerunnable {
    /// The probability that it fails.
    pub fail: f64,
    /// The probability that it is skipped.
    pub skip: f64,
    /// The time it takes.
    pub seconds: f64,
    /// Whether it calls a function that can make it fail at random.
    pub is_exposed: bool,
}

/// What running costs beyond the tests themselves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Costs {
    /// The seconds that starting a process takes.
    pub start: f64,
    /// The extra time of a traced run of a test, as a share of its time.
    pub tracing: f64,
}

/// Chooses which tests to run again.
pub trait Policy {
    /// The tests to run together next; empty to stop.
    fn next_batch(&mut self) -> Vec<TestIndex>;

    /// Reports how a test ended.
    fn tell(&mut self, test: TestIndex, outcome: OutcomeKind);

    /// Whether to trace the next run of a test, at its price; asked right before the run.
    fn traces(&mut self, _test: TestIndex) -> bool {
        false
    }
}

/// Repeats the tests of one part a number of times, then those of the next part.
#[derive(Clone, Debug)]
pub struct Rounds {
    /// The last part is the one being repeated.
    parts: Vec<Vec<TestIndex>>,
    n_each: usize,
    n_made: usize,
    seen: Vec<Option<Evidence>>,
    is_found: Vec<bool>,
}

impl Rounds {
    /// Makes `n_rounds` of each part of a suite with `n_tests`.
    pub fn new(mut parts: Vec<Vec<TestIndex>>, n_tests: usize, n_rounds: usize) -> Self {
        parts.reverse();
        let (seen, is_found) = (vec![None; n_tests], vec![false; n_tests]);
        Self { parts, n_each: n_rounds, n_made: 0, seen, is_found }
    }
}

impl Policy for Rounds {
    fn next_batch(&mut self) -> Vec<TestIndex> {
        while let Some(part) = self.parts.last_mut() {
            part.retain(|test| !self.is_found[test.get()]);
            if self.n_made < self.n_each && !part.is_empty() {
                self.n_made += 1;
                return part.clone();
            }
            self.parts.pop();
            self.n_made = 0;
        }
        Vec::new()
    }

    fn tell(&mut self, test: TestIndex, outcome: OutcomeKind) {
        let Some(evidence) = outcome.evidence() else { return };
        let seen = self.seen[test.get()].replace(evidence);
        self.is_found[test.get()] |= seen.is_some_and(|seen| seen != evidence);
    }
}

/// What was found, and at what cost.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Played {
    /// The time, in seconds, at which each of the found tests was found.
    pub found_at: Vec<f64>,
    /// The total time.
    pub seconds: f64,
    /// The number of processes.
    pub n_batches: u64,
    /// The number of attempts.
    pub n_attempts: u64,
}

impl Played {
    /// The time at which this many had been found; `None` if so many never were.
    pub fn time_of(&self, n_found: usize) -> Option<f64> {
        self.found_at.get(n_found.checked_sub(1)?).copied()
    }
}

/// When a game ends, if the policy does not stop earlier.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Until {
    /// Ends after this much time.
    pub seconds: f64,
    /// Ends when this many were found.
    pub n_found: usize,
}

/// Plays a policy until it stops, or the game ends.
pub fn play(
    tests: &[Rerunnable],
    costs: Costs,
    policy: &mut dyn Policy,
    seed: u64,
    until: Until,
) -> Played {
    let mut game = Game {
        tests,
        seed,
        n_runs: vec![0; tests.len()],
        shown: vec![(false, false); tests.len()],
        played: Played::default(),
    };
    let all: Vec<TestIndex> = (0..tests.len()).map(TestIndex::new).collect();
    game.run(&all, costs, policy);
    while game.played.seconds < until.seconds && game.played.found_at.len() < until.n_found {
        let batch = policy.next_batch();
        if batch.is_empty() {
            break;
        }
        game.run(&batch, costs, policy);
    }
    game.played
}

struct Game<'a> {
    tests: &'a [Rerunnable],
    seed: u64,
    n_runs: Vec<u64>,
    /// For each test, whether it passed, and whether it failed.
    shown: Vec<(bool, bool)>,
    played: Played,
}

impl Game<'_> {
    fn run(&mut self, batch: &[TestIndex], costs: Costs, policy: &mut dyn Policy) {
        self.played.seconds += costs.start;
        self.played.n_batches += 1;
        for &index in batch {
            let test = self.tests[index.get()];
            let slower = if policy.traces(index) { 1.0 + costs.tracing } else { 1.0 };
            self.played.seconds += slower * test.seconds;
            self.played.n_attempts += 1;
            let outcome = self.outcome(index.get());
            policy.tell(index, outcome);
            let shown = &mut self.shown[index.get()];
            let was_found = shown.0 && shown.1;
            match outcome.evidence() {
                Some(Evidence::Pass) => shown.0 = true,
                Some(Evidence::Fail) => shown.1 = true,
                None => (),
            }
            if !was_found && shown.0 && shown.1 {
                self.played.found_at.push(self.played.seconds);
            }
        }
    }

    fn outcome(&mut self, test: usize) -> OutcomeKind {
        let Rerunnable { fail, skip, .. } = self.tests[test];
        let number = self.n_runs[test];
        self.n_runs[test] += 1;
        if fail <= 0.0 && skip <= 0.0 {
            return OutcomeKind::Passed;
        }
        let luck = Random::labelled(self.seed, &[test as u64, number]).unit();
        if luck < fail {
            OutcomeKind::Failed
        } else if luck < fail + skip {
            OutcomeKind::Skipped
        } else {
            OutcomeKind::Passed
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COSTS: Costs = Costs { start: 1.0, tracing: 0.5 };

    const UNTIL: Until = Until { seconds: 1e9, n_found: usize::MAX };

    /// A policy that traces the first test.
    struct Traced(Rounds);

    impl Policy for Traced {
        fn next_batch(&mut self) -> Vec<TestIndex> {
            self.0.next_batch()
        }

        fn tell(&mut self, test: TestIndex, outcome: OutcomeKind) {
            self.0.tell(test, outcome);
        }

        fn traces(&mut self, test: TestIndex) -> bool {
            test == TestIndex::new(0)
        }
    }

    fn test(fail: f64, seconds: f64) -> Rerunnable {
        Rerunnable { fail, skip: 0.0, seconds, is_exposed: false }
    }

    #[test]
    fn time_is_that_of_processes_tests_and_tracing() {
        let tests = [test(0.0, 2.0), test(0.0, 4.0)];
        let only_second = vec![TestIndex::new(1)];
        let mut policy = Traced(Rounds::new(vec![only_second], 2, 3));
        let played = play(&tests, COSTS, &mut policy, 1, UNTIL);
        // 1 + 1.5 * 2 + 4, then three times 1 + 4.
        assert!((played.seconds - 23.0).abs() < 1e-9, "{played:?}");
        assert_eq!((played.n_batches, played.n_attempts), (4, 5));
        assert!(played.found_at.is_empty());
    }

    #[test]
    fn a_test_is_found_once_and_then_left_alone() {
        let tests = [test(0.5, 1.0), test(0.0, 1.0)];
        let all = (0..2).map(TestIndex::new).collect();
        let played = play(&tests, COSTS, &mut Rounds::new(vec![all], 2, 50), 1, UNTIL);
        assert_eq!(played.found_at.len(), 1);
        assert!(played.n_attempts < 2 * 51, "{played:?}");
        assert_eq!(played.time_of(0), None);
        assert_eq!(played.time_of(1), played.found_at.first().copied());
        assert_eq!(played.time_of(2), None);
    }

    #[test]
    fn rerunning_finds_the_share_that_the_model_of_rerunning_says() {
        // U(10) = 1 - 0.9^10 - 0.1^10 = 65.1 % of 2000 tests; ten standard deviations are 213.
        let tests = vec![test(0.1, 1.0); 2000];
        let all = (0..2000).map(TestIndex::new).collect();
        let played = play(&tests, COSTS, &mut Rounds::new(vec![all], 2000, 9), 3, UNTIL);
        assert!(played.found_at.len().abs_diff(1303) < 213, "{}", played.found_at.len());
    }
}
