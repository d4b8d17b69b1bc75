//! What an analysis ought to find out.
//!
//! Verdicts are those of Table 1.1 (detection.md 1.1) for the failure rates that a test *has*, not
//! those it happened to show: a victim whose outcome is flipped in 20 % of its attempts is NDOD,
//! because its rates are 20 % and 80 %. Dependencies are the roles by definition (detection.md
//! 1.2), with nothing left to chance:
//!
//! - polluter groups: shortest lists of tests after which a victim fails. A group whose order does
//!   not matter is listed in original order;
//! - cleaners: one entry for each polluter group, in the order of the groups, empty if it has no
//!   cleaner;
//! - state-setter groups: shortest lists of tests after which a brittle passes.
//!
//! Groups are sorted, and so are the cleaners of one group. Tests that only make random failures
//! more frequent are not polluters in this sense.

use std::collections::BTreeMap;

use unflake_model::{Dependencies, TestIndex, Verdict};

/// The truth about one test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TestTruth {
    /// The verdict it should get.
    pub verdict: Verdict,
    /// The tests it depends on.
    pub dependencies: Dependencies,
}

static UNREMARKABLE: TestTruth = TestTruth {
    verdict: Verdict::NotFlaky,
    dependencies: Dependencies {
        polluters: Vec::new(),
        cleaners: Vec::new(),
        state_setters: Vec::new(),
    },
};

impl TestTruth {
    /// The truth about a test that depends on nothing.
    pub fn independent(verdict: Verdict) -> Self {
        Self { verdict, dependencies: Dependencies::default() }
    }
}

/// The truth about every test of a suite. Tests that are not mentioned are not flaky.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Truth(BTreeMap<TestIndex, TestTruth>);

impl Truth {
    /// The truth about this test.
    pub fn of(&self, test: TestIndex) -> &TestTruth {
        self.0.get(&test).unwrap_or(&UNREMARKABLE)
    }

    /// The tests that are mentioned, in original order.
    pub fn remarkable(&self) -> impl Iterator<Item = (TestIndex, &TestTruth)> {
        self.0.iter().map(|(test, truth)| (*test, truth))
    }

    /// The tests with a verdict other than [`Verdict::NotFlaky`], in original order.
    pub fn with_verdict(&self, verdict: Verdict) -> impl Iterator<Item = TestIndex> {
        self.remarkable().filter(move |(_, truth)| truth.verdict == verdict).map(|(test, _)| test)
    }

    /// Mentions a test; returns what was said about it before.
    pub fn insert(&mut self, test: TestIndex, truth: TestTruth) -> Option<TestTruth> {
        self.0.insert(test, truth)
    }
}
