//! The history for people.

use unflake_known::{Past, PastCampaign, PastRecord};
use unflake_model::{Confidence, Tally};

use super::ended;
use crate::page::{Detail, Ink, Layout, Page};
use crate::visible::visible;
use crate::when::date_and_time;
use crate::words::{factor_in_words, failed, plural};

/// Runs named for each way to fail.
const RUNS_SHOWN_MAX: usize = 5;

/// Campaigns, newest first.
pub fn campaigns(campaigns: &[PastCampaign], layout: Layout) -> String {
    if campaigns.is_empty() {
        return "No campaign is on record.\n".to_owned();
    }
    let mut page = Page::new(layout);
    for campaign in campaigns {
        let began = date_and_time(campaign.began_unix_ms);
        let head = format!("{}  {began} UTC  ", campaign.name);
        page.line_with_id((Ink::Heading, &head), (Ink::Plain, &visible(&campaign.question)));
        let runs = plural(campaign.n_runs, "run", "runs");
        page.row("made", &format!("{runs}; {}", in_words(ended(campaign))));
        for (number, (verdict, n)) in campaign.verdicts.iter().enumerate() {
            let found = format!("{}: {}", plural(*n, "test", "tests"), verdict.told());
            page.row_in(if number == 0 { "found" } else { "" }, Ink::Verdict(*verdict), &found);
        }
        for factor in &campaign.factors {
            page.row("found", &format!("depends on {factor}"));
        }
    }
    if layout.detail != Detail::Brief {
        page.blank();
        page.prose(
            "`unflake history --campaign CAMPAIGN` shows what one found, `unflake replay \
             CAMPAIGN/NUMBER` runs one of its runs again.",
        );
    }
    page.finish()
}

/// How a campaign ended, as a person would say it.
fn in_words(ended: &str) -> &str {
    match ended {
        "confident" => "came to its end",
        "out-of-budget" => "the budget ended first",
        "interrupted" => "was interrupted",
        "unfinished" => "did not come to its end",
        other => other,
    }
}

/// One test over time, newest first.
pub fn past(past: &Past, layout: Layout) -> String {
    let mut page = Page::new(layout);
    page.line(&[(Ink::Heading, &visible(past.test.as_str()))]);
    for record in &past.records {
        page.blank();
        show(&mut page, record);
    }
    for (what, runs) in by_message(past) {
        let shown: Vec<&str> = runs.iter().take(RUNS_SHOWN_MAX).map(String::as_str).collect();
        let more = match runs.len() - shown.len() {
            0 => String::new(),
            n => format!(" and {n} more"),
        };
        page.blank();
        page.prose(&what);
        page.prose_below(&format!("in {}{more}", shown.join(", ")));
    }
    for factor in &past.factors {
        page.blank();
        page.prose(&factor_in_words(factor));
        let commands: Vec<_> = factor.command.iter().map(|command| visible(command)).collect();
        page.exact("reproduce", Ink::Command, &commands);
    }
    page.blank();
    if past.failures.is_empty() {
        page.prose("No failure of it is on record.");
    } else if layout.detail != Detail::Brief {
        page.prose("`unflake replay RUN` runs one of these again.");
    }
    page.finish()
}

/// Failures that said the same, with the runs in which they did; the newest first.
fn by_message(past: &Past) -> Vec<(String, Vec<String>)> {
    let mut all: Vec<(String, Vec<String>)> = Vec::new();
    for past in &past.failures {
        let message = visible(past.failure.message.lines().next().unwrap_or_default());
        let what = format!("{}: {message}", past.outcome.as_str());
        match all.iter_mut().find(|(known, _)| *known == what) {
            Some((_, runs)) => runs.push(past.run.to_string()),
            None => all.push((what, vec![past.run.to_string()])),
        }
    }
    all
}

fn show(page: &mut Page, record: &PastRecord) {
    let began = date_and_time(record.began_unix_ms);
    let commit: String = record.commit.as_deref().unwrap_or_default().chars().take(10).collect();
    let commit = if commit.is_empty() { commit } else { format!("  commit {commit}") };
    page.line(&[(Ink::Heading, &record.campaign), (Ink::Plain, &format!("  {began} UTC{commit}"))]);
    if let Some(verdict) = record.verdict {
        page.row_in("kind", Ink::Verdict(verdict), &verdict.told());
    }
    page.row("rate", &failed(record.plain, Confidence::USUAL));
    let Tally { failures, attempts } = record.varied;
    if 0 < attempts {
        let runs = plural(attempts, "run", "runs");
        page.row("", &format!("failed {failures} of {runs} that were repeated or perturbed"));
    }
}
