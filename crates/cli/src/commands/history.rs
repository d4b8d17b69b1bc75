//! `unflake history`.

use std::io::{self, Write as _};

use unflake_campaign::history::{History, HistoryError};
use unflake_known::PastCampaign;
use unflake_model::TestId;
use unflake_report::Command;
use unflake_report::history::{json, text};
use unflake_report::{Layout, plural, shake};

use crate::commands::detect::{self, Shape};
use crate::exit::Failure;
use crate::history_args::{HistoryArgs, HistoryFormat};
use crate::opened::Parts;
use crate::screen::Screen;
use crate::search_args::FindingsFormat;
use crate::store_args::unix_ms;

/// Campaigns, a campaign, or a test over time.
pub(crate) fn run(args: &HistoryArgs, screen: Screen) -> Result<(), Failure> {
    let (format, layout) = (args.format(), screen.layout());
    let is_list = !args.prune && args.campaign.is_none() && args.test.is_none();
    let mut history = match History::open(&args.place.file()?) {
        Err(HistoryError::None { .. }) if is_list => return list(&[], format, layout),
        opened => opened.map_err(|error| failure(&error))?,
    };
    let text = if args.prune {
        prune(&mut history, args)?
    } else if let Some(campaign) = &args.campaign {
        return show(&history, campaign, format, layout);
    } else if let Some(test) = &args.test {
        past(&history, test, args, layout)?
    } else {
        let campaigns = history.campaigns(args.limit).map_err(|error| failure(&error))?;
        return list(&campaigns, format, layout);
    };
    print(&text)
}

fn list(campaigns: &[PastCampaign], format: HistoryFormat, layout: Layout) -> Result<(), Failure> {
    print(&match format {
        HistoryFormat::Json => json::campaigns(campaigns),
        _ => text::campaigns(campaigns, layout),
    })
}

fn print(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()?;
    Ok(())
}

fn past(
    history: &History,
    test: &str,
    args: &HistoryArgs,
    layout: Layout,
) -> Result<String, Failure> {
    let id: TestId = test.parse().map_err(|error| {
        Failure::input(format!("{error}"), "give a test as your runner spells it")
    })?;
    let past = history.past(&id, args.limit).map_err(|error| failure(&error))?;
    Ok(match args.format() {
        HistoryFormat::Json => json::past(&past),
        _ => text::past(&past, layout),
    })
}

fn show(
    history: &History,
    campaign: &str,
    format: HistoryFormat,
    layout: Layout,
) -> Result<(), Failure> {
    if let Some(shaking) = history.shaking(campaign).map_err(|error| failure(&error))? {
        return print(&match format {
            HistoryFormat::Json => shake::json::render(&shaking, Command::History),
            _ => shake::text::render(&shaking, layout),
        });
    }
    let findings = history.findings(campaign).map_err(|error| failure(&error))?;
    let format = match format {
        HistoryFormat::Text => FindingsFormat::Text,
        HistoryFormat::Table => FindingsFormat::Table,
        HistoryFormat::Json => FindingsFormat::Json,
        HistoryFormat::Markdown => FindingsFormat::Markdown,
    };
    detect::show(&Parts::one(findings), format, Shape::Past, layout)
}

fn prune(history: &mut History, args: &HistoryArgs) -> Result<String, Failure> {
    let forgotten = match (args.keep, args.older_than) {
        (Some(n_kept), _) => history.keep_newest(n_kept),
        (None, Some(age)) => {
            let age_ms = i64::try_from(age.as_millis()).unwrap_or(i64::MAX);
            history.forget_before(unix_ms().saturating_sub(age_ms))
        }
        (None, None) => {
            let message = "--prune: it is not said what to forget";
            return Err(Failure::input(message, "give --keep 20 or --older-than 30d"));
        }
    };
    let n_forgotten = forgotten.map_err(|error| failure(&error))?;
    Ok(format!("forgot {}\n", plural(n_forgotten as u64, "campaign", "campaigns")))
}

/// A history that does not answer, with the advice for it.
pub(crate) fn failure(error: &HistoryError) -> Failure {
    let message = unflake_adapter::with_causes(error);
    Failure::Input { message, hint: error.hint() }
}
