//! A project whose runner is a command, from `unflake.toml` to the exit code.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests are outside of test functions, where clippy.toml allows it"
)]

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Output};

use serde_json::Value;
use tempfile::TempDir;

/// A runner of six tests, of which `cart::victim` fails behind `store::polluter`.
const RUNNER: &str = r#"#!/bin/sh
tests="cart::total cart::victim cart::tax store::polluter store::open store::shut"
if [ "$1" = --list ]; then printf '%s\n' $tests; exit; fi
report=$2; shift 2
rate=1 code=0
{
  echo "<testsuite>"
  for test; do
    echo "<testcase classname='${test%%::*}' name='${test##*::}'>"
    [ "$test" = store::polluter ] && rate=2
    if [ "$test" = cart::victim ] && [ $rate != 1 ]; then
      echo "<failure message='rate is 2, not 1'/>"; code=1
    fi
    echo "</testcase>"
    [ "$test" = "$TWICE" ] && echo "<testcase classname='cart' name='tax'/>"
  done
  echo "</testsuite>"
} > "$report"
exit $code
"#;

/// As the documents have it.
const SETTINGS: &str = r#"[runner]
kind = "command"
list = ["./t", "--list"]                          # prints one test id a line
run = ["./t", "--junit", "{report}", "{tests}"]   # {tests}: one argument each; {list}: a file, an id a line
report = "junit"                                  # or "tap", "ctrf", "exit" (one test per process, by exit code)
"#;

fn project(settings: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let runner = folder.path().join("t");
    fs::write(&runner, RUNNER).unwrap();
    fs::set_permissions(&runner, fs::Permissions::from_mode(0o755)).unwrap();
    fs::write(folder.path().join("unflake.toml"), settings).unwrap();
    folder
}

#[expect(
    clippy::disallowed_methods,
    reason = "the binary is what is tested, and a process is the only way to it"
)]
fn unflake(folder: &TempDir, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_unflake"));
    command.args(args).current_dir(folder.path());
    command.env("UNFLAKE_STORE", folder.path().join(".unflake/history.sqlite"));
    command.output().unwrap()
}

fn text(output: &Output) -> String {
    let both = [&*output.stdout, &*output.stderr].concat();
    String::from_utf8_lossy(&both).into_owned()
}

/// Without the line breaks of a narrow page.
fn in_a_row(output: &Output) -> String {
    text(output).split_whitespace().collect::<Vec<_>>().join(" ")
}

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", text(output)))
}

#[test]
fn a_victim_and_its_polluter_are_found_and_told_by_every_command() {
    let folder = project(SETTINGS);
    let doctor = unflake(&folder, &["doctor"]);
    assert_eq!(doctor.status.code(), Some(0), "{}", text(&doctor));
    assert!(text(&doctor).contains("6 tests collected"), "{}", text(&doctor));

    let detected = unflake(&folder, &["detect", "--json", "--flake-rate", "0.3"]);
    assert_eq!(detected.status.code(), Some(1), "{}", text(&detected));
    let found = json(&detected).to_string();
    assert!(found.contains("cart::victim") && found.contains("store::polluter"), "{found}");
    assert!(found.contains("od-victim"), "{found}");

    let why = unflake(&folder, &["why", "cart::victim"]);
    assert_eq!(why.status.code(), Some(1), "{}", text(&why));
    let said = text(&why);
    assert!(said.contains("polluter       store::polluter"), "{said}");
    assert!(said.contains("./t --junit /tmp/report.xml store::polluter cart::victim"), "{said}");

    let run = unflake(&folder, &["run", "--order", "reverse", "--json"]);
    assert_eq!(run.status.code(), Some(1), "{}", text(&run));
    assert!(text(&run).contains("cart::victim"), "{}", text(&run));

    let history = text(&unflake(&folder, &["history"]));
    let campaign = history.split_whitespace().next().unwrap();
    // What was settled for a run is on record with it.
    fs::remove_file(folder.path().join("unflake.toml")).unwrap();
    for by in [&["--plain"][..], &[]] {
        let run = format!("{campaign}/0");
        let replayed = unflake(&folder, &[&["replay", run.as_str()][..], by].concat());
        assert_eq!(replayed.status.code(), Some(0), "{}", text(&replayed));
        assert!(text(&replayed).contains("Ended as on record."), "{}", text(&replayed));
    }
}

#[test]
fn values_of_variables_are_not_in_the_history_and_a_replay_takes_those_of_its_day() {
    let with = |token: &str| format!("{SETTINGS}env = [\"DB_TOKEN={token}\", \"MODE=fast\"]\n");
    let folder = project(&with("hunter2-a"));
    let detected = unflake(&folder, &["detect", "--flake-rate", "0.3"]);
    assert_eq!(detected.status.code(), Some(1), "{}", text(&detected));
    let history = text(&unflake(&folder, &["history"]));
    let campaign = history.split_whitespace().next().unwrap();
    let why = unflake(&folder, &["why", "cart::victim"]);
    let said = in_a_row(&why);
    assert!(said.contains("DB_TOKEN=\"$DB_TOKEN\" MODE=fast ./t --junit"), "{said}");
    for file in fs::read_dir(folder.path().join(".unflake")).unwrap() {
        let bytes = fs::read(file.unwrap().path()).unwrap();
        assert!(!bytes.windows(9).any(|it| it == b"hunter2-a"), "the token is kept");
    }

    let run = format!("{campaign}/0");
    let replay = || unflake(&folder, &["replay", &run]);
    let again = replay();
    assert_eq!(again.status.code(), Some(0), "{}", text(&again));
    assert!(!in_a_row(&again).contains("is not what it was"), "{}", text(&again));
    fs::write(folder.path().join("unflake.toml"), with("hunter2-b")).unwrap();
    let said = in_a_row(&replay());
    assert!(said.contains("`DB_TOKEN` of `env` is not what it was"), "{said}");
    fs::remove_file(folder.path().join("unflake.toml")).unwrap();
    let said = in_a_row(&replay());
    assert!(said.contains("the value that `DB_TOKEN` had in the run is not kept"), "{said}");
}

#[test]
fn what_stands_between_class_and_name_is_heeded_where_tests_are_written_as_junit() {
    let written = |more: &str| {
        let folder = project(&format!("{SETTINGS}{more}\n"));
        fs::write(folder.path().join("t"), RUNNER.replace("::", "@")).unwrap();
        text(&unflake(&folder, &["run", "--format", "junit"]))
    };
    for more in ["id = \"{classname}@{name}\"", "id = \"{classname}@{name}\"\nclass = \"@\""] {
        let xml = written(more);
        assert!(xml.contains("<testcase classname=\"cart\" name=\"total\""), "{xml}");
    }
}

#[test]
fn init_keeps_what_is_said_of_the_runner() {
    let folder = project(&format!("jobs = 1\n{SETTINGS}"));
    let said = text(&unflake(&folder, &["init", "--force"]));
    assert!(said.contains("6 tests"), "{said}");
    let written = fs::read_to_string(folder.path().join("unflake.toml")).unwrap();
    assert!(written.contains(SETTINGS.trim_end()), "{written}");
    let doctor = text(&unflake(&folder, &["doctor"]));
    assert!(doctor.contains("6 tests collected"), "{doctor}");

    let dotted = "runner.kind = \"command\"\n";
    fs::write(folder.path().join("unflake.toml"), dotted).unwrap();
    let refused = unflake(&folder, &["init", "--force"]);
    assert_eq!(refused.status.code(), Some(2), "{}", text(&refused));
    assert!(in_a_row(&refused).contains("is no table of its own"), "{}", text(&refused));
    assert_eq!(fs::read_to_string(folder.path().join("unflake.toml")).unwrap(), dotted);
}

#[test]
fn a_test_that_a_report_does_not_name_or_names_twice_is_an_error_said_as_such() {
    let pattern = format!("{SETTINGS}id = \"{{classname}}#{{name}}\"\n");
    let twice = format!("{SETTINGS}env = [\"TWICE=cart::tax\"]\n");
    for (settings, said) in [
        (pattern, "no run can be made: the report does not name `"),
        (twice, "no run can be made: the report names `cart::tax` twice"),
    ] {
        let folder = project(&settings);
        let ran = unflake(&folder, &["run"]);
        assert_eq!(ran.status.code(), Some(3), "{}", text(&ran));
        assert!(in_a_row(&ran).contains(said), "{}", text(&ran));
        let detected = unflake(&folder, &["detect"]);
        assert_eq!(detected.status.code(), Some(4), "{}", text(&detected));
        assert!(in_a_row(&detected).contains(said), "{}", text(&detected));
    }
}

#[test]
fn settings_that_make_no_sense_are_refused_with_advice() {
    for (settings, said) in [
        ("[runner]\nkind = \"command\"\nrun = [\"./t\"]\n", "`list` of the runner is missing"),
        ("[runner]\nkind = \"comand\"\nlist = [\"./t\"]\n", "`run` of the runner is missing"),
        ("[runner]\nrepeats = 1\n", "`repeats` must be true or false, not `1`"),
        ("[runner]\nlost = 1\n", "nobody knows the key `lost`; there are kind, list, run"),
    ] {
        let folder = project(settings);
        let detected = unflake(&folder, &["detect"]);
        assert!(text(&detected).contains(said.split("; ").next().unwrap()), "{}", text(&detected));
        assert_ne!(detected.status.code(), Some(0));
    }
}
