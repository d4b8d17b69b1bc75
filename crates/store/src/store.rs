//! The history of one project, as an open file.
//!
//! Its operations are in other modules: writing (`write`), reading (`read`, `failures`), forgetting
//! (`prune`), claiming (`claim`).

use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

use crate::error::{StoreError, StoreErrorKind};
use crate::recording::Recording;
use crate::{private, schema};

/// How long one process waits for another. Commits take milliseconds; pruning a large history
/// takes seconds.
const BUSY_TIMEOUT: Duration = Duration::from_secs(20);

/// The history of one project.
#[derive(Debug)]
pub struct Store {
    pub(crate) connection: Connection,
    pub(crate) path: PathBuf,
    /// The campaign that was last written to.
    pub(crate) recording: Option<Recording>,
}

impl Store {
    /// Opens the history in this file, which is made if it does not exist. If its folder is made
    /// too, that is hidden from Git, and nobody else may read it.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        let opened = private::make(path).map_err(StoreErrorKind::Folder).and_then(|()| {
            // Without the default `URI`: a path is a path, even if it begins with `file:`.
            let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
                | OpenFlags::SQLITE_OPEN_CREATE
                | OpenFlags::SQLITE_OPEN_NO_MUTEX;
            let connection = prepared(Connection::open_with_flags(path, flags)?)?;
            private::narrow(path);
            Ok(connection)
        });
        Self::new(opened, path)
    }

    /// A history that lives as long as this value. For tests, and for users who want no file.
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

    /// Adds to an error what we were doing.
    pub(crate) fn doing<T>(
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
