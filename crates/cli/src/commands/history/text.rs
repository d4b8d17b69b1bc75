//! The history for people.

use unflake_app::history::{Past, question};
use unflake_model::{Confidence, TestId};
use unflake_report::{failed, plural, visible};
use unflake_store::{CampaignSummary, TestRecord};

use crate::when::date_and_time;

/// Runs named for each way to fail.
const RUNS_SHOWN_MAX: usize = 5;

/// Campaigns, newest first, one a line.
pub(super) fn campaigns(campaigns: &[CampaignSummary]) -> String {
    if campaigns.is_empty() {
        return "No campaign is on record.\n".to_owned();
    }
    let mut lines =
        vec![["CAMPAIGN", "BEGAN (UTC)", "RUNS", "ENDED", "FOUND", "QUESTION"].map(str::to_owned)];
    lines.extend(campaigns.iter().map(|campaign| {
        [
            campaign.short_id.clone(),
            date_and_time(campaign.started_unix_ms),
            campaign.n_runs.to_string(),
            ended(campaign).to_owned(),
            found(campaign),
            visible(&question(campaign)).into_owned(),
        ]
    }));
    aligned(&lines)
        + "\n`unflake history --campaign CAMPAIGN` shows what one found, `unflake replay \
           CAMPAIGN/NUMBER` runs one of its runs again.\n"
}

/// How a campaign ended, in a word.
pub(super) fn ended(campaign: &CampaignSummary) -> &str {
    campaign.ended.as_deref().unwrap_or("unfinished")
}

fn found(campaign: &CampaignSummary) -> String {
    let counts = campaign.verdicts.iter();
    let counts: Vec<String> = counts.map(|(verdict, n)| format!("{n} {verdict}")).collect();
    if counts.is_empty() { "-".to_owned() } else { counts.join(", ") }
}

/// One test over time, newest first.
pub(super) fn past(test: &TestId, past: &Past) -> String {
    let mut text = vec![format!("{}\n\n", visible(test.as_str()))];
    let mut lines =
        vec![["CAMPAIGN", "BEGAN (UTC)", "COMMIT", "VERDICT", "RATE"].map(str::to_owned)];
    lines.extend(past.records.iter().map(|(name, record)| line(name, record)));
    text.push(aligned(&lines));
    for (what, runs) in by_message(past) {
        let shown: Vec<&str> = runs.iter().take(RUNS_SHOWN_MAX).map(String::as_str).collect();
        let more = match runs.len() - shown.len() {
            0 => String::new(),
            n => format!(" and {n} more"),
        };
        text.push(format!("\n{what}\n  in {}{more}\n", shown.join(", ")));
    }
    if past.failures.is_empty() {
        text.push("\nNo failure of it is on record.\n".to_owned());
    } else {
        text.push("\n`unflake replay RUN` runs one of these again.\n".to_owned());
    }
    text.concat()
}

/// Failures that said the same, with the runs in which they did; the newest first.
fn by_message(past: &Past) -> Vec<(String, Vec<String>)> {
    let mut all: Vec<(String, Vec<String>)> = Vec::new();
    for (run, failure) in &past.failures {
        let message = visible(failure.message.lines().next().unwrap_or_default());
        let what = format!("{}: {message}", failure.outcome.as_str());
        match all.iter_mut().find(|(known, _)| *known == what) {
            Some((_, runs)) => runs.push(run.to_string()),
            None => all.push((what, vec![run.to_string()])),
        }
    }
    all
}

fn line(name: &str, record: &TestRecord) -> [String; 5] {
    let commit = record.commit.as_deref().unwrap_or("-");
    let verdict = record.verdict.map_or("-", unflake_model::Verdict::slug);
    let varied = match record.varied.attempts {
        0 => String::new(),
        _ => format!(
            "; {} of {} repeated",
            record.varied.failures,
            plural(record.varied.attempts, "run", "runs")
        ),
    };
    [
        name.to_owned(),
        date_and_time(record.started_unix_ms),
        commit.chars().take(10).collect(),
        verdict.to_owned(),
        failed(record.plain, Confidence::USUAL) + &varied,
    ]
}

/// Columns, the last one as wide as it likes.
fn aligned<const N: usize>(lines: &[[String; N]]) -> String {
    let width = |column: usize| lines.iter().map(|cells| cells[column].chars().count()).max();
    let widths: [usize; N] = std::array::from_fn(|column| width(column).unwrap_or(0));
    let line = |cells: &[String; N]| {
        let pad = |(cell, width): (&String, usize)| format!("{cell:<width$}  ");
        let padded: String = cells.iter().zip(widths).map(pad).collect();
        padded.trim_end().to_owned() + "\n"
    };
    lines.iter().map(line).collect()
}
