//! What orders cost, and what covering all pairs must cost at least.
//!
//! Running an order costs the start of a process and its tests: `start + sum d(t)` (detection spec
//! 2.6). How few orders can cover every pair of tests in class-compatible orders follows from what
//! one order cannot do. With k classes of sizes `n_1 >= n_2 >= …`, n tests in all:
//!
//! | bound | because one order |
//! |---|---|
//! | the rows of a Tuscan square of size `n_i` | holds at most `n_i - 1` pairs within class i |
//! | `M = 2 * sum n_i n_j / (k-1)` | steps at most k-1 times from class to class |
//! | `n_i (n - n_i)` | leaves class i at most once |
//! | `2 * sum n_i n_j / (s-1)` over the s largest | steps at most s-1 times among s classes |
//!
//! The first two are from the literature, the others are ours; M is the last with s = k. For
//! realistic suites, whose classes differ in size, the third is many times larger than M.

use std::time::Duration;

use unflake_model::{Suite, TestIndex};

use crate::tuscan::Tuscan;

/// What a run costs besides its tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CostModel {
    /// The time to start a process, before the first test.
    pub start: Duration,
}

impl CostModel {
    /// What one order costs.
    pub fn of_order(&self, suite: &Suite, order: &[TestIndex]) -> Duration {
        self.start.saturating_add(total(suite, order.iter().copied()))
    }

    /// What the n(n-1) orders of two tests cost: `n(n-1) start + 2(n-1) sum d(t)`.
    pub fn of_all_two_test_orders(&self, suite: &Suite) -> Duration {
        let n = suite.n_tests() as u64;
        let tests = times(total(suite, suite.tests()), 2 * (n - 1));
        times(self.start, n * (n - 1)).saturating_add(tests)
    }

    /// The least cost of covering every pair in class-compatible orders.
    ///
    /// Every test runs n-1 times with a test after it, and the last test of each order besides:
    /// `(n-1) sum d(t) + n_orders * (start + min d(t))`.
    pub fn lower_bound(&self, suite: &Suite, bounds: &LowerBounds) -> Duration {
        let quickest = suite.tests().map(|test| suite.duration(test)).min();
        let per_order = self.start.saturating_add(quickest.unwrap_or_default());
        let n = suite.n_tests() as u64;
        let tests = times(total(suite, suite.tests()), n - 1);
        tests.saturating_add(times(per_order, bounds.n_orders()))
    }
}

/// The time of running each of these tests once; like all costs, it saturates.
fn total(suite: &Suite, tests: impl Iterator<Item = TestIndex>) -> Duration {
    tests.fold(Duration::ZERO, |sum, test| sum.saturating_add(suite.duration(test)))
}

fn times(duration: Duration, count: u64) -> Duration {
    const NANOS_PER_SECOND: u128 = 1_000_000_000;
    let nanos = duration.as_nanos().saturating_mul(u128::from(count));
    let seconds = u64::try_from(nanos / NANOS_PER_SECOND).unwrap_or(u64::MAX);
    let rest = u32::try_from(nanos % NANOS_PER_SECOND).expect("below 10^9");
    Duration::new(seconds, rest)
}

/// The fewest class-compatible orders that can cover every pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LowerBounds {
    /// What the pairs within one class require.
    pub intra: u64,
    /// M: what the steps between all classes require.
    pub inter: u64,
    /// What the steps out of one class require.
    pub leaving: u64,
    /// What the steps among the largest classes require.
    pub largest: u64,
}

impl LowerBounds {
    /// The bounds for this suite.
    pub fn of(suite: &Suite) -> Self {
        let mut sizes: Vec<usize> = suite.classes().iter().map(Vec::len).collect();
        sizes.sort_unstable_by_key(|size| std::cmp::Reverse(*size));
        let rows = |n: usize| Tuscan::new(n).n_rows() as u64;
        let intra = sizes.iter().map(|size| rows(*size)).max().unwrap_or(0);
        let n = suite.n_tests();
        if sizes[0] == 1 {
            // Without classes the fewest orders are known: 4 for 3 tests, 6 for 5, and otherwise n.
            let inter = if n == 1 { 0 } else { rows(n) };
            let leaving = n as u64 - 1;
            return Self { intra, inter, leaving, largest: inter };
        }
        let leaving = sizes.iter().map(|size| (size * (n - size)) as u64).max();
        let among = among_largest(&sizes);
        Self {
            intra,
            inter: among.last().copied().unwrap_or(0),
            leaving: leaving.unwrap_or(0),
            largest: among.into_iter().max().unwrap_or(0),
        }
    }

    /// The largest of the bounds.
    pub fn n_orders(&self) -> u64 {
        self.intra.max(self.inter).max(self.leaving).max(self.largest)
    }
}

/// For s = 2, 3, …: the pairs among the s largest classes, over the s-1 steps an order can make.
fn among_largest(sizes: &[usize]) -> Vec<u64> {
    let mut n_tests = sizes[0] as u64;
    let mut n_pairs = 0;
    let mut bounds = Vec::new();
    for (n_steps, size) in (1_u64..).zip(&sizes[1..]) {
        n_pairs += 2 * n_tests * *size as u64;
        n_tests += *size as u64;
        bounds.push(n_pairs.div_ceil(n_steps));
    }
    bounds
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bounds(sizes: &[usize]) -> LowerBounds {
        LowerBounds::of(&Suite::of_sizes(sizes).unwrap())
    }

    #[test]
    fn the_bounds_are_those_of_the_spec() {
        // Spec 2.6, the stronger bound: 560 where M is 222.
        let uneven = bounds(&[1, 1, 1, 5, 5, 5, 5, 5, 20]);
        assert_eq!((uneven.leaving, uneven.inter), (560, 222));
        assert_eq!(uneven.n_orders(), 560);
        // Spec example 9.
        let all_m = [vec![4; 5], vec![5; 10], vec![4; 20], vec![10, 1]].map(|s| bounds(&s).inter);
        assert_eq!(all_m, [80, 250, 320, 20]);
    }

    #[test]
    fn without_classes_the_bound_is_the_tuscan_square() {
        for (n, n_orders) in [(1, 1), (2, 2), (3, 4), (4, 4), (5, 6), (9, 9)] {
            assert_eq!(bounds(&[n]).n_orders(), n_orders, "one class of {n}");
            assert_eq!(bounds(&vec![1; n]).n_orders(), n_orders, "{n} classes");
        }
    }

    #[test]
    fn two_large_classes_bound_more_than_all_classes_together() {
        // 2 * 20 * 20 pairs between the two, one of them in an order.
        let two_large = bounds(&[20, 20, 1, 1, 1, 1]);
        assert_eq!(two_large.largest, 800);
        assert_eq!(two_large.leaving, 20 * 24);
        assert_eq!(two_large.n_orders(), 800);
    }

    #[test]
    fn costs_are_those_of_the_spec() {
        // Spec 2.6: 2 n (n-1) for one second each and free starts; the optimum is n^2.
        let suite = Suite::of_sizes(&[4]).unwrap();
        let free = CostModel { start: Duration::ZERO };
        let seconds = Duration::from_secs;
        assert_eq!(free.of_all_two_test_orders(&suite), seconds(24));
        assert_eq!(free.lower_bound(&suite, &bounds(&[4])), seconds(16));
        let slow = CostModel { start: seconds(10) };
        assert_eq!(slow.of_all_two_test_orders(&suite), seconds(24 + 120));
        assert_eq!(slow.lower_bound(&suite, &bounds(&[4])), seconds(16 + 40));
        let order: Vec<TestIndex> = suite.tests().collect();
        assert_eq!(slow.of_order(&suite, &order[..3]), seconds(13));
    }

    #[test]
    fn absurd_durations_stay_at_the_maximum() {
        let mut builder = unflake_model::SuiteBuilder::default();
        for id in ["x", "y"] {
            builder.push("a", id.parse().unwrap(), Duration::MAX);
        }
        let suite = builder.build().unwrap();
        let model = CostModel { start: Duration::MAX };
        let order: Vec<TestIndex> = suite.tests().collect();
        assert_eq!(model.of_order(&suite, &order), Duration::MAX);
        let at_least = model.lower_bound(&suite, &LowerBounds::of(&suite));
        assert_eq!(at_least.as_secs(), u64::MAX);
        assert_eq!(model.of_all_two_test_orders(&suite).as_secs(), u64::MAX);
    }

    #[test]
    fn durations_are_multiplied_beyond_32_bits() {
        let count = 10_000_000_000;
        assert_eq!(times(Duration::from_millis(1500), count).as_secs(), 15_000_000_000);
    }
}
