//! How long may a run take of which it is not seen which test is under way?
//!
//! The engine ends a run that is silent for as long as a test may take. Where a runner says
//! nothing before its report, we speak for it, for a while: three times as long as it takes to
//! start and its tests took before. Then the engine's own patience begins.

use std::collections::BTreeMap;
use std::time::Duration;

/// How many times as long as expected a run may take.
const SLOWER_MAX: u32 = 3;
/// What is expected of a test that was never seen.
const UNKNOWN: Duration = Duration::from_secs(10);
/// What a start takes at least, on a machine that is busy.
const START_MIN: Duration = Duration::from_secs(1);

/// How long things have taken.
#[derive(Debug, Default)]
pub(super) struct Pace {
    tests: BTreeMap<usize, Duration>,
    /// What runs took besides their tests, at most.
    start: Duration,
}

impl Pace {
    /// Listing the tests took so long; running them takes as long to start, at least.
    pub(super) fn new(listing: Duration) -> Self {
        Self { tests: BTreeMap::new(), start: listing }
    }

    /// A run took so long, and the tests in it as long as its report says.
    pub(super) fn learn(&mut self, took: Duration, tests: &[(usize, Duration)]) {
        let inside: Duration = tests.iter().map(|(_, duration)| *duration).sum();
        self.start = self.start.max(took.saturating_sub(inside));
        for (test, duration) in tests {
            let known = self.tests.entry(*test).or_default();
            *known = (*known).max(*duration);
        }
    }

    /// How long it may take until the first test begins.
    pub(super) fn until_first(&self) -> Duration {
        self.start.max(START_MIN) * SLOWER_MAX
    }

    /// How long a run of these tests may take.
    pub(super) fn of_run(&self, tests: &[usize]) -> Duration {
        let expected = |test| self.tests.get(test).copied().unwrap_or(UNKNOWN);
        let inside: Duration = tests.iter().map(expected).sum();
        self.until_first() + inside * SLOWER_MAX
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_may_take_three_times_as_long_as_is_known() {
        let seconds = Duration::from_secs;
        let mut pace = Pace::new(seconds(2));
        assert_eq!(pace.until_first(), seconds(6));
        assert_eq!(pace.of_run(&[0, 1]), seconds(6 + 60));
        pace.learn(seconds(9), &[(0, seconds(1)), (1, seconds(3))]);
        assert_eq!(pace.of_run(&[0, 1]), seconds(15 + 12));
        pace.learn(seconds(3), &[(0, seconds(0))]);
        assert_eq!(pace.of_run(&[0]), seconds(15 + 3), "the longest counts");
    }
}
