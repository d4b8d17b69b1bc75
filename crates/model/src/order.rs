//! A list of distinct tests to run in one process lifetime.

use std::sync::Arc;

use crate::{Suite, TestIndex};

/// Distinct tests, in the order in which one process is to run them.
///
/// Invariant: no test appears twice. An order may be shorter than its suite: the two-test orders
/// that prove a dependency are orders too. Cloning is cheap.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Order(Arc<[TestIndex]>);

/// Why a list of tests is not an order of a suite.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidOrder {
    /// Each test runs at most once per process.
    #[error("test `{test}` stands in the order twice, at positions {first} and {second}")]
    Duplicate {
        /// The repeated test, by name if the suite is known, else by number.
        test: Box<str>,
        /// Its first position.
        first: usize,
        /// Its second position.
        second: usize,
    },
    /// The order names a test that the suite does not have.
    #[error("test {test} does not exist: the suite has {n_tests} tests, numbered from 0")]
    Unknown {
        /// The test number given.
        test: usize,
        /// How many tests the suite has.
        n_tests: usize,
    },
}

impl Order {
    /// Checks that the suite has all of the tests and that none appears twice.
    pub fn new(suite: &Suite, tests: Vec<TestIndex>) -> Result<Self, InvalidOrder> {
        let n_tests = suite.n_tests();
        let mut seen_at = vec![None; n_tests];
        for (position, test) in tests.iter().enumerate() {
            let Some(slot) = seen_at.get_mut(test.get()) else {
                return Err(InvalidOrder::Unknown { test: test.get(), n_tests });
            };
            if let Some(first) = slot.replace(position) {
                let test = suite.id(*test).as_str().into();
                return Err(InvalidOrder::Duplicate { test, first, second: position });
            }
        }
        Ok(Self(tests.into()))
    }

    /// For callers whose tests are distinct by construction (a shuffle, a row of a square).
    ///
    /// # Panics
    /// In debug builds, if a test appears twice.
    pub fn from_distinct(tests: impl Into<Arc<[TestIndex]>>) -> Self {
        let tests = tests.into();
        debug_assert!(is_distinct(&tests), "a test stands twice in {tests:?}");
        Self(tests)
    }

    /// The original order of a suite.
    pub fn original(suite: &Suite) -> Self {
        Self(suite.tests().collect())
    }

    /// The tests, first to last.
    pub fn tests(&self) -> &[TestIndex] {
        &self.0
    }

    /// How many tests there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether the order has no tests.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The position of a test, found by scanning; `None` if it is not in the order.
    pub fn position(&self, test: TestIndex) -> Option<usize> {
        self.0.iter().position(|t| *t == test)
    }

    /// The tests up to and including the target: the *truncated* order.
    pub fn truncated_at(&self, target: TestIndex) -> Option<Self> {
        let position = self.position(target)?;
        Some(Self(self.0[..=position].into()))
    }

    /// The same tests, last to first.
    #[must_use]
    pub fn reversed(&self) -> Self {
        Self(self.0.iter().rev().copied().collect())
    }

    /// Whether tests of one class always stand together.
    pub fn is_class_compatible(&self, suite: &Suite) -> bool {
        let mut left = vec![false; suite.n_classes()];
        self.0.windows(2).all(|pair| {
            let (from, to) = (suite.class_of(pair[0]), suite.class_of(pair[1]));
            left[from.get()] |= from != to;
            !left[to.get()]
        })
    }
}

fn is_distinct(tests: &[TestIndex]) -> bool {
    let mut sorted = tests.to_vec();
    sorted.sort_unstable();
    sorted.windows(2).all(|pair| pair[0] != pair[1])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tests(positions: &[usize]) -> Vec<TestIndex> {
        positions.iter().copied().map(TestIndex::new).collect()
    }

    #[test]
    fn a_repeated_or_unknown_test_is_refused_by_name() {
        let suite = Suite::of_sizes(&[3]).unwrap();
        assert_eq!(
            Order::new(&suite, tests(&[1, 0, 1])).unwrap_err().to_string(),
            "test `1` stands in the order twice, at positions 0 and 2"
        );
        assert_eq!(
            Order::new(&suite, tests(&[1, 7])).unwrap_err().to_string(),
            "test 7 does not exist: the suite has 3 tests, numbered from 0"
        );
    }

    #[test]
    fn truncating_keeps_the_prefix_and_the_target() {
        let order = Order::from_distinct(tests(&[2, 0, 1]));
        assert_eq!(order.truncated_at(TestIndex::new(0)).unwrap().tests(), tests(&[2, 0]));
        assert_eq!(order.truncated_at(TestIndex::new(9)), None);
        assert_eq!(order.reversed().tests(), tests(&[1, 0, 2]));
    }

    #[test]
    fn class_compatible_means_contiguous_classes() {
        let suite = Suite::of_sizes(&[2, 2]).unwrap();
        let compatible = |positions: &[usize]| {
            Order::new(&suite, tests(positions)).unwrap().is_class_compatible(&suite)
        };
        assert!(compatible(&[3, 2, 0, 1]));
        assert!(compatible(&[1, 2]));
        assert!(!compatible(&[0, 2, 1]));
        assert!(!compatible(&[0, 2, 3, 1]));
    }
}
