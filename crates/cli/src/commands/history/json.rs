//! The history for programs: a contract with a version. Keys are only ever added under one version.

use std::collections::BTreeMap;

use serde::Serialize;
use unflake_campaign::history::{Past, question};
use unflake_model::{Confidence, Tally, TestId, Verdict};
use unflake_stats::rate::interval;
use unflake_store::CampaignSummary;

use super::text::ended;
use crate::printer::json;
use crate::when::rfc_3339;

/// The version of the contract.
const SCHEMA_VERSION: u32 = 1;

#[derive(Serialize)]
struct Campaigns<'a> {
    schema: u32,
    campaigns: Vec<CampaignRow<'a>>,
}

#[derive(Serialize)]
struct CampaignRow<'a> {
    campaign: &'a str,
    began: String,
    question: String,
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
    schema: u32,
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
struct RateRow {
    failures: u64,
    runs: u64,
    low: f64,
    high: f64,
}

#[derive(Serialize)]
struct FailureRow<'a> {
    run: String,
    outcome: &'static str,
    message: &'a str,
    text: &'a str,
}

/// Campaigns, newest first.
pub(super) fn campaigns(campaigns: &[(CampaignSummary, Vec<String>)]) -> String {
    let row = |campaign: &CampaignSummary| {
        let counts = campaign.verdicts.iter();
        counts.map(|(verdict, n)| (verdict.slug(), *n)).collect::<BTreeMap<_, _>>()
    };
    let rows = campaigns.iter().map(|(campaign, factors)| CampaignRow {
        campaign: &campaign.short_id,
        began: rfc_3339(campaign.started_unix_ms),
        question: question(campaign),
        command: &campaign.command,
        root: &campaign.root,
        commit: campaign.commit.as_deref(),
        runner: &campaign.runner,
        seed: campaign.seed,
        tests: campaign.n_tests,
        runs: campaign.n_runs,
        attempts: campaign.n_attempts,
        ended: ended(campaign),
        verdicts: row(campaign),
        factors,
    });
    json(&Campaigns { schema: SCHEMA_VERSION, campaigns: rows.collect() })
}

/// One test over time, newest first.
pub(super) fn past(test: &TestId, past: &Past) -> String {
    let records = past.records.iter().map(|(name, record)| RecordRow {
        campaign: name,
        began: rfc_3339(record.started_unix_ms),
        commit: record.commit.as_deref(),
        verdict: record.verdict.map(Verdict::slug),
        failure_rate: rate(record.plain),
        repeated: rate(record.varied),
    });
    let failures = past.failures.iter().map(|(run, failure)| FailureRow {
        run: run.to_string(),
        outcome: failure.outcome.as_str(),
        message: &failure.message,
        text: &failure.text,
    });
    let factors = past.factors.iter().map(|known| FactorRow {
        factors: known.factors.to_string(),
        makes_it_fail: known.makes_it_fail,
        command: known.command.as_deref(),
        campaign: &known.campaign,
    });
    json(&PastRow {
        schema: SCHEMA_VERSION,
        test: test.as_str(),
        records: records.collect(),
        failures: failures.collect(),
        factors: factors.collect(),
    })
}

fn rate(tally: Tally) -> RateRow {
    let limits = interval(tally, Confidence::USUAL);
    let rounded = |value: f64| (value * 1e6).round() / 1e6;
    RateRow {
        failures: tally.failures,
        runs: tally.attempts,
        low: rounded(limits.lower),
        high: rounded(limits.upper),
    }
}
