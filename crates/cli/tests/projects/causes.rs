//! One test for each root cause of the literature: its factor is found, its cause named, and the
//! failure shown again by the commands that are printed.
//!
//! Each is looked for among its own factor and five that have nothing to do with it, for at most
//! [`RUNS_MAX`] runs. The faults are planted such that a seed decides whether they show, and never
//! chance; so are seeds.

use std::process::Command;

use serde_json::Value;

use crate::common::Project;
use crate::fixtures::fixture;

/// The budget of each test.
const RUNS_MAX: &str = "120";
const DECOYS: &str = "umask,columns,time-zone,listings,recursion";

/// Shakes a test of the club; the one factor that was found.
fn shaken(project: &Project, test: &str, factors: &str) -> Value {
    let id = format!("test_club.py::{test}");
    let options = ["shake", &id, "--json", "--rate", "0.3", "--runs", RUNS_MAX];
    let ran = project.run(&[&options[..], &["--factors", factors]].concat());
    assert_eq!(ran.code(), Some(1), "{}", ran.stderr());
    let report = ran.json();
    let found = report["factors"].as_array().unwrap();
    assert_eq!(found.len(), 1, "{report:#}");
    found[0].clone()
}

/// Whether `unflake replay` of the run that is named ends as it did, twice.
fn is_replayed(project: &Project, found: &Value) {
    let run = found["run"].as_str().unwrap();
    let ran = project.run(&["replay", run, "--times", "2", "--json"]);
    assert_eq!(ran.json()["as_recorded"], 2, "{}", ran.stderr());
}

/// Whether the plain command that is named fails when it is pasted.
fn is_shown_plainly(project: &Project, found: &Value) {
    let command = found["plain"]["command"].as_str().unwrap();
    let output = Command::new("sh")
        .args(["-c", command])
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env("PYTEST_ADDOPTS", "-p no:cacheprovider")
        .current_dir(project.path())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let fails = found["makes_it"] == "fail";
    assert_eq!(output.status.code(), Some(i32::from(fails)), "{command}\n{said}");
}

fn is_found(test: &str, factor: &str, cause: &str) -> (Project, Value) {
    let project = fixture("causes");
    let found = shaken(&project, test, &format!("{factor},{DECOYS}"));
    assert_eq!(found["factors"], serde_json::json!([factor]), "{found:#}");
    assert_eq!(found["cause"], cause, "{found:#}");
    assert!(found["p_value"].as_f64().unwrap() < 0.01);
    is_replayed(&project, &found);
    (project, found)
}

#[test]
fn async_wait() {
    is_found("test_async_wait", "waits", "async-wait");
}

#[test]
fn concurrency() {
    is_found("test_concurrency", "switches", "concurrency");
}

#[test]
fn network() {
    is_found("test_network", "network", "network");
}

#[test]
fn resource_leak() {
    let (project, found) = is_found("test_resource_leak", "descriptors", "resource-leak");
    assert_eq!(found["decided_by"], "nothing");
    is_shown_plainly(&project, &found);
}

#[test]
fn randomness() {
    let (_, found) = is_found("test_randomness", "random", "randomness");
    assert_eq!(found["decided_by"], "seed");
}

#[test]
fn input_and_output() {
    is_found("test_io", "disk", "io");
}

#[test]
fn time() {
    is_found("test_time", "clock", "time");
}

#[test]
fn floating_point() {
    let (project, found) = is_found("test_floating_point", "hash-seed", "floating-point");
    is_shown_plainly(&project, &found);
}

#[test]
fn unordered_collection() {
    let (project, found) =
        is_found("test_unordered_collection", "hash-seed", "unordered-collection");
    assert_eq!(found["verdict"], "id");
    is_shown_plainly(&project, &found);
}

#[test]
fn order_dependency_is_for_why_to_find() {
    let project = fixture("causes");
    let ran = project.run(&["why", "test_club.py::test_order_dependency", "--json", "--no-store"]);
    let finding = &ran.json()["findings"][0];
    assert_eq!(finding["verdict"], "od-victim");
    let polluters = serde_json::json!([["test_club.py::test_rules_can_be_changed"]]);
    assert_eq!(finding["polluters"], polluters);
}

#[test]
fn a_test_that_does_not_care_is_bounded() {
    let project = fixture("causes");
    let id = "test_club.py::test_of_nothing_in_particular";
    let options = ["shake", id, "--json", "--no-store", "--rate", "0.5", "--factors", DECOYS];
    let ran = project.run(&options);
    assert_eq!(ran.code(), Some(0), "{}", ran.stderr());
    let report = ran.json();
    assert_eq!(report["factors"], serde_json::json!([]));
    for quiet in report["quiet"].as_array().unwrap() {
        assert!(quiet["rate_at_most"].as_f64().unwrap() < 0.5, "{quiet}");
    }
}
