//! Makes sure that only one process at a time works on a campaign.
//!
//! Two processes that recorded into the same campaign would give their runs the same numbers. So
//! each locks a file beside the history first. The kernel releases the lock when the process dies,
//! however it dies; a leftover file means nothing.

use std::fs::{self, File, TryLockError};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use crate::campaign::CampaignId;
use crate::error::{StoreError, StoreErrorKind};
use crate::private;
use crate::store::Store;

/// The right to work on a campaign, until dropped.
#[derive(Debug)]
pub struct Claim {
    _locked: File,
    path: PathBuf,
}

impl Store {
    /// Claims a campaign for this process; `None` if another one works on it.
    pub fn claim(&self, campaign: CampaignId) -> Result<Option<Claim>, StoreError> {
        let mut name = self.path.file_name().unwrap_or_default().to_owned();
        name.push(format!("-{campaign}.lock"));
        let path = self.path.with_file_name(name);
        let claimed = claim(path).map_err(StoreErrorKind::Claim);
        self.doing(claimed, || format!("claim campaign `{campaign}`"))
    }
}

fn claim(path: PathBuf) -> io::Result<Option<Claim>> {
    let file = private::options().open(&path)?;
    match file.try_lock() {
        // Another process may have removed the file between our opening and our locking it.
        Ok(()) if !is_at(&file, &path)? => Ok(None),
        Ok(()) => Ok(Some(Claim { _locked: file, path })),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    match fs::metadata(path) {
        Ok(found) => Ok(found.ino() == file.metadata()?.ino()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        // A leftover file does no harm.
        let _ = fs::remove_file(&self.path);
    }
}
