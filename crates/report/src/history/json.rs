//! The history for programs.

use std::collections::BTreeMap;

use serde::Serialize;
use unflake_known::{KnownFactor, Past, PastCampaign, PastFailure, PastRecord};
use unflake_model::{Confidence, Verdict};

use super::ended;
use crate::command::Command;
use crate::document::Document;
use crate::json::RateRow;
use crate::schema;
use crate::when::rfc_3339;

/// Campaigns, newest first.
pub fn campaigns(campaigns: &[PastCampaign]) -> String {
    let rows = Campaigns { campaigns: campaigns.iter().map(CampaignRow::of).collect() };
    Document::new(&schema::HISTORY, Command::History, rows).text()
}

/// One test over time, newest first.
pub fn past(past: &Past) -> String {
    let row = PastRow {
        test: past.test.as_str(),
        records: past.records.iter().map(RecordRow::of).collect(),
        failures: past.failures.iter().map(FailureRow::of).collect(),
        factors: past.factors.iter().map(FactorRow::of).collect(),
    };
    Document::new(&schema::HISTORY_OF_TEST, Command::History, row).text()
}

#[derive(Serialize)]
struct Campaigns<'a> {
    campaigns: Vec<CampaignRow<'a>>,
}

#[derive(Serialize)]
struct CampaignRow<'a> {
    campaign: &'a str,
    began: String,
    question: &'a str,
    command: &'a str,
    root: &'a str,
    commit: Option<&'a str>,
    runner: &'a str,
    seed: u64,
    tests: u64,
    runs: u64,
    attempts: u64,
    ended: &'a str,
    verdicts: BTreeMap<&'static str, u64>,
    factors: &'a [String],
}

#[derive(Serialize)]
struct PastRow<'a> {
    test: &'a str,
    records: Vec<RecordRow<'a>>,
    failures: Vec<FailureRow<'a>>,
    factors: Vec<FactorRow<'a>>,
}

/// What was found when the test was shaken last.
#[derive(Serialize)]
struct FactorRow<'a> {
    factors: String,
    makes_it_fail: bool,
    command: Option<&'a str>,
    campaign: &'a str,
}

#[derive(Serialize)]
struct RecordRow<'a> {
    campaign: &'a str,
    began: String,
    commit: Option<&'a str>,
    verdict: Option<&'static str>,
    failure_rate: RateRow,
    repeated: RateRow,
}

#[derive(Serialize)]
struct FailureRow<'a> {
    run: String,
    outcome: &'static str,
    message: &'a str,
    text: &'a str,
}

impl<'a> CampaignRow<'a> {
    fn of(campaign: &'a PastCampaign) -> Self {
        let verdicts = campaign.verdicts.iter().map(|(verdict, n)| (verdict.slug(), *n));
        Self {
            campaign: &campaign.name,
            began: rfc_3339(campaign.began_unix_ms),
            question: &campaign.question,
            command: &campaign.command_line,
            root: &campaign.root,
            commit: campaign.commit.as_deref(),
            runner: &campaign.runner,
            seed: campaign.seed,
            tests: campaign.n_tests,
            runs: campaign.n_runs,
            attempts: campaign.n_attempts,
            ended: ended(campaign),
            verdicts: verdicts.collect(),
            factors: &campaign.factors,
        }
    }
}

impl<'a> RecordRow<'a> {
    fn of(record: &'a PastRecord) -> Self {
        Self {
            campaign: &record.campaign,
            began: rfc_3339(record.began_unix_ms),
            commit: record.commit.as_deref(),
            verdict: record.verdict.map(Verdict::slug),
            failure_rate: RateRow::of(record.plain, Confidence::USUAL),
            repeated: RateRow::of(record.varied, Confidence::USUAL),
        }
    }
}

impl<'a> FailureRow<'a> {
    fn of(past: &'a PastFailure) -> Self {
        Self {
            run: past.run.to_string(),
            outcome: past.outcome.as_str(),
            message: &past.failure.message,
            text: &past.failure.text,
        }
    }
}

impl<'a> FactorRow<'a> {
    fn of(known: &'a KnownFactor) -> Self {
        Self {
            factors: known.factors.to_string(),
            makes_it_fail: known.makes_it_fail,
            command: known.command.as_deref(),
            campaign: &known.campaign,
        }
    }
}
