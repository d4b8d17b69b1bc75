//! Stores each name once: a number for a name, a name for a number.

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::{Connection, OptionalExtension as _};

use crate::error::StoreErrorKind;

/// A table of names.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Names {
    Tests,
    Classes,
}

impl Names {
    fn table(self) -> &'static str {
        match self {
            Self::Tests => "tests",
            Self::Classes => "classes",
        }
    }

    /// The row of a name, made if it does not exist.
    pub(crate) fn intern(self, db: &Connection, name: &str) -> Result<i64, StoreErrorKind> {
        if let Some(row) = self.find(db, name)? {
            return Ok(row);
        }
        let sql = format!("INSERT INTO {} (name) VALUES (?1)", self.table());
        Ok(db.prepare_cached(&sql)?.insert([name])?)
    }

    /// The row of a name, if it exists.
    pub(crate) fn find(self, db: &Connection, name: &str) -> Result<Option<i64>, StoreErrorKind> {
        let sql = format!("SELECT id FROM {} WHERE name = ?1", self.table());
        Ok(db.prepare_cached(&sql)?.query_row([name], |row| row.get(0)).optional()?)
    }

    /// All names, by their rows.
    pub(crate) fn all(self, db: &Connection) -> Result<BTreeMap<i64, String>, StoreErrorKind> {
        let mut select =
            db.prepare(&format!("SELECT id, name FROM {} ORDER BY id", self.table()))?;
        let names = select.query_map((), |row| Ok((row.get(0)?, row.get(1)?)))?;
        Ok(names.collect::<Result<_, _>>()?)
    }

    /// Removes all rows except these.
    pub(crate) fn retain(
        self,
        db: &Connection,
        used: &BTreeSet<i64>,
    ) -> Result<(), StoreErrorKind> {
        let mut select = db.prepare(&format!("SELECT id FROM {}", self.table()))?;
        let rows = select.query_map((), |row| row.get(0))?.collect::<Result<Vec<i64>, _>>()?;
        let mut remove = db.prepare(&format!("DELETE FROM {} WHERE id = ?1", self.table()))?;
        for row in rows.into_iter().filter(|row| !used.contains(row)) {
            remove.execute([row])?;
        }
        Ok(())
    }
}
