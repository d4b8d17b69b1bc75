//! How one attempt of one test ended, and what that says.

use std::time::Duration;

/// The part of a test in which it failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Phase {
    /// Fixtures, `@Before`, `setUp`.
    SetUp,
    /// The test itself.
    Call,
    /// Finalizers, `@After`, `tearDown`.
    TearDown,
}

/// How one attempt of one test ended.
///
/// The whole space: a timeout is not a skip, a crash is not a failure of the tests after it, and a
/// test that never started says nothing. What an outcome means is [`Outcome::evidence`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Ran to its end without complaint.
    Passed,
    /// The test complained.
    Failed {
        /// The part of the test in which it failed.
        phase: Phase,
    },
    /// The runner could not run it (a broken fixture, an import that failed at call time).
    Error,
    /// The developer or the test itself declined to run.
    Skipped,
    /// Was stopped because it took too long.
    TimedOut {
        /// The time limit that it exceeded.
        after: Duration,
    },
    /// The process died; this test was running, the tests after it are [`Outcome::NotRun`].
    Crashed {
        /// The signal that killed the process, if one did.
        signal: Option<i32>,
    },
    /// Scheduled, but never started. Says nothing about the test.
    NotRun,
}

/// What an attempt says about its test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Evidence {
    /// It can pass here.
    Pass,
    /// It can fail here.
    Fail,
}

/// An outcome without its details, for comparing and counting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum OutcomeKind {
    /// See [`Outcome::Passed`].
    Passed,
    /// See [`Outcome::Failed`].
    Failed,
    /// See [`Outcome::Error`].
    Error,
    /// See [`Outcome::Skipped`].
    Skipped,
    /// See [`Outcome::TimedOut`].
    TimedOut,
    /// See [`Outcome::Crashed`].
    Crashed,
    /// See [`Outcome::NotRun`].
    NotRun,
}

impl Outcome {
    /// What the outcome says about the test, or `None` when it is no evidence at all.
    pub fn evidence(self) -> Option<Evidence> {
        self.kind().evidence()
    }

    /// The outcome without its details.
    pub fn kind(self) -> OutcomeKind {
        match self {
            Self::Passed => OutcomeKind::Passed,
            Self::Failed { .. } => OutcomeKind::Failed,
            Self::Error => OutcomeKind::Error,
            Self::Skipped => OutcomeKind::Skipped,
            Self::TimedOut { .. } => OutcomeKind::TimedOut,
            Self::Crashed { .. } => OutcomeKind::Crashed,
            Self::NotRun => OutcomeKind::NotRun,
        }
    }
}

impl OutcomeKind {
    /// All kinds of outcome.
    pub const ALL: [Self; 7] = [
        Self::Passed,
        Self::Failed,
        Self::Error,
        Self::Skipped,
        Self::TimedOut,
        Self::Crashed,
        Self::NotRun,
    ];

    /// What the outcome says about the test, or `None` when it is no evidence at all.
    pub fn evidence(self) -> Option<Evidence> {
        match self {
            Self::Passed => Some(Evidence::Pass),
            Self::Failed | Self::Error | Self::TimedOut | Self::Crashed => Some(Evidence::Fail),
            Self::Skipped | Self::NotRun => None,
        }
    }

    /// Whether the process was gone after this attempt, and with it the rest of the order.
    pub fn ends_the_process(self) -> bool {
        matches!(self, Self::TimedOut | Self::Crashed)
    }

    /// The name of the outcome in texts.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed => "failed",
            Self::Error => "error",
            Self::Skipped => "skipped",
            Self::TimedOut => "timed out",
            Self::Crashed => "crashed",
            Self::NotRun => "not run",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_whole_table_of_what_outcomes_say() {
        let after = Duration::from_secs(1);
        let table = [
            (Outcome::Passed, Some(Evidence::Pass), false),
            (Outcome::Failed { phase: Phase::SetUp }, Some(Evidence::Fail), false),
            (Outcome::Failed { phase: Phase::Call }, Some(Evidence::Fail), false),
            (Outcome::Failed { phase: Phase::TearDown }, Some(Evidence::Fail), false),
            (Outcome::Error, Some(Evidence::Fail), false),
            (Outcome::Skipped, None, false),
            (Outcome::TimedOut { after }, Some(Evidence::Fail), true),
            (Outcome::Crashed { signal: Some(11) }, Some(Evidence::Fail), true),
            (Outcome::NotRun, None, false),
        ];
        for (outcome, evidence, ends) in table {
            assert_eq!(outcome.evidence(), evidence, "{outcome:?}");
            assert_eq!(outcome.kind().ends_the_process(), ends, "{outcome:?}");
        }
    }
}
