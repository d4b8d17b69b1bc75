//! What a campaign says about itself, and what is told about it afterwards.

use std::fmt;

use unflake_model::random::mix;
use unflake_model::{OutcomeKind, Phase, RunId, Suite, Tally, TestIndex, Verdict};

use crate::pack::digest;

/// The name of a campaign: 16 hexadecimal digits that follow from when, where and how it began.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CampaignId(u64);

impl CampaignId {
    /// The name of this campaign, or the `n`-th other one if that is taken.
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

    /// The campaign with this whole name.
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

/// A campaign that begins.
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
    /// Who runs the tests, with its version.
    pub runner: &'a str,
    /// What the runner runs in, with its version.
    pub runtime: &'a str,
    /// The seed that all choices of the campaign follow from.
    pub seed: u64,
    /// Whatever the caller needs in order to resume; opaque here.
    pub settings: &'a str,
    /// The tests.
    pub suite: &'a Suite,
}

/// How a campaign ended.
#[derive(Clone, Copy, Debug)]
pub struct Conclusion<'a> {
    /// Why it ended; a word of the caller's.
    pub ended: &'a str,
    /// What was found, in the caller's format; opaque here.
    pub findings: &'a str,
    /// The verdicts that history is to tell of.
    pub verdicts: &'a [(TestIndex, Verdict)],
}

/// What a failed attempt said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FailureText<'a> {
    /// The place of the test in the order.
    pub position: usize,
    /// Which attempt of it, from 0.
    pub attempt: usize,
    /// One line. At most [`MESSAGE_BYTES_MAX`](crate::MESSAGE_BYTES_MAX) bytes are kept.
    pub message: &'a str,
    /// All of it. At most [`TEXT_BYTES_MAX`](crate::TEXT_BYTES_MAX) bytes are kept.
    pub text: &'a str,
}

/// A failed attempt, and what it said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The campaign.
    pub campaign: CampaignId,
    /// The run.
    pub run: RunId,
    /// The place of the test in the order.
    pub position: usize,
    /// Which attempt of it, from 0.
    pub attempt: usize,
    /// How it ended.
    pub outcome: OutcomeKind,
    /// Where, if it is one that failed.
    pub phase: Option<Phase>,
    /// One line.
    pub message: String,
    /// All of it, its middle cut out where it was too long.
    pub text: String,
}

/// What there is to tell about a campaign without looking at its runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CampaignSummary {
    /// Its name.
    pub id: CampaignId,
    /// The beginning of its name, long enough that no other begins like that.
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
    /// How many tests were started in them, each time counted.
    pub n_attempts: u64,
    /// See [`Conclusion::ended`]; `None` while it has not ended, or was cut off.
    pub ended: Option<String>,
    /// How many tests have each verdict, in the order of reports; only verdicts that are there.
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
    /// In plain runs, as a finding counts: plain environment, each test once.
    pub plain: Tally,
    /// In all other runs.
    pub varied: Tally,
    /// What was concluded, if anything was.
    pub verdict: Option<Verdict>,
}
