//! What the history holds: campaigns, and how a test fared in them.

use unflake_model::{OutcomeKind, Tally, TestId, Verdict};

use crate::{Failure, KnownFactor, RunName};

/// A campaign on record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PastCampaign {
    /// The beginning of its name, long enough to be unique.
    pub name: String,
    /// When it began, in milliseconds since 1970-01-01 UTC.
    pub began_unix_ms: i64,
    /// What it asked, in a word or two.
    pub question: String,
    /// The command line that started it.
    pub command_line: String,
    /// The folder of the project.
    pub root: String,
    /// The commit that was checked out, if there was one.
    pub commit: Option<String>,
    /// The name and version of the runner.
    pub runner: String,
    /// The seed of the campaign.
    pub seed: u64,
    /// How many tests its suite has.
    pub n_tests: u64,
    /// How many runs are recorded.
    pub n_runs: u64,
    /// How many attempts these runs made.
    pub n_attempts: u64,
    /// How it ended, in a word; `None` if it has not ended, or was cut off.
    pub ended: Option<String>,
    /// How many tests have each verdict; only verdicts that occur.
    pub verdicts: Vec<(Verdict, u64)>,
    /// The factors it found, if it shook a test.
    pub factors: Vec<String>,
}

/// How a test fared over time.
#[derive(Clone, Debug)]
pub struct Past {
    /// The test in question.
    pub test: TestId,
    /// How it fared in each campaign that had it, newest first.
    pub records: Vec<PastRecord>,
    /// What its failures said, newest first.
    pub failures: Vec<PastFailure>,
    /// The factors found when it was last shaken.
    pub factors: Vec<KnownFactor>,
}

/// How a test fared in one campaign.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PastRecord {
    /// The short name of the campaign.
    pub campaign: String,
    /// When the campaign began, in milliseconds since 1970-01-01 UTC.
    pub began_unix_ms: i64,
    /// The commit that was checked out, if there was one.
    pub commit: Option<String>,
    /// Its results in plain runs, as findings count them: plain environment, each test once.
    pub plain: Tally,
    /// Its results in all other runs.
    pub varied: Tally,
    /// The verdict of the campaign, if it reached one.
    pub verdict: Option<Verdict>,
}

/// A failure on record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PastFailure {
    /// The name of the run.
    pub run: RunName,
    /// How the test ended.
    pub outcome: OutcomeKind,
    /// The message and text of the failure.
    pub failure: Failure,
}
