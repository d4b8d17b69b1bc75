//! Files of every version that ever existed can be read.
//!
//! A fixture is a file as text. To make the one of version `n`, while it is the current one: record
//! [`recorded`] into a file, `sqlite3 <file> .dump`, and append the two pragmas that `.dump` leaves
//! out, `application_id` and `user_version`.

use rusqlite::Connection;
use unflake_model::{Outcome, OutcomeKind, RunId, TestIndex, Verdict};
use unflake_store::{CampaignId, Conclusion, Store};

use crate::common::{FAILED, PASSED, any_run, campaign, record, run, runs, said, small_suite};

const N_RUNS: u64 = 12;

fn recorded(store: &mut Store) -> CampaignId {
    let suite = small_suite();
    let id = store.begin(&campaign(&suite, "detect")).unwrap();
    for number in 0..N_RUNS {
        record(store, id, &any_run(&suite, number));
    }
    let (experiment, observation) = run(N_RUNS, &[(3, FAILED), (1, Outcome::Error), (0, PASSED)]);
    let texts = [said(0, "assert größe == 1", "traceback"), said(1, "no fixture", "traceback")];
    store.record(id, &experiment, &observation, &texts).unwrap();
    let verdicts = [(TestIndex::new(3), Verdict::Ndoi)];
    let conclusion = Conclusion { ended: "complete", findings: "{}", verdicts: &verdicts };
    store.finish(id, &conclusion).unwrap();
    id
}

fn check(store: &Store, id: CampaignId) {
    let suite = small_suite();
    let mut expected: Vec<_> = (0..N_RUNS).map(|number| any_run(&suite, number)).collect();
    expected.push(run(N_RUNS, &[(3, FAILED), (1, Outcome::Error), (0, PASSED)]));
    assert_eq!(runs(store, id), expected);
    let back = store.suite(id).unwrap();
    assert!(suite.tests().all(|test| back.id(test) == suite.id(test)));
    let failures = store.failures_in(id, RunId(N_RUNS)).unwrap();
    assert_eq!(failures[0].message, "assert größe == 1");
    assert_eq!((failures[1].outcome, failures[1].text.as_str()), (OutcomeKind::Error, "traceback"));
    let summary = store.summary(id).unwrap();
    assert_eq!(summary.ended.as_deref(), Some("complete"));
    assert_eq!(summary.verdicts, [(Verdict::Ndoi, 1)]);
    assert_eq!(summary.commit.as_deref(), Some("0123abcd"));
}

#[test]
fn a_file_of_version_1_opens_and_goes_on() {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("history.sqlite");
    let dump = include_str!("fixtures/1.sql");
    Connection::open(&path).unwrap().execute_batch(dump).unwrap();
    let mut store = Store::open(&path).unwrap();
    let id = store.campaign("latest").unwrap();
    check(&store, id);
    let next = recorded(&mut store);
    check(&store, next);
    assert_eq!(store.campaigns(9).unwrap().len(), 2);
}

#[test]
fn a_file_of_the_current_version_says_the_same() {
    let mut store = Store::open_in_memory().unwrap();
    let id = recorded(&mut store);
    check(&store, id);
}
