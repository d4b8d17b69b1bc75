//! What can be typed for `history`.

use std::time::Duration;

use clap::ValueEnum;

use crate::store_args::StoreArgs;
use crate::typed_values::span;

/// Options of `unflake history`.
#[derive(Debug, clap::Args)]
pub(crate) struct HistoryArgs {
    /// Tell how this test fared, instead of listing campaigns
    pub test: Option<String>,

    /// Show again what this campaign found: the beginning of its name, or `latest`
    #[arg(long, value_name = "NAME", conflicts_with = "test")]
    pub campaign: Option<String>,

    /// At most this many campaigns, or failures of a test
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub limit: usize,

    /// Forget old campaigns; say which with --keep or --older-than
    #[arg(long, conflicts_with_all = ["test", "campaign"])]
    pub prune: bool,

    /// With --prune: keep the newest campaigns, this many
    #[arg(long, value_name = "N", requires = "prune")]
    pub keep: Option<usize>,

    /// With --prune: forget campaigns that began longer ago, such as 30d
    #[arg(long, value_name = "SPAN", requires = "prune", conflicts_with = "keep")]
    #[arg(value_parser = span)]
    pub older_than: Option<Duration>,

    #[command(flatten)]
    pub place: StoreArgs,

    /// What to print
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub format: HistoryFormat,

    /// Short for --format json
    #[arg(long, conflicts_with = "format")]
    pub json: bool,
}

impl HistoryArgs {
    /// What to print.
    pub(crate) fn format(&self) -> HistoryFormat {
        if self.json { HistoryFormat::Json } else { self.format }
    }
}

/// What `history` prints. Of a list there is one form for people and one for programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum HistoryFormat {
    /// For people
    Text,
    /// With --campaign: one line for each finding
    Table,
    /// For programs
    Json,
    /// With --campaign: for a pull request
    Markdown,
}
