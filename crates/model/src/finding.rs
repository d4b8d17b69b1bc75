//! What is shown about a test: its verdict, the evidence, and what it depends on.

use crate::{Confidence, Environment, Factors, OutcomeKind, RunId, Spent, TestIndex, Verdict};

/// The part a test plays in an order dependency.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// Passes alone, fails after a polluter.
    Victim,
    /// Makes a victim fail.
    Polluter,
    /// Run between polluter and victim, makes the victim pass again.
    Cleaner,
    /// Fails alone, passes after a state-setter.
    Brittle,
    /// Makes a brittle pass.
    StateSetter,
}

/// Tests that have an effect only together, in this order. Minimal: without any one of them the
/// effect is gone. Usually has one test.
pub type Group = Vec<TestIndex>;

/// The cleaners of one polluter group. Different polluters may have different cleaners.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CleanersOf {
    /// The group whose effect is undone.
    pub polluters: Group,
    /// The tests that undo it, each on its own.
    pub cleaners: Vec<TestIndex>,
}

/// What a test depends on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Dependencies {
    /// For a victim: each group makes it fail.
    pub polluters: Vec<Group>,
    /// For a victim: the cleaners of each group.
    pub cleaners: Vec<CleanersOf>,
    /// For a brittle: each group makes it pass.
    pub state_setters: Vec<Group>,
}

/// How often a test failed.
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

/// How a test fares with and without the tests it depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Contrast {
    /// With nothing before it.
    pub alone: Tally,
    /// Directly after the first group of polluters or state-setters.
    pub after_group: Tally,
}

/// How thoroughly a test was tried; this bounds a verdict that nothing was seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tried {
    /// Runs of the test alone, unperturbed.
    pub runs: u64,
    /// Distinct orders of the whole suite in which it ran.
    pub orders: u64,
    /// Hash seeds, or seeds of other open choices, with at least one run each.
    pub seeds: u64,
    /// Other tests that ran directly before it.
    pub neighbours: u64,
    /// Runs in which circumstances were perturbed.
    pub changed: u64,
    /// The circumstances that were perturbed.
    pub factors: Factors,
}

/// What is shown about one test.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// The test it is about.
    pub test: TestIndex,
    /// What we conclude.
    pub verdict: Verdict,
    /// Whether the conclusion was tested again after it was reached.
    pub confirmed: bool,
    /// One minus the bound on the probability that the conclusion is wrong. `None` where the
    /// evidence bounds nothing.
    pub confidence: Option<Confidence>,
    /// Failures over all runs that the project's own runner might also have made; for a test that
    /// depends on an open choice, over the seeds of that choice.
    pub tally: Tally,
    /// How thoroughly it was tried.
    pub tried: Tried,
    /// A run in which the test passed, if there is one.
    pub passed_in: Option<RunId>,
    /// A run in which the test failed, if there is one.
    pub failed_in: Option<RunId>,
    /// What it depends on, as far as that was searched for.
    pub dependencies: Dependencies,
    /// Whether that search finished, so that nothing of its kind is missing.
    pub is_complete: bool,
    /// The counts a dependency rests on.
    pub contrast: Option<Contrast>,
    /// Circumstances under which it fails every time, where it needs any.
    pub fails_under: Option<Environment>,
    /// How often it was asked whether some prefix has the effect.
    pub questions: u64,
    /// What was spent on this test beyond the runs that serve all tests.
    pub spent: Spent,
}

/// A test that ended differently in two runs, whatever that means: even "passed after skipped" is
/// kept and shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutcomeChange {
    /// The test that changed.
    pub test: TestIndex,
    /// The run in which it was first seen to end, and how.
    pub first: (RunId, OutcomeKind),
    /// A run in which it ended differently, and how.
    pub later: (RunId, OutcomeKind),
}

/// Findings that share a root cause.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cause {
    /// The tests to look at first: those that most of the findings depend on, most shared first.
    /// The flaky test itself if it depends on no other.
    pub culprits: Vec<TestIndex>,
    /// The flaky tests, in their original order.
    pub tests: Vec<TestIndex>,
}

/// How a finding fared when it was tried with the project's own runner.
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
    /// Whether it was tried and ended as predicted every time.
    pub fn is_complete(self) -> bool {
        0 < self.tries && self.as_predicted == self.tries
    }
}

/// How a test that failed elsewhere fared when it was run again, by condition.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Retried {
    /// On its own.
    pub alone: Tally,
    /// A second time in that same process.
    pub again: Tally,
    /// After the tests that preceded it elsewhere.
    pub same_prefix: Tally,
    /// After all other tests, if it had always failed until then.
    pub after_all: Tally,
    /// On its own, under each other seed.
    pub seeds: Vec<Tally>,
}

impl Retried {
    /// All runs together, whatever the condition.
    pub fn all(&self) -> Tally {
        let conditions = [self.alone, self.again, self.same_prefix, self.after_all];
        conditions.iter().chain(&self.seeds).fold(Tally::default(), |sum, tally| Tally {
            failures: sum.failures + tally.failures,
            attempts: sum.attempts + tally.attempts,
        })
    }
}
