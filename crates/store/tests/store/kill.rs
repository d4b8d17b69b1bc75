//! `kill -9` in the middle of recording: what was acknowledged is there.

use std::ffi::OsStr;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use unflake_store::Store;

use crate::common::{any_run, campaign, record, runs, small_suite};

/// Where the child records. If it is not set, the child's part of the test does nothing.
const PATH: &str = "UNFLAKE_STORE_TEST_RECORD_TO";

/// More runs than are recorded before the kill, so that a child that is not killed ends by itself.
const N_RUNS_MAX: u64 = 20_000;

/// Prints `run <number>` after each run that was recorded.
#[test]
fn child_records_until_it_is_killed() {
    let Some(path) = std::env::var_os(PATH) else { return };
    let suite = small_suite();
    let mut store = Store::open(path.as_ref()).unwrap();
    let id = store.begin(&campaign(&suite, "detect")).unwrap();
    for number in 0..N_RUNS_MAX {
        record(&mut store, id, &any_run(&suite, number));
        writeln!(std::io::stdout(), "run {number}").unwrap();
    }
}

#[expect(clippy::disallowed_methods, reason = "only another process can be killed")]
fn start_child(path: &Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "kill::child_records_until_it_is_killed", "--nocapture"])
        .env(OsStr::new(PATH), path)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

#[test]
fn every_acknowledged_run_survives_kill_9_and_the_campaign_goes_on() {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("history.sqlite");
    let mut child = start_child(&path);
    let lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    // On the same line after the name of the test, libtest prints nothing else.
    let mut acknowledged = lines.filter_map(|line| line.split_once("run ")?.1.parse().ok());
    let before_the_kill: Vec<u64> = acknowledged.by_ref().take(200).collect();
    child.kill().unwrap();
    let last: u64 = acknowledged.last().unwrap_or(before_the_kill[199]);
    let status = child.wait().unwrap();
    assert!(!status.success(), "it was killed, and did not end by itself: {status}");

    let suite = small_suite();
    let mut store = Store::open(&path).unwrap();
    let newest = store.newest("/project", |_| true).unwrap();
    let id = newest.expect("there is a campaign to resume").id;
    let survived = runs(&store, id);
    let n_acknowledged = usize::try_from(last).unwrap() + 1;
    // The kill may come between recording a run and reporting it, once.
    assert!((n_acknowledged..=n_acknowledged + 1).contains(&survived.len()), "{}", survived.len());
    let expected: Vec<_> =
        (0..).map(|number| any_run(&suite, number)).take(survived.len()).collect();
    assert_eq!(survived, expected);

    let next = any_run(&suite, survived.len() as u64);
    record(&mut store, id, &next);
    assert_eq!(runs(&store, id).last(), Some(&next));
}
