//! How long a test may take, learnt from how long it has taken.
//!
//! The limit that a user sets must suit the slowest test. A test that takes milliseconds and hangs
//! now and then would use it up each time, and with it the budget. So a test that was seen to end
//! is given many times its longest time, and a test that has only ever hung gets less each time; no
//! test gets less than [`LEARNT_MIN`], which a busy machine needs, nor more than the user allows.
//! Nor less than a few times what the slowest test took: the first test sets up what all others
//! share, and in another order any test may come first.

use std::collections::BTreeMap;
use std::time::Duration;

use unflake_model::{Attempt, Outcome, TestIndex};

/// The smallest limit that is learnt. A test that takes no time takes seconds if many processes
/// compete for a processor or for memory.
const LEARNT_MIN: Duration = Duration::from_secs(10);
/// How many times its longest time a test may take.
const SLOWER_MAX: u32 = 30;
/// How many times the time of the slowest test any test may take.
const SET_UP_MAX: u32 = 3;

/// What is known about one test.
#[derive(Clone, Copy, Debug)]
enum Known {
    /// It has ended, after at most this long.
    Took(Duration),
    /// It has never ended within this time.
    NotWithin(Duration),
}

/// How long tests have taken.
#[derive(Debug, Default)]
pub(crate) struct Patience {
    known: BTreeMap<TestIndex, Known>,
    longest: Duration,
}

impl Patience {
    /// The time limit for an attempt of a test, if no test may take longer than `most`.
    pub(crate) fn limit(&self, test: TestIndex, most: Duration) -> Duration {
        let learnt = match self.known.get(&test) {
            None => return most,
            Some(Known::Took(longest)) => longest.saturating_mul(SLOWER_MAX),
            Some(Known::NotWithin(limit)) => *limit / 2,
        };
        let of_all = self.longest.saturating_mul(SET_UP_MAX);
        learnt.max(of_all).max(LEARNT_MIN).min(most)
    }

    /// Learns from an attempt.
    pub(crate) fn learn(&mut self, attempt: &Attempt) {
        let known = self.known.get(&attempt.test).copied();
        let learnt = match (attempt.outcome, known) {
            (Outcome::NotRun | Outcome::Skipped | Outcome::Crashed { .. }, _)
            | (Outcome::TimedOut { .. }, Some(Known::Took(_))) => return,
            (Outcome::TimedOut { after }, _) => Known::NotWithin(after),
            (_, Some(Known::Took(longest))) => Known::Took(longest.max(attempt.duration)),
            (_, _) => Known::Took(attempt.duration),
        };
        if let Known::Took(longest) = learnt {
            self.longest = self.longest.max(longest);
        }
        self.known.insert(attempt.test, learnt);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use unflake_model::Phase;

    const MOST: Duration = Duration::from_mins(2);
    const FAILED: Outcome = Outcome::Failed { phase: Phase::Call };
    fn test() -> TestIndex {
        TestIndex::new(3)
    }

    fn after(attempts: &[(Outcome, u64)]) -> Duration {
        let mut patience = Patience::default();
        for &(outcome, seconds) in attempts {
            let duration = Duration::from_secs(seconds);
            patience.learn(&Attempt { test: test(), outcome, duration });
        }
        assert_eq!(patience.limit(TestIndex::new(4), MOST), MOST, "nobody else's");
        patience.limit(test(), MOST)
    }

    fn hung(seconds: u64) -> (Outcome, u64) {
        (Outcome::TimedOut { after: Duration::from_secs(seconds) }, seconds)
    }

    #[test]
    fn who_has_ended_gets_many_times_as_long_as_ever_before() {
        assert_eq!(after(&[]), MOST);
        assert_eq!(after(&[(Outcome::Passed, 1), (FAILED, 2)]).as_secs(), 60);
        assert_eq!(after(&[(Outcome::Passed, 2), (Outcome::Passed, 1), hung(60)]).as_secs(), 60);
        assert_eq!(after(&[(Outcome::Passed, 0)]), LEARNT_MIN);
        assert_eq!(after(&[(Outcome::Passed, 60)]), MOST, "and never more than is allowed");
    }

    #[test]
    fn who_never_ends_gets_less_each_time() {
        assert_eq!(after(&[hung(120)]).as_secs(), 60);
        assert_eq!(after(&[hung(120), hung(60)]).as_secs(), 30);
        assert_eq!(after(&[hung(11)]), LEARNT_MIN);
        // It did end.
        assert_eq!(after(&[hung(120), (Outcome::Passed, 1)]).as_secs(), 30);
    }

    #[test]
    fn who_may_have_to_set_up_what_others_share_gets_the_time_for_it() {
        let mut patience = Patience::default();
        for (test, seconds) in [(test(), 0), (TestIndex::new(5), 20)] {
            let duration = Duration::from_secs(seconds);
            patience.learn(&Attempt { test, outcome: Outcome::Passed, duration });
        }
        assert_eq!(patience.limit(test(), MOST).as_secs(), 60);
    }

    #[test]
    fn what_was_not_run_to_its_end_teaches_nothing() {
        let crashed = Outcome::Crashed { signal: None };
        assert_eq!(after(&[(Outcome::NotRun, 0), (Outcome::Skipped, 0), (crashed, 0)]), MOST);
    }
}
