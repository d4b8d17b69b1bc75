//! What is remembered about a campaign between its runs, so that nothing is read again.

use rusqlite::{Connection, OptionalExtension as _};

use crate::campaign::CampaignId;
use crate::error::StoreErrorKind;

/// The campaign that was last written to: its row, and the rows of its tests' names.
#[derive(Debug)]
pub(crate) struct Recording {
    pub(crate) campaign: CampaignId,
    pub(crate) row: i64,
    pub(crate) tests: Vec<i64>,
}

impl Recording {
    /// The row of a test's name.
    pub(crate) fn test(&self, test: usize) -> Result<i64, StoreErrorKind> {
        let n_tests = self.tests.len();
        self.tests.get(test).copied().ok_or(StoreErrorKind::UnknownTest { test, n_tests })
    }

    /// Checks that no other process has ended or pruned the campaign.
    pub(crate) fn check_open(&self, db: &Connection) -> Result<(), StoreErrorKind> {
        let sql = "SELECT ended IS NULL FROM campaigns WHERE id = ?1 AND name = ?2";
        let name = self.campaign.to_string();
        let mut select = db.prepare_cached(sql)?;
        let is_open = select.query_row((self.row, &name), |row| row.get(0)).optional()?;
        match is_open {
            Some(true) => Ok(()),
            Some(false) => Err(StoreErrorKind::Finished),
            None => Err(StoreErrorKind::Unknown { selector: name }),
        }
    }
}
