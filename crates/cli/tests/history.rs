//! `unflake history`, `unflake replay` and `unflake run`, one after the other as a user goes.

#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "the whole program is run as a user runs it, and what cannot be read is a fault"
)]

mod document;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::{Value, json};

use document::document;

const VICTIM: &str = "test_a.py::test_victim";
const POLLUTER: &str = "test_a.py::test_polluter";

/// A project whose victim stands before its polluter, and its history.
struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("project")).unwrap();
        let place = Self { folder };
        place.write("state.py", "x = 0\n");
        place.write(
            "test_a.py",
            "import state\n\n\
             def test_victim():\n    assert state.x == 0\n\n\
             def test_polluter():\n    state.x = 1\n\n\
             def test_other():\n    pass\n",
        );
        place
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path().join("project").join(name), text).unwrap();
    }

    fn run(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_unflake"));
        command.args(arguments).current_dir(self.path().join("project"));
        command.env("UNFLAKE_STORE", self.path().join("history.sqlite")).output().unwrap()
    }

    /// The same for commands that run tests.
    fn run_tests(&self, arguments: &[&str]) -> Output {
        let python = std::env::var("UNFLAKE_TEST_PYTHON").unwrap_or_else(|_| "python3".to_owned());
        self.run(&[arguments, &["--python", &python]].concat())
    }
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

#[test]
fn what_was_found_is_listed_shown_again_and_told_of_each_test() {
    let place = Place::new();
    let none = place.run(&["history"]);
    assert_eq!(
        (none.status.code(), stdout(&none).as_str()),
        (Some(0), "No campaign is on record.\n")
    );
    assert!(!place.path().join("history.sqlite").exists(), "asking makes no history");
    let found = place.run_tests(&["why", VICTIM, "--json"]);
    let found = document(&found);
    let name = found["campaign"].as_str().unwrap();

    let list = document(&place.run(&["history", "--json"]));
    assert_eq!(list["schema"], 1);
    let row = &list["campaigns"][0];
    assert_eq!(row["campaign"], name);
    assert_eq!(row["question"], format!("why {VICTIM}"));
    assert_eq!(row["verdicts"], json!({"od-victim": 1}));
    assert_eq!(row["ended"], "confident");
    assert_eq!(row["runs"], found["summary"]["cost"]["runs"]);
    let text = stdout(&place.run(&["history"]));
    assert!(
        text.contains(name) && text.contains("1 test: fails after another test (od-victim)"),
        "{text}"
    );

    let mut again = document(&place.run(&["history", "--campaign", name, "--json"]));
    assert_eq!(again["command"].take(), "history");
    again["command"] = "why".into();
    assert_eq!(again, found, "shown again as it was");
    let text = stdout(&place.run(&["history", "--campaign", "latest"]));
    assert!(
        text.starts_with(&format!("{VICTIM}\nfails after another test (od-victim)\n")),
        "{text}"
    );
    let table = stdout(&place.run(&["history", "--campaign", name, "--format", "table"]));
    assert!(table.contains("1 polluter"), "{table}");

    let past = document(&place.run(&["history", VICTIM, "--json"]));
    assert_eq!(past["records"][0]["verdict"], "od-victim");
    assert_eq!(
        past["records"][0]["failure_rate"]["runs"],
        found["findings"][0]["failure_rate"]["runs"]
    );
    let message = past["failures"][0]["message"].as_str().unwrap();
    assert!(message.contains("assert 1 == 0"), "{message}");
    assert!(past["failures"][0]["run"].as_str().unwrap().starts_with(name));
    let text = stdout(&place.run(&["history", VICTIM]));
    assert!(text.contains("assert 1 == 0\n  in "), "{text}");
}

#[test]
fn where_no_tests_are_collected_no_history_is_made_and_one_there_is_stays_as_it_was() {
    let place = Place::new();
    let files = || -> Vec<(PathBuf, Vec<u8>)> {
        let names = std::fs::read_dir(place.path()).unwrap().map(|entry| entry.unwrap().path());
        let mut names: Vec<PathBuf> = names.filter(|path| path.is_file()).collect();
        names.sort();
        names.into_iter().map(|path| (path.clone(), std::fs::read(path).unwrap())).collect()
    };
    let commands = [&["detect"][..], &["why", VICTIM], &["shake", VICTIM], &["run"], &["study"]];
    let change_nothing = || {
        let before = files();
        for arguments in commands {
            let output = place.run_tests(arguments);
            assert_eq!(output.status.code(), Some(3), "{arguments:?}: {}", stderr(&output));
            assert!(files() == before, "{arguments:?} changed the history");
        }
    };
    place.write("conftest.py", "1 / 0\n");
    change_nothing();
    assert_eq!(files(), [], "there was none");
    place.write("conftest.py", "");
    place.run_tests(&["why", "test_a.py::test_nowhere"]);
    assert_eq!(files(), [], "that one is not collected");
    place.run_tests(&["run"]);
    assert!(!files().is_empty());
    place.write("conftest.py", "1 / 0\n");
    change_nothing();
}

#[test]
fn what_is_not_in_the_history_is_named() {
    let place = Place::new();
    place.run_tests(&["run"]);
    for (arguments, said) in [
        (&["history", "test_victim"][..], "did you mean test_a.py::test_victim?"),
        (&["history", "--campaign", "ffffffffffffffff"], "no campaign is called"),
        (&["history", "--campaign", "latest"], "only ran the tests once"),
        (&["history", "--prune"], "it is not said what to forget"),
        (&["replay", "7"], "has no run 7"),
        (&["replay", "x/y"], "`x/y` names no run"),
        (&["replay", "0", "--times", "0"], "`0` times is never"),
    ] {
        let output = place.run(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", stderr(&output));
        assert!(stderr(&output).contains(said), "{arguments:?}: {}", stderr(&output));
    }
}

#[test]
fn old_campaigns_are_forgotten_on_demand() {
    let place = Place::new();
    for _ in 0..3 {
        place.run_tests(&["run"]);
    }
    let n_campaigns =
        || document(&place.run(&["history", "--json"]))["campaigns"].as_array().unwrap().len();
    assert_eq!(n_campaigns(), 3);
    let pruned = place.run(&["history", "--prune", "--older-than", "1d"]);
    assert_eq!(stdout(&pruned), "forgot 0 campaigns\n");
    let pruned = place.run(&["history", "--prune", "--keep", "1"]);
    assert_eq!(stdout(&pruned), "forgot 2 campaigns\n");
    assert_eq!(n_campaigns(), 1);
}

#[test]
fn a_run_is_replayed_as_it_was_and_differs_once_the_code_does() {
    let place = Place::new();
    let found = document(&place.run_tests(&["why", VICTIM, "--json"]));
    let failed_in = found["findings"][0]["evidence"]["failed_in"].as_str().unwrap();
    let passed_in = found["findings"][0]["evidence"]["passed_in"].as_str().unwrap();
    for run in [failed_in, passed_in] {
        for more in [&["--times", "2"][..], &["--plain"]] {
            let output = place.run(&[&["replay", run, "--json"], more].concat());
            assert_eq!(
                output.status.code(),
                Some(0),
                "{run}: {}{}",
                stdout(&output),
                stderr(&output)
            );
            assert_eq!(document(&output)["differences"], json!([]));
        }
    }
    let text = stdout(&place.run(&["replay", failed_in]));
    assert!(text.contains("Ended as on record.") && text.contains("-m pytest"), "{text}");

    place.write("state.py", "x = 0\n\ndef __setattr__(name, value):\n    pass\n");
    place.write("test_a.py", "def test_victim():\n    pass\n\ndef test_polluter():\n    pass\n\ndef test_other():\n    pass\n");
    let output = place.run(&["replay", failed_in, "--json"]);
    assert_eq!(output.status.code(), Some(1));
    let difference = &document(&output)["differences"][0];
    assert_eq!((&difference["test"], &difference["now"]), (&json!(VICTIM), &json!("passed")));

    place.write("test_a.py", "def test_polluter():\n    pass\n");
    let output = place.run(&["replay", failed_in]);
    assert_eq!(output.status.code(), Some(3));
    assert!(stderr(&output).contains("is not collected any more"), "{}", stderr(&output));
}

#[test]
fn a_single_run_says_what_is_known_about_the_tests_that_fail() {
    let place = Place::new();
    let fine = place.run_tests(&["run", "--json"]);
    assert_eq!(fine.status.code(), Some(0), "{}", stderr(&fine));
    assert_eq!(document(&fine)["failed"], 0);

    let unknown =
        document(&place.run_tests(&["run", "--order", "reverse", "--json", "--no-store"]));
    assert_eq!(unknown["failures"][0]["known"], Value::Null);
    place.run_tests(&["why", VICTIM]);

    let failed = place.run_tests(&["run", "--order", "reverse", "--json"]);
    assert_eq!(failed.status.code(), Some(1));
    let failed = document(&failed);
    let failure = &failed["failures"][0];
    assert_eq!((failed["failed"].clone(), failure["test"].clone()), (json!(1), json!(VICTIM)));
    assert_eq!(failure["known"]["verdict"], "od-victim");
    assert_eq!(failure["known"]["polluters_before"], json!([[POLLUTER]]));
    let text = stdout(&place.run_tests(&["run", "--order", "reverse"]));
    assert!(text.starts_with("1 of 3 tests failed, in reverse order"), "{text}");
    assert!(text.contains(&format!("polluter       {POLLUTER}\n")), "{text}");
    assert!(text.ends_with(&format!("next           unflake fix {VICTIM}\n")), "{text}");
    let quiet = stdout(&place.run_tests(&["run", "--order", "reverse", "-q"]));
    assert!(quiet.contains(VICTIM) && !quiet.contains("next"), "{quiet}");

    let xml = stdout(&place.run_tests(&["run", "--order", "reverse", "--format", "junit"]));
    assert_eq!(xml.matches("<testcase").count(), 3, "{xml}");
    assert_eq!(xml.matches("<failure").count(), 1, "{xml}");
    place.write("test_a.py", "import no_such_module\n");
    assert_eq!(place.run_tests(&["run"]).status.code(), Some(3));
}

#[test]
fn the_same_seed_is_the_same_random_order_and_a_crash_costs_no_other_test() {
    let place = Place::new();
    place.write(
        "test_b.py",
        "import os\n\ndef test_dies():\n    os._exit(3)\n\ndef test_after():\n    pass\n",
    );
    let arguments = ["run", "--order", "random", "--seed", "5", "--json"];
    let first = document(&place.run_tests(&arguments));
    assert_eq!((&first["not_run"], &first["tests"]), (&json!(0), &json!(5)));
    let tests = |report: &Value| -> Vec<Value> {
        report["failures"].as_array().unwrap().iter().map(|it| it["test"].clone()).collect()
    };
    assert!(tests(&first).contains(&json!("test_b.py::test_dies")), "{first}");
    assert_eq!(tests(&document(&place.run_tests(&arguments))), tests(&first));
}
