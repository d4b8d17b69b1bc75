//! What is shown about a test: its verdict with the evidence, and what it depends on.

use crate::{Confidence, Environment, Factors, OutcomeKind, RunId, Spent, TestIndex, Verdict};

/// The part a test plays around an order-dependent one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// Passes alone, fails after a polluter.
    Victim,
    /// Makes a victim fail.
    Polluter,
    /// Between polluter and victim, makes the victim pass again.
    Cleaner,
    /// Fails alone, passes after a state-setter.
    Brittle,
    /// Makes a brittle pass.
    StateSetter,
}

/// Tests that have an effect only together, in this order. Minimal: without any one of them the
/// effect is gone. Usually a single test.
pub type Group = Vec<TestIndex>;

/// The cleaners of one polluter group. Different polluters may have different cleaners.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CleanersOf {
    /// The polluters.
    pub polluters: Group,
    /// The tests that undo them, each on its own.
    pub cleaners: Vec<TestIndex>,
}

/// What a test depends on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Dependencies {
    /// For a victim: each group makes it fail.
    pub polluters: Vec<Group>,
    /// For a victim: who undoes which group.
    pub cleaners: Vec<CleanersOf>,
    /// For a brittle: each group makes it pass.
    pub state_setters: Vec<Group>,
}

/// How often a test was seen to fail.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Attempts that failed.
    pub failures: u64,
    /// Attempts that passed or failed.
    pub attempts: u64,
}

impl Tally {
    /// Attempts that passed.
    pub fn passes(self) -> u64 {
        self.attempts - self.failures
    }

    /// Counts one more attempt.
    pub fn add(&mut self, evidence: crate::Evidence) {
        self.attempts += 1;
        self.failures += u64::from(evidence == crate::Evidence::Fail);
    }

    /// Whether it was seen both to pass and to fail.
    pub fn is_mixed(self) -> bool {
        0 < self.failures && self.failures < self.attempts
    }
}

/// The two sides of a dependency.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Contrast {
    /// With nothing before it.
    pub alone: Tally,
    /// Directly after the first group of polluters or state-setters.
    pub after_group: Tally,
}

/// How far a test was tried: what bounds the verdict that nothing was seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tried {
    /// Runs of the test alone, as it is.
    pub runs: u64,
    /// Distinct orders in which all other tests stood before it or behind it.
    pub orders: u64,
    /// Hash seeds, or seeds of other open choices, each with one run at least.
    pub seeds: u64,
    /// Other tests that were run directly before it.
    pub neighbours: u64,
    /// Runs in which circumstances were changed on purpose.
    pub changed: u64,
    /// Which circumstances these were.
    pub factors: Factors,
}

/// What is shown about one test.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// The test.
    pub test: TestIndex,
    /// What we conclude.
    pub verdict: Verdict,
    /// Whether the conclusion was put to the test again after it was reached.
    pub confirmed: bool,
    /// How sure the conclusion is: one minus the bound on the probability of being wrong.
    /// `None` where the evidence bounds nothing.
    pub confidence: Option<Confidence>,
    /// Failures over all runs as the project's own runner might make them; of a test that depends
    /// on an open choice, over the seeds of that choice.
    pub tally: Tally,
    /// How far it was tried.
    pub tried: Tried,
    /// A run in which the test passed, and one in which it failed, where they exist.
    pub passed_in: Option<RunId>,
    /// See [`Finding::passed_in`].
    pub failed_in: Option<RunId>,
    /// What it depends on, as far as it was searched.
    pub dependencies: Dependencies,
    /// Whether that search came to its end, so that what is not named was looked for.
    pub is_complete: bool,
    /// The counts a dependency rests on.
    pub contrast: Option<Contrast>,
    /// Circumstances under which it fails every time, where it takes some.
    pub fails_under: Option<Environment>,
    /// How many questions of the form "does this prefix have the effect?" were put.
    pub questions: u64,
    /// What was spent on this test beyond the runs that serve all tests.
    pub spent: Spent,
}

/// A test that ended differently in two runs, whatever that means: "passed after skipped" is kept
/// and shown too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutcomeChange {
    /// The test.
    pub test: TestIndex,
    /// How it ended at first, and where.
    pub first: (RunId, OutcomeKind),
    /// How it ended later, and where.
    pub later: (RunId, OutcomeKind),
}

/// Findings that share a root cause.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cause {
    /// The tests to look at first: those most of the findings depend on, most shared first. The
    /// flaky test itself where it depends on no other.
    pub culprits: Vec<TestIndex>,
    /// The flaky tests, in their original order.
    pub tests: Vec<TestIndex>,
}

/// What came of trying with the project's own runner what was found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Confirmation {
    /// How often the test ended as predicted.
    pub as_predicted: u32,
    /// How often it was tried.
    pub tries: u32,
    /// How many other victims of the same polluters ran in the same processes, before or after it.
    pub others: u32,
}

impl Confirmation {
    /// Whether it was tried, and ended as predicted every time.
    pub fn is_complete(self) -> bool {
        0 < self.tries && self.as_predicted == self.tries
    }
}

/// What was seen of a test that failed elsewhere and was run again, by condition.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Retried {
    /// Alone.
    pub alone: Tally,
    /// Right after that in the same process.
    pub again: Tally,
    /// After the tests that it ran after elsewhere.
    pub same_prefix: Tally,
    /// After all other tests, where it always failed until then.
    pub after_all: Tally,
    /// Alone under each other seed.
    pub seeds: Vec<Tally>,
}

impl Retried {
    /// All runs, whatever the condition.
    pub fn all(&self) -> Tally {
        let conditions = [self.alone, self.again, self.same_prefix, self.after_all];
        conditions.iter().chain(&self.seeds).fold(Tally::default(), |sum, tally| Tally {
            failures: sum.failures + tally.failures,
            attempts: sum.attempts + tally.attempts,
        })
    }
}
