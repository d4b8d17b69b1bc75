//! The commands that print documents for programs.

/// A command that prints documents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// `unflake detect`.
    Detect,
    /// `unflake why`.
    Why,
    /// `unflake fix`.
    Fix,
    /// `unflake shake`.
    Shake,
    /// `unflake run`.
    Run,
    /// `unflake study`.
    Study,
    /// `unflake triage`.
    Triage,
    /// `unflake lint`.
    Lint,
    /// `unflake trace`.
    Trace,
    /// `unflake learn`.
    Learn,
    /// `unflake replay`.
    Replay,
    /// `unflake history`.
    History,
    /// `unflake doctor`.
    Doctor,
    /// `unflake orders`.
    Orders,
}

impl Command {
    /// As it is typed.
    pub fn name(self) -> &'static str {
        match self {
            Self::Detect => "detect",
            Self::Why => "why",
            Self::Fix => "fix",
            Self::Shake => "shake",
            Self::Run => "run",
            Self::Study => "study",
            Self::Triage => "triage",
            Self::Lint => "lint",
            Self::Trace => "trace",
            Self::Learn => "learn",
            Self::Replay => "replay",
            Self::History => "history",
            Self::Doctor => "doctor",
            Self::Orders => "orders",
        }
    }
}
