//! Files: where they are made, which are refused, what damage does, and what other writers do.

use std::error::Error as _;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use rusqlite::Connection;
use unflake_store::{CampaignId, Store, StoreError, StoreErrorKind};

use crate::common::{
    FAILED, PASSED, any_run, campaign, record, run, runs, said, small_suite, test_id,
};

/// A file with one campaign of three runs.
fn three_runs(path: &Path) -> CampaignId {
    let suite = small_suite();
    let mut store = Store::open(path).unwrap();
    let id = store.begin(&campaign(&suite, "detect")).unwrap();
    for number in 0..3 {
        record(&mut store, id, &any_run(&suite, number));
    }
    id
}

/// Changes the file as another program might.
fn tamper(path: &Path, sql: &str) {
    Connection::open(path).unwrap().execute_batch(sql).unwrap();
}

/// The error of reading the first run that cannot be read.
fn read_error(path: &Path, id: CampaignId) -> StoreError {
    let store = Store::open(path).unwrap();
    store.runs(id).unwrap().find_map(Result::err).expect("a run cannot be read")
}

#[test]
fn a_new_folder_is_hidden_from_git_and_an_old_one_is_left_alone() {
    let root = tempfile::tempdir().unwrap();
    let new = root.path().join("a/.unflake");
    Store::open(&new.join("history.sqlite")).unwrap();
    assert_eq!(fs::read_to_string(new.join(".gitignore")).unwrap(), "*\n");
    assert!(!root.path().join("a/.gitignore").exists());
    Store::open(&root.path().join("history.sqlite")).unwrap();
    assert!(!root.path().join(".gitignore").exists());
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn only_the_user_may_read_a_history_and_its_folder() {
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join("state/unflake");
    let path = folder.join("history.sqlite");
    let mut store = Store::open(&path).unwrap();
    let id = store.begin(&campaign(&small_suite(), "detect")).unwrap();
    let _claim = store.claim(id).unwrap().unwrap();
    assert_eq!((mode(&folder), mode(&root.path().join("state"))), (0o700, 0o700));
    let files = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
    let files: Vec<_> = files.filter(|file| !file.ends_with(".gitignore")).collect();
    assert_eq!(files.len(), 4, "the history, its log, its index and a lock: {files:?}");
    assert!(files.iter().all(|file| mode(file) == 0o600), "{files:?}");
}

#[test]
fn a_history_that_others_can_read_is_narrowed_and_so_is_a_folder_that_has_nothing_else() {
    let root = tempfile::tempdir().unwrap();
    for (has_other, expected) in [(false, 0o700), (true, 0o755)] {
        let folder = root.path().join(format!("{has_other}"));
        let path = folder.join("history.sqlite");
        let mut store = Store::open(&path).unwrap();
        store.begin(&campaign(&small_suite(), "detect")).unwrap();
        set_mode(&folder, 0o755);
        let files = ["", "-wal", "-shm"].map(|part| folder.join(format!("history.sqlite{part}")));
        for file in &files {
            set_mode(file, 0o644);
        }
        if has_other {
            fs::write(folder.join("notes.txt"), "").unwrap();
        }
        Store::open(&path).unwrap();
        assert_eq!(files.each_ref().map(|file| mode(file)), [0o600; 3]);
        assert_eq!(mode(&folder), expected);
        drop(store);
    }
}

#[test]
fn a_folder_that_cannot_be_made_is_named() {
    let root = tempfile::tempdir().unwrap();
    fs::write(root.path().join("file"), "").unwrap();
    let error = Store::open(&root.path().join("file/history.sqlite")).unwrap_err();
    assert!(matches!(error.kind, StoreErrorKind::Folder(_)), "{error:?}");
    assert!(error.to_string().ends_with("file/history.sqlite`: failed to open it"));
}

/// An error, its causes and its advice, as people see them.
fn told(error: &StoreError) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    format!("{text}; {}", error.hint().unwrap_or_default())
}

#[test]
fn whatever_is_wrong_with_an_old_file_is_said_without_a_word_of_sql() {
    let root = tempfile::tempdir().unwrap();
    let open_and_list = |path: &Path| Store::open(path)?.campaigns(10).map(drop);
    let path = |name: &str| root.path().join(name);
    for (name, sql) in [
        ("a column less", "ALTER TABLE campaigns RENAME COLUMN runner TO ran_by"),
        ("a table less", "PRAGMA foreign_keys = OFF; DROP TABLE verdicts"),
    ] {
        three_runs(&path(name));
        tamper(&path(name), sql);
        let error = open_and_list(&path(name)).unwrap_err();
        assert!(matches!(error.kind, StoreErrorKind::OtherTables(_)), "{name}: {error:?}");
        assert!(told(&error).contains("another version of unflake"), "{}", told(&error));
        assert!(told(&error).contains("move the file away"), "{}", told(&error));
    }
    fs::write(path("text"), "This is no database, but a text that somebody wrote.\n".repeat(100))
        .unwrap();
    fs::create_dir(path("folder")).unwrap();
    let half = path("half");
    three_runs(&half);
    let bytes = fs::read(&half).unwrap();
    fs::write(&half, &bytes[..bytes.len() / 2]).unwrap();
    for name in ["a column less", "a table less", "text", "folder", "half"] {
        let Err(error) = open_and_list(&path(name)) else { continue };
        let told = told(&error);
        assert!(error.hint().is_some(), "{name}: {told}");
        for word in ["SELECT", "SQL", "no such", "FROM", "malformed"] {
            assert!(!told.contains(word), "{name}: {told}");
        }
    }
}

#[test]
fn a_path_is_a_path_whatever_it_looks_like() {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("file:x?mode=memory ☃.sqlite");
    let id = three_runs(&path);
    assert!(path.exists());
    assert_eq!(runs(&Store::open(&path).unwrap(), id).len(), 3);
}

#[test]
fn everything_is_there_when_the_file_is_opened_again() {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("history.sqlite");
    let suite = small_suite();
    let id = three_runs(&path);
    let mut store = Store::open(&path).unwrap();
    let (experiment, observation) = any_run(&suite, 3);
    store.record(id, &experiment, &observation, &[]).unwrap();
    drop(store);
    let expected: Vec<_> = (0..4).map(|number| any_run(&suite, number)).collect();
    assert_eq!(runs(&Store::open(&path).unwrap(), id), expected);
}

#[test]
fn a_file_of_something_else_is_refused_and_left_as_it_was() {
    let root = tempfile::tempdir().unwrap();
    let text = root.path().join("notes.txt");
    fs::write(&text, "not a database, but long enough to look like one".repeat(40)).unwrap();
    let other = root.path().join("other.sqlite");
    tamper(&other, "CREATE TABLE tests (x); PRAGMA user_version = 1;");
    for path in [text, other] {
        let before = fs::read(&path).unwrap();
        let error = Store::open(&path).unwrap_err();
        assert!(matches!(error.kind, StoreErrorKind::NotAHistory), "{error:?}");
        assert_eq!(fs::read(&path).unwrap(), before);
    }
}

#[test]
fn a_newer_file_is_refused_with_advice_and_left_as_it_was() {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("history.sqlite");
    three_runs(&path);
    tamper(&path, "PRAGMA user_version = 7;");
    let before = fs::read(&path).unwrap();
    let error = Store::open(&path).unwrap_err();
    assert_eq!(
        error.source().unwrap().to_string(),
        "it was written by a newer unflake (schema 7, this one reads up to 1)"
    );
    assert_eq!(error.hint(), Some("update unflake, or use another history file"));
    assert_eq!(fs::read(&path).unwrap(), before);
}

#[test]
fn a_file_that_becomes_newer_while_it_is_open_is_not_written_to() {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("history.sqlite");
    let id = three_runs(&path);
    let mut store = Store::open(&path).unwrap();
    tamper(&path, "PRAGMA user_version = 2;");
    let (experiment, observation) = run(9, &[(0, PASSED)]);
    let error = store.record(id, &experiment, &observation, &[]).unwrap_err();
    assert!(matches!(error.kind, StoreErrorKind::TooNew { found: 2, known: 1 }), "{error:?}");
}

#[test]
fn a_damaged_run_is_an_error_that_names_campaign_and_run() {
    let root = tempfile::tempdir().unwrap();
    let damages = [
        ("packed = zeroblob(length(packed))", "its checksum does not match"),
        ("packed = substr(packed, 1, length(packed) - 1)", "its checksum does not match"),
        ("packed = x''", "it ends in the middle"),
        ("packed = (SELECT packed FROM runs WHERE number = 0)", "it says that it is run 0"),
    ];
    for (place, (damage, what)) in damages.into_iter().enumerate() {
        let path = root.path().join(format!("{place}.sqlite"));
        let id = three_runs(&path);
        tamper(&path, &format!("UPDATE runs SET {damage} WHERE number = 1"));
        let error = read_error(&path, id);
        assert_eq!(
            error.source().unwrap().to_string(),
            format!("run 1 of campaign `{id}` is damaged: {what}")
        );
        assert!(error.hint().unwrap().contains("nothing was deleted"));
        let store = Store::open(&path).unwrap();
        let n_read = store.runs(id).unwrap().flatten().count();
        assert_eq!(n_read, 2, "the others can be read");
    }
}

#[test]
fn a_damaged_suite_is_an_error_that_names_the_campaign() {
    let root = tempfile::tempdir().unwrap();
    let damages = [
        ("UPDATE campaigns SET suite = x'0102'", "it ends in the middle"),
        ("UPDATE campaigns SET n_tests = 5", "its suite has 4 tests instead of 5"),
        ("DELETE FROM tests WHERE id = 2", "the name of its test 1 is missing"),
        ("DELETE FROM classes WHERE id = 3", "the name of its test 3 is missing"),
    ];
    for (place, (damage, what)) in damages.into_iter().enumerate() {
        let path = root.path().join(format!("{place}.sqlite"));
        let id = three_runs(&path);
        tamper(&path, &format!("PRAGMA foreign_keys = OFF; {damage};"));
        let error = Store::open(&path).unwrap().suite(id).unwrap_err();
        let expected = format!("campaign `{id}` is damaged: {what}");
        assert_eq!(error.source().unwrap().to_string(), expected);
    }
}

#[test]
fn words_nobody_knows_are_damage_and_not_guessed_at() {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("history.sqlite");
    let id = three_runs(&path);
    let mut store = Store::open(&path).unwrap();
    let (experiment, observation) = run(9, &[(0, FAILED)]);
    store.record(id, &experiment, &observation, &[said(0, "m", "t")]).unwrap();
    let test = test_id("a.py::test_1[x y-☃]");
    for damage in ["phase = 'lunch'", "outcome = 'so so'", "position = -1", "text = 99"] {
        tamper(&path, &format!("PRAGMA foreign_keys = OFF; UPDATE failures SET {damage};"));
        let error = store.failures_of(&test, 9).unwrap_err();
        assert!(matches!(error.kind, StoreErrorKind::DamagedRun { .. }), "{damage}: {error:?}");
        let whole = "phase = 'call', outcome = 'failed', position = 0, text = 1";
        tamper(&path, &format!("UPDATE failures SET {whole}"));
        assert_eq!(store.failures_of(&test, 9).unwrap().len(), 1);
    }
    tamper(&path, "UPDATE campaigns SET name = 'Xenon'");
    let error = store.campaigns(9).unwrap_err();
    assert!(matches!(error.kind, StoreErrorKind::Damaged(_)), "{error:?}");
}

#[test]
fn two_writers_at_once_lose_nothing() {
    const N_RUNS: u64 = 150;
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("history.sqlite");
    // Both processes find no file and make it.
    let write = |command: &str| {
        let suite = small_suite();
        let mut store = Store::open(&path).unwrap();
        let id = store.begin(&campaign(&suite, command)).unwrap();
        for number in 0..N_RUNS {
            record(&mut store, id, &any_run(&suite, number));
        }
        id
    };
    let ids = std::thread::scope(|scope| {
        let threads = ["one", "two"].map(|command| scope.spawn(move || write(command)));
        threads.map(|thread| thread.join().unwrap())
    });
    let store = Store::open(&path).unwrap();
    let expected: Vec<_> = (0..N_RUNS).map(|number| any_run(&small_suite(), number)).collect();
    for id in ids {
        assert_eq!(runs(&store, id), expected);
    }
    let check: String = Connection::open(&path)
        .unwrap()
        .query_row("PRAGMA integrity_check", (), |row| row.get(0))
        .unwrap();
    assert_eq!(check, "ok");
}

#[test]
fn many_may_open_a_history_that_is_not_there_yet_at_once() {
    let root = tempfile::tempdir().unwrap();
    for round in 0..10 {
        let path = root.path().join(format!("{round}/history.sqlite"));
        let open = || Store::open(&path).map(drop);
        std::thread::scope(|scope| {
            let threads: Vec<_> = (0..8).map(|_| scope.spawn(open)).collect();
            for thread in threads {
                thread.join().unwrap().unwrap();
            }
        });
    }
}

#[test]
fn a_campaign_that_another_process_forgets_is_not_read_short() {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("history.sqlite");
    let id = three_runs(&path);
    let store = Store::open(&path).unwrap();
    let mut runs = store.runs(id).unwrap();
    runs.next().unwrap().unwrap();
    Store::open(&path).unwrap().prune(0).unwrap();
    let error = runs.next().unwrap().unwrap_err();
    assert!(error.source().unwrap().to_string().contains("forgotten while it was read"));
}

#[test]
fn a_pruned_file_shrinks() {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("history.sqlite");
    let suite = unflake_model::Suite::of_sizes(&[5_000]).unwrap();
    let mut store = Store::open(&path).unwrap();
    for number in 0..4 {
        let id = store.begin(&campaign(&suite, &number.to_string())).unwrap();
        for number in 0..20 {
            record(&mut store, id, &any_run(&suite, number));
        }
    }
    store.prune(4).unwrap();
    drop(store);
    let before = fs::metadata(&path).unwrap().len();
    Store::open(&path).unwrap().prune(1).unwrap();
    let after = fs::metadata(&path).unwrap().len();
    assert!(after * 2 < before, "{before} bytes before, {after} after");
}
