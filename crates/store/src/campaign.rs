//! What a campaign says about itself, and what is known about it afterwards.

use std::fmt;

use unflake_model::random::mix;
use unflake_model::{OutcomeKind, Phase, RunId, Suite, Tally, TestIndex, Verdict};

use crate::pack::digest;

/// The name of a campaign: 16 hexadecimal digits that follow from when, where and how it began.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CampaignId(u64);

impl CampaignId {
    /// The name of this campaign, or its `n`-th alternative if that is taken.
    pub(crate) fn of(campaign: &Campaign<'_>, n_taken: u64) -> Self {
        let parts = [
            digest(campaign.command.as_bytes()),
            digest(campaign.root.as_bytes()),
            campaign.started_unix_ms.cast_unsigned(),
            campaign.seed,
            n_taken,
        ];
        Self(parts.into_iter().fold(0, |state, part| mix(state ^ part)))
    }

    /// The campaign with this full name.
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        let id = u64::from_str_radix(name, 16).ok().map(Self);
        id.filter(|id| id.to_string() == name)
    }
}

impl fmt::Display for CampaignId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// A campaign that is about to begin.
#[derive(Clone, Copy, Debug)]
pub struct Campaign<'a> {
    /// The command line, as it was typed.
    pub command: &'a str,
    /// When it begins, in milliseconds since 1970.
    pub started_unix_ms: i64,
    /// The folder of the project, spelled the same way each time.
    pub root: &'a str,
    /// The commit that is checked out, if that is known.
    pub commit: Option<&'a str>,
    /// The runner of the tests, with its version.
    pub runner: &'a str,
    /// The runtime of the runner, with its version.
    pub runtime: &'a str,
    /// The seed from which all choices of the campaign follow.
    pub seed: u64,
    /// Whatever the caller needs for resuming; opaque here.
    pub settings: &'a str,
    /// The tests.
    pub suite: &'a Suite,
}

/// How a campaign ended.
#[derive(Clone, Copy, Debug)]
pub struct Conclusion<'a> {
    /// Why it ended, in a word chosen by the caller.
    pub ended: &'a str,
    /// What was found, in the caller's format; opaque here.
    pub findings: &'a str,
    /// The verdicts that the history of a test shows.
    pub verdicts: &'a [(TestIndex, Verdict)],
}

/// What a failed attempt said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FailureText<'a> {
    /// The position of the test in the order.
    pub position: usize,
    /// The number of the attempt among those of this test, from 0.
    pub attempt: usize,
    /// One line, of which at most [`MESSAGE_BYTES_MAX`](crate::MESSAGE_BYTES_MAX) bytes are kept.
    pub message: &'a str,
    /// The full text, of which at most [`TEXT_BYTES_MAX`](crate::TEXT_BYTES_MAX) bytes are kept.
    pub text: &'a str,
}

/// A failed attempt, and what it said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The campaign that made the run.
    pub campaign: CampaignId,
    /// The run in which it failed.
    pub run: RunId,
    /// The position of the test in the order.
    pub position: usize,
    /// The number of the attempt among those of this test, from 0.
    pub attempt: usize,
    /// How it ended.
    pub outcome: OutcomeKind,
    /// The phase in which it failed, if the outcome has one.
    pub phase: Option<Phase>,
    /// The message, in one line.
    pub message: String,
    /// The full text, with its middle cut out if it was too long.
    pub text: String,
}

/// What is known about a campaign without reading its runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CampaignSummary {
    /// The full name of the campaign.
    pub id: CampaignId,
    /// The beginning of its name, long enough to be unique.
    pub short_id: String,
    /// See [`Campaign::command`].
    pub command: String,
    /// See [`Campaign::started_unix_ms`].
    pub started_unix_ms: i64,
    /// See [`Campaign::root`].
    pub root: String,
    /// See [`Campaign::commit`].
    pub commit: Option<String>,
    /// See [`Campaign::runner`].
    pub runner: String,
    /// See [`Campaign::runtime`].
    pub runtime: String,
    /// See [`Campaign::seed`].
    pub seed: u64,
    /// See [`Campaign::settings`].
    pub settings: String,
    /// How many tests its suite has.
    pub n_tests: u64,
    /// How many runs are recorded.
    pub n_runs: u64,
    /// How many attempts these runs made.
    pub n_attempts: u64,
    /// As [`Conclusion::ended`]; `None` if it has not ended, or was cut off.
    pub ended: Option<String>,
    /// How many tests have each verdict, in the order of reports; only verdicts that occur.
    pub verdicts: Vec<(Verdict, u64)>,
}

/// How a test fared in one campaign.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TestRecord {
    /// The campaign.
    pub campaign: CampaignId,
    /// See [`Campaign::started_unix_ms`].
    pub started_unix_ms: i64,
    /// See [`Campaign::commit`].
    pub commit: Option<String>,
    /// Its results in plain runs, as findings count them: plain environment, each test once.
    pub plain: Tally,
    /// Its results in all other runs.
    pub varied: Tally,
    /// The verdict of the campaign, if it reached one.
    pub verdict: Option<Verdict>,
}
