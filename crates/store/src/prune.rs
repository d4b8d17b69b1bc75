//! Forgets old campaigns, and everything that only they needed.

use std::collections::BTreeSet;

use rusqlite::Connection;

use crate::error::{StoreError, StoreErrorKind};
use crate::names::Names;
use crate::store::Store;
use crate::{read, write};

impl Store {
    /// Keeps this many of the latest campaigns, and forgets all others with their runs and
    /// failures, even unfinished ones. The file shrinks. Returns how many were forgotten.
    pub fn prune(&mut self, keep: usize) -> Result<usize, StoreError> {
        let pruned = try_prune(&mut self.connection, keep);
        self.doing(pruned, || "forget old campaigns".to_owned())
    }
}

fn try_prune(connection: &mut Connection, keep: usize) -> Result<usize, StoreErrorKind> {
    let keep = i64::try_from(keep).unwrap_or(i64::MAX);
    let n_forgotten = write::write(connection, |db| {
        let sql = "DELETE FROM campaigns WHERE id NOT IN \
            (SELECT id FROM campaigns ORDER BY id DESC LIMIT ?1)";
        let n_forgotten = db.execute(sql, [keep])?;
        if 0 < n_forgotten {
            let sql = "DELETE FROM texts WHERE NOT EXISTS \
                (SELECT 1 FROM failures WHERE failures.text = texts.id)";
            db.execute(sql, ())?;
            forget_names(db)?;
        }
        Ok(n_forgotten)
    })?;
    if 0 < n_forgotten {
        // Each step of the statement releases one page.
        let mut vacuum = connection.prepare("PRAGMA incremental_vacuum")?;
        let mut pages = vacuum.query(())?;
        while pages.next()?.is_some() {}
        connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", (), |_| Ok(()))?;
    }
    Ok(n_forgotten)
}

/// Forgets names that no campaign uses, because parametrised tests can have new names each time.
fn forget_names(db: &Connection) -> Result<(), StoreErrorKind> {
    let (mut tests, mut classes) = (BTreeSet::new(), BTreeSet::new());
    for campaign in read::ids(db)? {
        let (_, entries) = read::entries(db, campaign)?;
        tests.extend(entries.iter().map(|entry| entry.test));
        classes.extend(entries.iter().map(|entry| entry.class));
    }
    Names::Tests.retain(db, &tests)?;
    Names::Classes.retain(db, &classes)
}
