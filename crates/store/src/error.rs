//! What can go wrong with a history, and what to do about it.

use std::path::PathBuf;

use rusqlite::ErrorCode;
use unflake_model::RunId;

use crate::campaign::CampaignId;

/// Something about the history did not work. Everything recorded before is still there.
#[derive(Debug, thiserror::Error)]
#[error("history `{}`: failed to {doing}", path.display())]
pub struct StoreError {
    /// What we were doing.
    pub doing: String,
    /// The file.
    pub path: PathBuf,
    /// What went wrong.
    #[source]
    pub kind: StoreErrorKind,
}

/// What went wrong.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreErrorKind {
    /// A newer program made the file. We neither write to it nor guess what it means.
    #[error("it was written by a newer unflake (schema {found}, this one reads up to {known})")]
    TooNew {
        /// The version of the file.
        found: i64,
        /// The newest version that this program knows.
        known: i64,
    },
    /// The file is something else.
    #[error("the file is not a history of unflake")]
    NotAHistory,
    /// Its tables are not those that this program makes, although its version says so.
    #[error("it was written by another version of unflake, and does not have what this one reads")]
    OtherTables(rusqlite::Error),
    /// The data kept by `SQLite` is damaged. Its own message helps only people who know our tables,
    /// so it is kept for debugging, and not shown.
    #[error("the file is damaged")]
    Damaged(rusqlite::Error),
    /// A run exists but cannot be read.
    #[error("run {} of campaign `{campaign}` is damaged: {what}", run.0)]
    DamagedRun {
        /// The campaign.
        campaign: CampaignId,
        /// The run.
        run: RunId,
        /// What is wrong with the run.
        what: String,
    },
    /// A campaign exists, but something about it, other than its runs, cannot be read.
    #[error("campaign `{campaign}` is damaged: {what}")]
    DamagedCampaign {
        /// The campaign.
        campaign: CampaignId,
        /// What is wrong with the campaign.
        what: String,
    },
    /// There is no space left on the disk.
    #[error("the disk is full")]
    Full,
    /// Another process has held the file for longer than we wait.
    #[error("another process is writing to it")]
    Busy,
    /// We may not write to the file or its folder.
    #[error("it is read-only")]
    ReadOnly,
    /// The folder could not be made.
    #[error("failed to make its folder")]
    Folder(#[source] std::io::Error),
    /// The campaign could not be locked.
    #[error("failed to lock it")]
    Claim(#[source] std::io::Error),
    /// The history has no campaign yet.
    #[error("there is no campaign yet")]
    Empty,
    /// No campaign has this name.
    #[error("no campaign is called `{selector}`")]
    Unknown {
        /// The name that was asked for.
        selector: String,
    },
    /// More than one campaign has a name that begins like this.
    #[error("`{selector}` could be any of {}", list(matches))]
    Ambiguous {
        /// The name that was asked for.
        selector: String,
        /// The campaigns whose names begin like this.
        matches: Vec<CampaignId>,
    },
    /// The run was recorded before; the first record stays.
    #[error("the run is already there")]
    AlreadyRecorded,
    /// The campaign has ended, so nothing can be added.
    #[error("the campaign has ended")]
    Finished,
    /// The observation does not belong to the experiment.
    #[error("the observation does not answer the experiment")]
    NotAnAnswer,
    /// The suite of the campaign does not have this test.
    #[error("test {test} does not exist: the suite has {n_tests} tests, numbered from 0")]
    UnknownTest {
        /// The number of the test.
        test: usize,
        /// How many tests the suite has.
        n_tests: usize,
    },
    /// A text was given for an attempt that did not fail, or was not made.
    #[error("attempt {attempt} at position {position} did not fail, so it cannot say why")]
    NotAFailure {
        /// The position of the test in the order.
        position: usize,
        /// The number of the attempt.
        attempt: usize,
    },
    /// The file cannot be opened: it is a folder, or reading is not permitted.
    #[error("the file cannot be opened or read")]
    NotOpened(rusqlite::Error),
    /// Any other error of the database.
    #[error("SQLite refuses it ({})", code(.0))]
    Sqlite(rusqlite::Error),
}

impl StoreError {
    /// What the user can do about it, if anything.
    pub fn hint(&self) -> Option<&'static str> {
        use StoreErrorKind as Kind;
        Some(match self.kind {
            Kind::TooNew { .. } => "update unflake, or use another history file",
            Kind::NotAHistory => "use another file; this one was not touched",
            Kind::OtherTables(_) => {
                "move the file away to begin a new history, or name another with --store; it was \
                 not changed"
            }
            Kind::NotOpened(_) => "make it readable, or name another file with --store",
            Kind::Damaged(_) | Kind::DamagedRun { .. } | Kind::DamagedCampaign { .. } => {
                "move the file away to begin a new history; nothing was deleted from it"
            }
            Kind::Full => "free some space, then resume; what was recorded is kept",
            Kind::Busy => "wait for the other unflake to end, then try again",
            Kind::ReadOnly | Kind::Folder(_) | Kind::Claim(_) => {
                "use a history file in a folder you may write to"
            }
            Kind::Unknown { .. } => "`unflake history` lists all campaigns",
            Kind::Ambiguous { .. } => "give more characters of its name",
            _ => return None,
        })
    }
}

impl From<rusqlite::Error> for StoreErrorKind {
    fn from(error: rusqlite::Error) -> Self {
        use rusqlite::Error as E;
        if let E::FromSqlConversionFailure(..) | E::InvalidColumnType(..) | E::Utf8Error(..) = error
        {
            return Self::Damaged(error);
        }
        // A table or a column is missing.
        if let E::SqlInputError { .. } | E::InvalidColumnName(_) | E::InvalidColumnIndex(_) = error
        {
            return Self::OtherTables(error);
        }
        // There is no room even for the index of the log, which reading needs.
        if error.sqlite_extended_error_code() == Some(rusqlite::ffi::SQLITE_IOERR_SHMSIZE) {
            return Self::Full;
        }
        match error.sqlite_error_code() {
            Some(ErrorCode::DiskFull) => Self::Full,
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::Busy,
            Some(ErrorCode::ReadOnly) => Self::ReadOnly,
            Some(ErrorCode::NotADatabase) => Self::NotAHistory,
            Some(ErrorCode::DatabaseCorrupt) => Self::Damaged(error),
            Some(ErrorCode::Unknown) => Self::OtherTables(error),
            Some(
                ErrorCode::CannotOpen
                | ErrorCode::PermissionDenied
                | ErrorCode::SystemIoFailure
                | ErrorCode::AuthorizationForStatementDenied,
            ) => Self::NotOpened(error),
            _ => Self::Sqlite(error),
        }
    }
}

/// What is wrong with a stored value, before it is known what it belongs to.
#[derive(Debug)]
pub(crate) struct Damage(String);

impl Damage {
    pub(crate) fn new(what: impl Into<String>) -> Self {
        Self(what.into())
    }

    pub(crate) fn of_run(self, campaign: CampaignId, run: RunId) -> StoreErrorKind {
        StoreErrorKind::DamagedRun { campaign, run, what: self.0 }
    }

    pub(crate) fn of_campaign(self, campaign: CampaignId) -> StoreErrorKind {
        StoreErrorKind::DamagedCampaign { campaign, what: self.0 }
    }
}

/// The kind of error, without the statement that caused it.
fn code(error: &rusqlite::Error) -> String {
    match error.sqlite_error() {
        Some(error) => format!("error {}", error.extended_code),
        None => "it was asked wrongly".to_owned(),
    }
}

fn list(campaigns: &[CampaignId]) -> String {
    let names: Vec<String> = campaigns.iter().map(|id| format!("`{id}`")).collect();
    names.join(", ")
}
