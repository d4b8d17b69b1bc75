//! Which pairs of tests a set of orders brings together.
//!
//! A pair <a, b> is *covered* when b runs directly after a in some order; it is *preceded* when b
//! runs anywhere after a. Both tables need a bit per ordered pair, n^2 in all (112 MB for 30,000
//! tests), so suites beyond [`TESTS_MAX`] are refused instead of filling the machine.

use unflake_model::{Suite, TestIndex};

use crate::pair_set::PairSet;

/// The most tests for which pairs are tracked.
pub const TESTS_MAX: usize = 30_000;

/// The suite has more pairs than we want to track.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the pairs of {n_tests} tests are too many to keep track of; at most {TESTS_MAX} tests")]
pub struct TooManyTests {
    /// How many tests the suite has.
    pub n_tests: usize,
}

impl TooManyTests {
    /// An error if the suite is too large for tracking.
    pub(crate) fn check(suite: &Suite) -> Result<(), Self> {
        let n_tests = suite.n_tests();
        if n_tests <= TESTS_MAX { Ok(()) } else { Err(Self { n_tests }) }
    }
}

/// How many of some pairs are covered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Share {
    /// The number of pairs covered.
    pub covered: u64,
    /// The number of pairs in total.
    pub total: u64,
}

impl Share {
    /// Whether all pairs are covered.
    pub fn is_complete(self) -> bool {
        self.covered == self.total
    }
}

/// The pairs that are adjacent in the orders added so far.
#[derive(Clone, Debug)]
pub struct Coverage<'s> {
    suite: &'s Suite,
    pairs: PairSet,
    intra: Share,
    inter: Share,
    n_orders: u64,
    n_attempts: u64,
    n_repeated: u64,
    n_torn: u64,
    /// For each class, the last order that left it.
    left_in: Vec<u64>,
}

impl<'s> Coverage<'s> {
    /// Starts without orders.
    pub fn new(suite: &'s Suite) -> Result<Self, TooManyTests> {
        TooManyTests::check(suite)?;
        let n = suite.n_tests() as u64;
        let sizes = suite.classes().iter().map(|class| class.len() as u64);
        let n_intra = sizes.map(|size| size * (size - 1)).sum();
        Ok(Self {
            suite,
            pairs: PairSet::new(suite.n_tests()),
            intra: Share { covered: 0, total: n_intra },
            inter: Share { covered: 0, total: n * (n - 1) - n_intra },
            n_orders: 0,
            n_attempts: 0,
            n_repeated: 0,
            n_torn: 0,
            left_in: vec![0; suite.n_classes()],
        })
    }

    /// Adds one more order.
    pub fn add(&mut self, order: &[TestIndex]) {
        self.n_orders += 1;
        self.n_attempts += order.len() as u64;
        let mut torn = false;
        for pair in order.windows(2) {
            let (from, to) = (self.suite.class_of(pair[0]), self.suite.class_of(pair[1]));
            let share = if from == to {
                &mut self.intra
            } else {
                self.left_in[from.get()] = self.n_orders;
                torn |= self.left_in[to.get()] == self.n_orders;
                &mut self.inter
            };
            if self.pairs.insert(pair[0].get(), pair[1].get()) {
                share.covered += 1;
            } else {
                self.n_repeated += 1;
            }
        }
        self.n_torn += u64::from(torn);
    }

    /// Whether `second` directly follows `first` in some order.
    pub fn covers(&self, first: TestIndex, second: TestIndex) -> bool {
        self.pairs.contains(first.get(), second.get())
    }

    /// How many pairs within a class are covered.
    pub fn intra(&self) -> Share {
        self.intra
    }

    /// How many pairs of tests of different classes are covered.
    pub fn inter(&self) -> Share {
        self.inter
    }

    /// How many of all pairs are covered.
    pub fn all(&self) -> Share {
        Share {
            covered: self.intra.covered + self.inter.covered,
            total: self.intra.total + self.inter.total,
        }
    }

    /// How many orders were added.
    pub fn n_orders(&self) -> u64 {
        self.n_orders
    }

    /// How many attempts these orders make.
    pub fn n_attempts(&self) -> u64 {
        self.n_attempts
    }

    /// How often a pair was covered that had been covered before.
    pub fn n_repeated(&self) -> u64 {
        self.n_repeated
    }

    /// How many orders leave a class and return to it.
    pub fn n_torn(&self) -> u64 {
        self.n_torn
    }

    /// The first pair in original order that is not covered, if any.
    pub fn missing(&self) -> Option<(TestIndex, TestIndex)> {
        if self.all().is_complete() {
            return None;
        }
        let pairs = self.suite.tests().flat_map(|first| {
            let seconds = self.suite.tests().filter(move |second| *second != first);
            seconds.map(move |second| (first, second))
        });
        pairs.into_iter().find(|(first, second)| !self.covers(*first, *second))
    }
}

/// Which tests ran anywhere before which others in the orders added so far.
#[derive(Clone, Debug)]
pub struct Precedence {
    n_tests: usize,
    /// Row b has the tests that ran before b.
    before: PairSet,
    seen: Vec<u64>,
}

impl Precedence {
    /// Starts without orders.
    pub fn new(suite: &Suite) -> Result<Self, TooManyTests> {
        TooManyTests::check(suite)?;
        let n_tests = suite.n_tests();
        Ok(Self { n_tests, before: PairSet::new(n_tests), seen: vec![0; n_tests.div_ceil(64)] })
    }

    /// Adds one more order, in O(n^2 / 64).
    pub fn add(&mut self, order: &[TestIndex]) {
        self.seen.fill(0);
        for test in order {
            let row = self.before.row_mut(test.get());
            for (word, seen) in row.iter_mut().zip(&self.seen) {
                *word |= seen;
            }
            self.seen[test.get() / 64] |= 1 << (test.get() % 64);
        }
    }

    /// Whether `first` ran before `second` in some order.
    pub fn holds(&self, first: TestIndex, second: TestIndex) -> bool {
        self.before.contains(second.get(), first.get())
    }

    /// How many of all pairs were seen in this sequence.
    pub fn share(&self) -> Share {
        let n = self.n_tests as u64;
        Share { covered: self.before.len(), total: n * (n - 1) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tests(positions: &[usize]) -> Vec<TestIndex> {
        positions.iter().copied().map(TestIndex::new).collect()
    }

    #[test]
    fn pairs_are_counted_by_kind_and_repeats_apart() {
        // Spec 1.3: sum n_i (n_i - 1) = 4 intra and 2 * 2 * 2 = 8 inter pairs.
        let suite = Suite::of_sizes(&[2, 2]).unwrap();
        let mut coverage = Coverage::new(&suite).unwrap();
        coverage.add(&tests(&[0, 1, 2, 3]));
        coverage.add(&tests(&[3, 2, 0]));
        coverage.add(&tests(&[0, 1]));
        let share = |covered, total| Share { covered, total };
        assert_eq!(coverage.intra(), share(3, 4));
        assert_eq!(coverage.inter(), share(2, 8));
        assert_eq!(coverage.all(), share(5, 12));
        assert_eq!(coverage.n_repeated(), 1);
        assert_eq!((coverage.n_orders(), coverage.n_attempts()), (3, 9));
        assert_eq!(coverage.missing(), Some((TestIndex::new(0), TestIndex::new(2))));
    }

    #[test]
    fn complete_coverage_misses_nothing() {
        let suite = Suite::of_sizes(&[2]).unwrap();
        let mut coverage = Coverage::new(&suite).unwrap();
        coverage.add(&tests(&[0, 1]));
        coverage.add(&tests(&[1, 0]));
        assert!(coverage.all().is_complete());
        assert_eq!(coverage.missing(), None);
    }

    #[test]
    fn torn_classes_are_counted_as_the_model_defines_them() {
        let suite = Suite::of_sizes(&[2, 2]).unwrap();
        let mut coverage = Coverage::new(&suite).unwrap();
        for (positions, n_torn) in
            [(&[3, 2, 0, 1][..], 0), (&[0, 2, 1], 1), (&[1, 2], 1), (&[0, 2, 3, 1], 2)]
        {
            coverage.add(&tests(positions));
            assert_eq!(coverage.n_torn(), n_torn, "{positions:?}");
        }
    }

    #[test]
    fn precedence_looks_beyond_the_neighbour() {
        let suite = Suite::of_sizes(&[3]).unwrap();
        let mut precedence = Precedence::new(&suite).unwrap();
        precedence.add(&tests(&[2, 0, 1]));
        let holds = |a, b| precedence.holds(TestIndex::new(a), TestIndex::new(b));
        assert!(holds(2, 1) && holds(2, 0) && holds(0, 1));
        assert!(!holds(1, 2) && !holds(0, 2) && !holds(1, 0));
        precedence.add(&tests(&[1, 0, 2]));
        assert!(precedence.share().is_complete());
    }

    #[test]
    fn a_suite_too_large_is_refused_by_size() {
        let suite = Suite::of_sizes(&[TESTS_MAX + 1]).unwrap();
        assert_eq!(
            Coverage::new(&suite).unwrap_err().to_string(),
            "the pairs of 30001 tests are too many to keep track of; at most 30000 tests"
        );
    }
}
