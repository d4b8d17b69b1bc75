//! Which tables there are, and how older files are migrated to them.
//!
//! The version of a file is its `user_version`; the steps to reach it are [`MIGRATIONS`], step `n`
//! leading from version `n` to `n + 1`. A step runs in the transaction that raises the version, so
//! a file is never between two versions. A file of a newer version than we know is refused before
//! anything is written to it, even if another process raises the version while we have it open
//! ([`check_current`]).
//!
//! **Adding a version:** write `schema/<n>.sql`, append it to [`MIGRATIONS`], and dump a file of
//! the version before it into `tests/fixtures` (`tests/versions.rs` says how).

use rusqlite::{Connection, Transaction, TransactionBehavior};

use crate::error::StoreErrorKind;

/// The steps from an empty file to the current version.
const MIGRATIONS: &[&str] = &[include_str!("schema/1.sql")];

/// Marks an `SQLite` file as a history of unflake: "unfl".
const APPLICATION_ID: i64 = 0x756e_666c;

/// Each try waits for one other process; no more than this many begin at once.
const WAL_TRIES: usize = 32;

/// Sets the connection up, and brings the file to the current version.
pub(crate) fn prepare(connection: &mut Connection) -> Result<(), StoreErrorKind> {
    let is_new = check_openable(connection, MIGRATIONS)?;
    if is_new {
        // This is only possible while there is no table; it lets a pruned file shrink.
        connection.pragma_update(None, "auto_vacuum", "INCREMENTAL")?;
    }
    migrate(connection, MIGRATIONS)?;
    let synchronous = if enter_wal(connection)? { "NORMAL" } else { "FULL" };
    connection.pragma_update(None, "synchronous", synchronous)?;
    connection.pragma_update(None, "foreign_keys", true)?;
    Ok(())
}

/// Whether the file now has a write-ahead log. Some network file systems cannot have one, and
/// others may be at work. Then every commit waits for the disk, which is slow but just as safe.
fn enter_wal(connection: &Connection) -> Result<bool, StoreErrorKind> {
    for _ in 0..WAL_TRIES {
        let mode = connection
            .pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get::<_, String>(0));
        match mode.map_err(StoreErrorKind::from) {
            Ok(mode) => return Ok(mode == "wal"),
            // Changing the mode does not wait for others; a transaction does.
            Err(StoreErrorKind::Busy) => connection.execute_batch("BEGIN IMMEDIATE; COMMIT")?,
            Err(kind) => return Err(kind),
        }
    }
    Ok(false)
}

/// An error unless the file has the version that this program writes.
pub(crate) fn check_current(connection: &Connection) -> Result<(), StoreErrorKind> {
    let found = version(connection)?;
    let known = current(MIGRATIONS);
    if found == known { Ok(()) } else { Err(StoreErrorKind::TooNew { found, known }) }
}

/// Whether the file is new; an error if it is not ours. Writes nothing.
fn check_openable(connection: &Connection, steps: &[&str]) -> Result<bool, StoreErrorKind> {
    let n_tables: i64 =
        connection.query_row("SELECT COUNT(*) FROM sqlite_schema", (), |row| row.get(0))?;
    let application: i64 = pragma(connection, "application_id")?;
    let (found, known) = (version(connection)?, current(steps));
    match (n_tables, application) {
        (0, 0) => Ok(true),
        (_, APPLICATION_ID) if found <= known => Ok(false),
        (_, APPLICATION_ID) => Err(StoreErrorKind::TooNew { found, known }),
        _ => Err(StoreErrorKind::NotAHistory),
    }
}

/// Takes the steps that the file still needs.
fn migrate(connection: &mut Connection, steps: &[&str]) -> Result<(), StoreErrorKind> {
    if version(connection)? == current(steps) {
        return Ok(());
    }
    // Another process may be doing the same: look again once the file is locked.
    let transaction = Transaction::new(connection, TransactionBehavior::Immediate)?;
    check_openable(&transaction, steps)?;
    let found = usize::try_from(version(&transaction)?).map_err(|_| StoreErrorKind::NotAHistory)?;
    for step in &steps[found..] {
        transaction.execute_batch(step)?;
    }
    transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
    transaction.pragma_update(None, "user_version", current(steps))?;
    Ok(transaction.commit()?)
}

fn current(steps: &[&str]) -> i64 {
    i64::try_from(steps.len()).expect("there are a few versions")
}

fn version(connection: &Connection) -> Result<i64, StoreErrorKind> {
    pragma(connection, "user_version")
}

fn pragma(connection: &Connection, name: &str) -> Result<i64, StoreErrorKind> {
    Ok(connection.pragma_query_value(None, name, |row| row.get(0))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEPS: [&str; 3] = [
        "CREATE TABLE a (x INTEGER); INSERT INTO a VALUES (1);",
        "ALTER TABLE a ADD COLUMN y INTEGER NOT NULL DEFAULT 2;",
        "UPDATE a SET x = 10 * x + y; THIS IS NOT SQL;",
    ];

    fn x(connection: &Connection) -> i64 {
        connection.query_row("SELECT x FROM a", (), |row| row.get(0)).unwrap()
    }

    #[test]
    fn an_older_file_takes_the_steps_it_has_not_taken() {
        let mut connection = Connection::open_in_memory().unwrap();
        migrate(&mut connection, &STEPS[..1]).unwrap();
        connection.execute("UPDATE a SET x = 7", ()).unwrap();
        let steps = [STEPS[0], STEPS[1], "UPDATE a SET x = 10 * x + y;"];
        migrate(&mut connection, &steps).unwrap();
        assert_eq!((version(&connection).unwrap(), x(&connection)), (3, 72));
        migrate(&mut connection, &steps).unwrap();
        assert_eq!(x(&connection), 72);
    }

    #[test]
    fn a_step_that_fails_leaves_the_file_as_it_was() {
        let mut connection = Connection::open_in_memory().unwrap();
        migrate(&mut connection, &STEPS[..2]).unwrap();
        migrate(&mut connection, &STEPS).unwrap_err();
        assert_eq!((version(&connection).unwrap(), x(&connection)), (2, 1));
    }

    #[test]
    fn a_newer_file_is_refused() {
        let mut connection = Connection::open_in_memory().unwrap();
        migrate(&mut connection, &STEPS[..2]).unwrap();
        assert!(matches!(
            migrate(&mut connection, &STEPS[..1]),
            Err(StoreErrorKind::TooNew { found: 2, known: 1 })
        ));
        assert!(matches!(
            check_openable(&connection, &STEPS[..1]),
            Err(StoreErrorKind::TooNew { found: 2, known: 1 })
        ));
    }
}
