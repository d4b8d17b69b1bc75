//! `unflake study` and `unflake triage` on real projects, with the real runner.

#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "the whole program is run as a user runs it, and what cannot be read is a fault"
)]

mod document;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

use document::document;

fn shop() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/shop")
}

/// An interpreter that has pytest; `cargo xtask ci` makes one.
fn python() -> std::ffi::OsString {
    std::env::var_os("UNFLAKE_TEST_PYTHON").unwrap_or_else(|| "python3".into())
}

fn unflake(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_unflake"))
        .args(arguments)
        .arg("--python")
        .arg(python())
        .current_dir(folder)
        .output()
        .unwrap()
}

fn flaky<'a>(study: &'a Value, test: &str) -> Option<&'a Value> {
    study["flaky"].as_array().unwrap().iter().find(|row| row["id"].as_str().unwrap().contains(test))
}

#[test]
fn a_study_of_the_shop_has_the_tables_of_the_published_one() {
    let state = tempfile::tempdir().unwrap();
    let store = state.path().join("history.sqlite");
    let store = store.to_str().unwrap();
    let options = ["study", "--batches", "6", "--runs-per-batch", "4", "--alone", "10", "--json"];
    let study = |more: &[&str]| {
        let output = unflake(&shop(), &[&options[..], more, &["--store", store]].concat());
        assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stderr));
        document(&output)
    };
    let whole = study(&[]);
    assert_eq!(
        (&whole["complete"], &whole["runs"], &whole["orders"]),
        (&true.into(), &24.into(), &6.into())
    );
    let victim = flaky(&whole, "test_price_is_shown_in_euro").expect("orders differ");
    assert_eq!(victim["verdict"], "od-victim");
    assert_eq!(victim["alone"]["failures"], 0);
    assert_eq!(victim["see_pass"]["place"], "alone");
    assert_eq!(victim["orders"].as_array().unwrap().len(), 6);
    let suite = &whole["suite"];
    let failed = suite["failed"]["failures"].as_u64().unwrap();
    let (least, most) = (suite["failed_at_least"].as_u64(), suite["failed_at_most"].as_u64());
    assert!((least.unwrap()..=most.unwrap()).contains(&failed), "{suite}");
    // The order that is advised can be had: the victim ends there as on record.
    assert_eq!(victim["see_failure"]["place"], "order");
    let run = victim["see_failure"]["replay"].as_str().unwrap();
    let replay = unflake(&shop(), &["replay", run, "--json", "--store", store]);
    let replay = document(&replay);
    assert_eq!(replay["tests"], whole["tests"], "{replay}");
    let differs = |it: &Value| it["test"].as_str().unwrap().contains("test_price_is_shown_in_euro");
    assert!(!replay["differences"].as_array().unwrap().iter().any(differs), "{replay}");
}

#[test]
fn a_study_that_was_cut_off_recalls_its_runs() {
    let state = tempfile::tempdir().unwrap();
    let store = state.path().join("history.sqlite");
    let project = tempfile::tempdir().unwrap();
    fs::write(project.path().join("test_a.py"), TWO).unwrap();
    let study = |more: &[&str]| {
        let options = ["study", "--batches", "3", "--runs-per-batch", "5", "--jobs", "1", "--json"];
        let store = ["--store", store.to_str().unwrap()];
        document(&unflake(project.path(), &[&options[..], &store, more].concat()))
    };
    let first = study(&["--runs", "6"]);
    assert_eq!((&first["complete"], &first["runs"]), (&false.into(), &6.into()));
    let second = study(&[]);
    assert_eq!((&second["complete"], &second["runs"]), (&true.into(), &15.into()));
    assert_eq!(second["runs_recalled"], 6);
}

/// Each test writes its name into a file beside it.
const COUNTED: &str = "\
import pathlib, pytest

@pytest.mark.parametrize('name', ['one', 'two'])
def test(name):
    with open(pathlib.Path(__file__).parent / 'ran', 'a') as file:
        file.write(name + '\\n')
    assert name == 'one'
";

#[test]
fn the_run_in_which_tests_are_traced_counts_as_the_first() {
    let project = tempfile::tempdir().unwrap();
    fs::write(project.path().join("test_a.py"), COUNTED).unwrap();
    let options = ["detect", "--reruns", "--json", "--no-store", "--isolation", "none"];
    let found = document(&unflake(project.path(), &[&options[..], &["--runs", "1"]].concat()));
    let ran = fs::read_to_string(project.path().join("ran")).unwrap();
    assert_eq!(ran, "one\ntwo\n", "{found}");
    let cost = &found["summary"]["cost"];
    assert_eq!((&cost["runs"], &cost["attempts"]), (&1.into(), &2.into()), "{found}");
}

const TWO: &str = "\
def test_one():
    pass

def test_two():
    pass
";

const BROKEN: &str = "\
import random
import state

def test_polluter():
    state.x = 1

def test_victim():
    assert state.x == 0

def test_broken():
    assert 1 + 1 == 3

def test_random():
    assert random.random() < 0.5

def test_by_hash():
    assert hash('a') % 2 == 0

def test_fine():
    pass
";

/// As pytest would have written it on an unlucky day.
const REPORT: &str = r#"<testsuites><testsuite name="pytest">
<testcase classname="test_a" name="test_polluter"/>
<testcase classname="test_a" name="test_victim"><failure message="m">E   assert 1 == 0</failure></testcase>
<testcase classname="test_a" name="test_broken"><failure message="m">E   assert 2 == 3</failure></testcase>
<testcase classname="test_a" name="test_random"><failure message="m">E   assert 0.7</failure></testcase>
<testcase classname="test_a" name="test_by_hash"><failure message="m">E   assert 1 == 0</failure></testcase>
<testcase classname="test_a" name="test_fine"><failure message="m">E   lost</failure></testcase>
<testcase classname="gone" name="test_gone"><failure message="m"/></testcase>
</testsuite></testsuites>"#;

#[test]
fn triage_tells_broken_tests_from_each_kind_of_flaky_one() {
    let project = tempfile::tempdir().unwrap();
    for (name, text) in [("state.py", "x = 0\n"), ("test_a.py", BROKEN), ("r.xml", REPORT)] {
        fs::write(project.path().join(name), text).unwrap();
    }
    // Sixteen coins that all fall alike: one time in 30,000.
    let output = unflake(project.path(), &["triage", "r.xml", "--tries", "8", "--json"]);
    let found = document(&output);
    let verdict = |test: &str| {
        let rows = found["failed"].as_array().unwrap();
        let row = rows.iter().find(|row| row["id"].as_str().unwrap().ends_with(test)).unwrap();
        (row["verdict"].as_str().unwrap(), row["flaky"].as_bool().unwrap())
    };
    assert_eq!(verdict("test_victim"), ("od-victim", true));
    assert_eq!(verdict("test_broken"), ("always-failing", false));
    assert_eq!(verdict("test_random"), ("nod", true));
    assert_eq!(verdict("test_by_hash"), ("id", true), "seeds 1 to 4 have both");
    assert_eq!(verdict("test_fine"), ("ud", true));
    assert_eq!(found["unknown"].as_array().unwrap().len(), 1);
    assert_eq!(output.status.code(), Some(1), "one is broken");
}

#[test]
fn a_report_without_failures_is_a_success_and_no_report_is_bad_input() {
    let project = tempfile::tempdir().unwrap();
    let green = r#"<testsuite><testcase classname="test_a" name="test_fine"/></testsuite>"#;
    for (name, text) in
        [("test_a.py", "def test_fine():\n    pass\n"), ("green.xml", green), ("bad.xml", "<a><")]
    {
        fs::write(project.path().join(name), text).unwrap();
    }
    let code = |report: &str| unflake(project.path(), &["triage", report]).status.code();
    assert_eq!(code("green.xml"), Some(0));
    assert_eq!(code("bad.xml"), Some(2));
    assert_eq!(code("missing.xml"), Some(2));
}
