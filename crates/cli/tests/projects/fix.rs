//! `unflake fix`: what it prints can be applied, helps, and harms nobody.

use std::io::Write as _;
use std::process::{Command, Stdio};

use crate::common::{Project, VICTIM, python};

/// How many tests pass and fail under plain pytest, in its own last words.
fn pytest(project: &Project, tests: &[&str]) -> String {
    let mut command = Command::new(python());
    command.args(["-m", "pytest", "-q", "-p", "no:cacheprovider"]).args(tests);
    command.current_dir(project.path()).env("PYTHONDONTWRITEBYTECODE", "1");
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let last = said.trim_end().lines().last().unwrap_or_default();
    last.split(" in ").next().unwrap_or_default().to_owned()
}

fn git_apply(project: &Project, patch: &str) {
    let git = |arguments: &[&str]| {
        let mut command = Command::new("git");
        command.args(arguments).current_dir(project.path()).stdin(Stdio::piped());
        command.spawn().unwrap()
    };
    assert!(git(&["init", "-q"]).wait().unwrap().success());
    let mut child = git(&["apply", "-"]);
    child.stdin.take().unwrap().write_all(patch.as_bytes()).unwrap();
    assert!(child.wait().unwrap().success(), "{patch}");
}

#[test]
fn the_polluter_is_repaired_by_a_patch_that_git_applies() {
    let project = Project::with(&[]);
    assert_eq!(pytest(&project, &[]), "1 failed, 1 passed");
    let ran = project.run(&["fix", VICTIM, "--no-store"]);
    assert_eq!(ran.code(), Some(0), "{}", ran.stderr());
    assert!(ran.stderr().contains("the polluter puts back `state.x`"), "{}", ran.stderr());
    git_apply(&project, &ran.stdout());
    assert_eq!(pytest(&project, &[]), "2 passed");
}

#[test]
fn a_change_can_be_made_at_once() {
    let project = Project::with(&[]);
    let output = project.command(&["fix", VICTIM, "--no-store", "--apply"]).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.stdout, b"");
    assert_eq!(pytest(&project, &[]), "2 passed");
}

#[test]
fn a_change_that_would_break_another_test_is_not_shown() {
    // To put the state back where it is changed would repair one test and break the other.
    let relies = "import state\ndef test_relies_on_it():\n    assert state.x == 1\n";
    let project = Project::with(&[("test_with.py", relies)]);
    let ran = project.run(&["fix", VICTIM, "--no-store", "--json"]);
    assert_eq!(ran.code(), Some(0), "{}", ran.stderr());
    let answer = ran.json();
    let rejected = answer["rejected"].as_array().unwrap();
    let reset = rejected.iter().find(|it| it["title"] == "the polluter puts back `state.x`");
    assert_eq!(reset.unwrap()["why"], "`test_with.py::test_relies_on_it` then fails");
    let patch = &answer["patches"][0];
    assert_eq!((&patch["how"], &patch["safe"]), (&"set-before-target".into(), &false.into()));
    git_apply(&project, patch["diff"].as_str().unwrap());
    assert_eq!(pytest(&project, &[]), "3 passed");
}

#[test]
fn a_budget_that_ends_before_anything_is_known_is_not_taken_for_a_test_that_is_not_flaky() {
    let project = Project::with(&[]);
    let ran = project.run(&["fix", VICTIM, "--no-store", "--runs", "1"]);
    assert_eq!(ran.code(), Some(4), "{}", ran.stderr());
    assert!(ran.stderr().contains("it ended before a change was found"), "{}", ran.stderr());
    let ran = project.run(&["fix", VICTIM, "--no-store", "--runs", "1", "--json"]);
    assert_eq!((ran.code(), &ran.json()["cut_short"]), (Some(4), &true.into()));
}

#[test]
fn a_brittle_gets_what_it_needs() {
    let tests = "import state\n\n\ndef test_setter():\n    state.y = [1, 2]\n\n\n\
                 def test_brittle():\n    assert state.y[1] == 2\n";
    let project = Project::with(&[("state.py", "x = 0\ny = []\n"), ("test_b.py", tests)]);
    let brittle = "test_b.py::test_brittle";
    let ran = project.run(&["fix", brittle, "--no-store"]);
    assert_eq!(ran.code(), Some(0), "{}", ran.stderr());
    git_apply(&project, &ran.stdout());
    assert_eq!(pytest(&project, &[brittle]), "1 passed");
}

#[test]
fn what_cannot_be_repaired_has_a_reason() {
    let thread = "import threading\nEVER = threading.Event()\n\
                  def test_starts():\n    threading.Thread(target=EVER.wait, daemon=True).start()\n\
                  def test_counts():\n    assert threading.active_count() == 1\n";
    let project = Project::with(&[("test_thread.py", thread)]);
    let ran = project.run(&["fix", "test_thread.py::test_counts", "--no-store"]);
    assert_eq!((ran.code(), ran.stdout()), (Some(1), String::new()), "{}", ran.stderr());
    assert!(ran.stderr().contains("no change was found that helps"), "{}", ran.stderr());
    assert!(ran.stderr().contains("the state they share is not known"), "{}", ran.stderr());
    let ran = project.run(&["fix", "test_well.py::test_polluter", "--no-store"]);
    assert_eq!(ran.code(), Some(1), "{}", ran.stderr());
    assert!(ran.stderr().contains("not flaky as far as was seen"), "{}", ran.stderr());
}

#[test]
fn a_change_that_could_not_be_tried_is_not_said_to_be_of_no_help() {
    let project = Project::with(&[]);
    let text =
        b"# coding: latin-1\nimport state\n\ndef test_polluter():\n    state.x = 1  # \xe9\n\n\
        def test_victim():\n    assert state.x == 0\n";
    std::fs::write(project.path().join("test_well.py"), text).unwrap();
    let ran = project.run(&["fix", VICTIM, "--no-store", "--json"]);
    let answer = ran.json();
    assert_eq!(answer["patches"], serde_json::json!([]), "{answer}");
    assert_eq!(answer["rejected"], serde_json::json!([]), "{answer}");
    let untried = answer["not_tried"].as_array().unwrap();
    assert!(!untried.is_empty(), "{answer}");
    let why = untried[0]["why"].as_str().unwrap();
    assert!(why.contains("not UTF-8"), "{answer}");
    assert_eq!(ran.code(), Some(4), "whether it helps is not known");
}
