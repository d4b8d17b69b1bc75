//! What the history holds: campaigns, and how a test fared in them.

use unflake_model::{OutcomeKind, Tally, TestId, Verdict};

use crate::{Failure, KnownFactor, RunName};

/// A campaign on record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PastCampaign {
    /// The beginning of its name, long enough that no other begins like that.
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
    /// Name and version of the runner.
    pub runner: String,
    /// Its seed.
    pub seed: u64,
    /// How many tests its suite has.
    pub n_tests: u64,
    /// How many runs are recorded.
    pub n_runs: u64,
    /// How many tests were started in them, each time counted.
    pub n_attempts: u64,
    /// How it ended, in a word; `None` while it has not ended, or was cut off.
    pub ended: Option<String>,
    /// How many tests have each verdict; only verdicts that are there.
    pub verdicts: Vec<(Verdict, u64)>,
    /// What it found to change how a test ends, if it shook one.
    pub factors: Vec<String>,
}

/// How a test fared over time.
#[derive(Clone, Debug)]
pub struct Past {
    /// The test.
    pub test: TestId,
    /// In each campaign that had it, newest first.
    pub records: Vec<PastRecord>,
    /// What its failures said, newest first.
    pub failures: Vec<PastFailure>,
    /// What was found to change how it ends when it was shaken last.
    pub factors: Vec<KnownFactor>,
}

/// How a test fared in one campaign.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PastRecord {
    /// The short name of the campaign.
    pub campaign: String,
    /// When that began, in milliseconds since 1970-01-01 UTC.
    pub began_unix_ms: i64,
    /// The commit that was checked out, if there was one.
    pub commit: Option<String>,
    /// In plain runs, as a finding counts: plain environment, each test once.
    pub plain: Tally,
    /// In all other runs.
    pub varied: Tally,
    /// What was concluded, if anything was.
    pub verdict: Option<Verdict>,
}

/// A failure on record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PastFailure {
    /// Its run.
    pub run: RunName,
    /// How the test ended.
    pub outcome: OutcomeKind,
    /// What it said.
    pub failure: Failure,
}
