//! What happened in earlier campaigns, and in this one until a moment ago?
//!
//! The history of a project is one `SQLite` file, and the file is the truth: there is no log beside
//! it, no cache, nothing to rebuild. A campaign is a row. Each of its runs is a row with order,
//! outcomes and durations packed into one value (`pack`). What failed attempts said are rows of
//! their own, so that all failures of one test, across campaigns, are one query.
//!
//! ```no_run
//! # fn example(
//! #     campaign: &unflake_store::Campaign<'_>,
//! #     experiment: &unflake_model::Experiment,
//! #     observation: &unflake_model::Observation,
//! # ) -> Result<(), unflake_store::StoreError> {
//! let mut store = unflake_store::Store::open("history.sqlite".as_ref())?;
//! let id = store.begin(campaign)?;
//! store.record(id, experiment, observation, &[])?; // Killed here, nothing is lost.
//! for run in store.runs(id)? {
//!     let (experiment, observation) = run?;
//! }
//! # Ok(())
//! # }
//! ```
//!
//! **What is promised.** Once [`Store::record`] has returned, the run survives `kill -9` of this
//! process. When the machine loses power, the last runs may be lost, and the file is whole: the
//! write-ahead log is not flushed with every commit, because a flush takes as long as a run of two
//! tests. A run is there with its failures or not at all. Two processes may write to one file;
//! each waits for the other; a campaign has one writer at a time ([`Claim`]). When the disk is
//! full, recording fails with [`StoreErrorKind::Full`], and what was recorded can be read.
//!
//! **Corruption is an error that names campaign and run**, never a run less: a run missing from
//! the evidence can turn a verdict around. Packed values carry a checksum.
//!
//! **Versions.** A file of an older version is brought to the current one when it is opened. One
//! of a newer version is refused with advice, unwritten (`schema`). Packed values have versions of
//! their own, so old rows need not be rewritten.
//!
//! **Private.** Only its user may read a history: failures quote what tests print (`private`).
//!
//! **Limits.** No clock and no randomness: times and seeds are the caller's, names of campaigns
//! follow from them. Settings and findings are the caller's texts. Failures without a text are in
//! the packed outcomes only; how many texts to keep of a suite in ruins is the caller's choice.

mod campaign;
mod claim;
mod error;
mod failures;
mod names;
mod pack;
mod private;
mod prune;
mod read;
mod schema;
mod text;
mod write;

use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

pub use campaign::{
    Campaign, CampaignId, CampaignSummary, Conclusion, Failure, FailureText, TestRecord,
};
pub use claim::Claim;
pub use error::{StoreError, StoreErrorKind};
pub use pack::digest;
pub use read::Runs;
pub use text::{MESSAGE_BYTES_MAX, TEXT_BYTES_MAX};

/// How long one process waits for another. Commits take milliseconds; pruning a large history
/// takes seconds.
const BUSY_TIMEOUT: Duration = Duration::from_secs(20);

/// The history of one project.
#[derive(Debug)]
pub struct Store {
    connection: Connection,
    path: PathBuf,
    recording: Option<write::Recording>,
}

impl Store {
    /// Opens the history in this file, which is made if it is not there. A folder that is made for
    /// it is hidden from Git, and nobody else may read what is in it.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        let opened = private::make(path).map_err(StoreErrorKind::Folder).and_then(|()| {
            // Without the default `URI`: a path is a path, also when it begins with `file:`.
            let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
                | OpenFlags::SQLITE_OPEN_CREATE
                | OpenFlags::SQLITE_OPEN_NO_MUTEX;
            let connection = prepared(Connection::open_with_flags(path, flags)?)?;
            private::narrow(path);
            Ok(connection)
        });
        Self::new(opened, path)
    }

    /// A history that lives as long as the value. For tests, and for users who want no file.
    pub fn open_in_memory() -> Result<Self, StoreError> {
        let opened = Connection::open_in_memory().map_err(StoreErrorKind::from).and_then(prepared);
        Self::new(opened, Path::new(":memory:"))
    }

    fn new(opened: Result<Connection, StoreErrorKind>, path: &Path) -> Result<Self, StoreError> {
        let path = path.to_owned();
        match opened {
            Ok(connection) => Ok(Self { connection, path, recording: None }),
            Err(kind) => Err(StoreError { doing: "open it".to_owned(), path, kind }),
        }
    }

    /// Says of an error what we were doing.
    fn doing<T>(
        &self,
        result: Result<T, StoreErrorKind>,
        doing: impl FnOnce() -> String,
    ) -> Result<T, StoreError> {
        result.map_err(|kind| StoreError { doing: doing(), path: self.path.clone(), kind })
    }
}

fn prepared(mut connection: Connection) -> Result<Connection, StoreErrorKind> {
    connection.busy_timeout(BUSY_TIMEOUT)?;
    schema::prepare(&mut connection)?;
    Ok(connection)
}
