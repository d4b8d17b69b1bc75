//! What every command prints for programs.

use std::collections::BTreeSet;
use std::process::Command;

use serde_json::{Value, json};

use crate::common::{POLLUTER, Project, VICTIM};

fn help(arguments: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_unflake"));
    let output = command.args(arguments).arg("--help").output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

/// The commands that have an option to print for programs.
fn commands_with_documents() -> BTreeSet<String> {
    let whole = help(&[]);
    let (_, listed) = whole.split_once("\nCommands:\n").unwrap();
    let (listed, _) = listed.split_once("\n\n").unwrap();
    let lines = listed.lines().filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    let names = lines.map(|line| line.split_whitespace().next().unwrap().to_owned());
    let has_json = |name: &String| {
        let help = help(&[name]);
        let starts = ["--json", "- json:"];
        help.lines().any(|line| starts.iter().any(|it| line.trim_start().starts_with(it)))
    };
    names.filter(has_json).collect()
}

/// The commands on one project, each document checked by [`crate::common::Ran::json`].
#[test]
fn every_command_that_prints_for_programs_prints_what_its_schema_says() {
    let project = Project::with(&[("test_fails.py", "def test_fails():\n    assert not 1\n")]);
    let aside = tempfile::tempdir().unwrap();
    let file = |name: &str| aside.path().join(name).to_str().unwrap().to_owned();
    let (xml, calls) = (file("report.xml"), file("calls.jsonl"));
    let written = "<testsuite><testcase classname=\"test_fails\" name=\"test_fails\">\
                   <failure message=\"m\">no</failure></testcase></testsuite>";
    std::fs::write(&xml, written).unwrap();

    let mut seen = BTreeSet::new();
    let mut ask = |arguments: &[&str]| -> Value {
        let document = project.run(&[arguments, &["--json"]].concat()).json();
        assert_eq!(document["command"], arguments[0]);
        seen.insert(arguments[0].to_owned());
        document
    };
    let found = ask(&["detect"]);
    let campaign = found["campaign"].as_str().unwrap().to_owned();
    ask(&["why", VICTIM]);
    ask(&["fix", VICTIM]);
    ask(&["shake", VICTIM, "--factors", "umask", "--runs", "20"]);
    ask(&["run"]);
    ask(&["study", "--batches", "2", "--runs-per-batch", "2", "--alone", "1"]);
    ask(&["triage", &xml, "--tries", "1", "--seeds", "1"]);
    ask(&["lint", "--dynamic"]);
    ask(&["trace", "--write", &calls]);
    ask(&["replay", &format!("{campaign}/0")]);
    ask(&["doctor"]);

    let mut ask_without_python = |arguments: &[&str]| {
        let document = project.run_command(project.command_without_python(arguments)).json();
        assert_eq!(document["command"], arguments[0]);
        seen.insert(arguments[0].to_owned());
    };
    ask_without_python(&["history", "--json"]);
    ask_without_python(&["history", VICTIM, "--json"]);
    ask_without_python(&["history", "--campaign", &campaign, "--json"]);
    ask_without_python(&["orders", "--tests", "3", "--format", "json"]);
    let lines = std::fs::read_to_string(&calls).unwrap();
    std::fs::write(&calls, lines.replacen("\"flaky\":false", "\"flaky\":true", 1)).unwrap();
    ask_without_python(&["learn", &calls, "--folds", "2", "--json"]);
    assert_eq!(seen, commands_with_documents());
}

#[test]
fn the_tests_of_a_list_are_one_document() {
    let project = Project::with(&[]);
    let run = json!({"order": [], "result": "PASS", "testRunId": "0"});
    let names = [VICTIM, POLLUTER, "test_well.py::test_gone"];
    let listed =
        names.map(|name| json!({"name": name, "intended": run, "revealed": run, "type": "OD"}));
    project.write("flaky-lists.json", &json!({"dts": listed}).to_string());
    let ran = project.run(&["why", "flaky-lists.json", "--depth", "kind", "--no-store", "--json"]);
    let document = ran.json();
    assert_eq!(ran.code(), Some(1), "{}", ran.stderr());
    assert_eq!(ran.verdict(VICTIM).as_deref(), Some("od-victim"), "{document}");
    assert_eq!(ran.verdict(POLLUTER).as_deref(), Some("not-flaky"), "{document}");
    assert_eq!(document["not_looked_into"], json!(["test_well.py::test_gone"]));
    assert!(ran.stderr().contains("note: test `test_well.py::test_gone`"), "{}", ran.stderr());
    let documents = document["documents"].as_array().unwrap();
    let about: Vec<&Value> = documents.iter().map(|it| &it["tests"]).collect();
    assert_eq!(about, [&json!([POLLUTER]), &json!([VICTIM])]);
}

#[test]
fn schemas_are_listed_and_printed() {
    let project = Project::empty();
    let said = |arguments: &[&str]| {
        let ran = project.run_command(project.command_without_python(arguments));
        (ran.code(), ran.stdout(), ran.stderr())
    };
    let (code, list, _) = said(&["schema"]);
    assert_eq!(code, Some(0));
    for line in list.lines() {
        let name = line.split_whitespace().next().unwrap();
        let (code, text, _) = said(&["schema", name]);
        let schema: Value = serde_json::from_str(&text).unwrap();
        assert_eq!((code, schema["$schema"].is_string()), (Some(0), true), "{name}");
    }
    let (_, by_command, _) = said(&["schema", "why"]);
    assert_eq!(by_command, said(&["schema", "findings"]).1);
    let (code, _, stderr) = said(&["schema", "nothing"]);
    assert_eq!(code, Some(2));
    assert!(stderr.contains("there is no schema `nothing`"), "{stderr}");
    assert!(stderr.contains("hint: there are findings, fix, "), "{stderr}");
}
