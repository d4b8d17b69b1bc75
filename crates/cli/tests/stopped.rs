//! Ctrl-C: the exit code says that it was stopped, and not that tests cannot be run.
//!
//! The project presses it itself while its tests are collected, and stays there until it is ended.

#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "the whole program is run as a user runs it, and what cannot be read is a fault"
)]

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

/// We are the parent of whoever collects.
const PRESSES_CTRL_C: &str = "\
import os
import signal

os.kill(os.getppid(), signal.SIGINT)
while True:
    signal.pause()
";

const REPORT: &str = "<testsuite><testcase classname='test_it' name='test_it'><failure>no</failure>\
    </testcase></testsuite>";

/// A folder whose tests cannot be collected before Ctrl-C.
fn project() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("conftest.py"), PRESSES_CTRL_C).unwrap();
    fs::write(folder.path().join("test_it.py"), "def test_it():\n    pass\n").unwrap();
    fs::write(folder.path().join("report.xml"), REPORT).unwrap();
    folder
}

fn unflake(folder: &Path, arguments: &[&str]) -> Output {
    let python = std::env::var_os("UNFLAKE_TEST_PYTHON").unwrap_or_else(|| "python3".into());
    let history = tempfile::tempdir().unwrap();
    Command::new(env!("CARGO_BIN_EXE_unflake"))
        .args(arguments)
        .arg("--python")
        .arg(python)
        .env("UNFLAKE_STORE", history.path().join("history.sqlite"))
        .current_dir(folder)
        .output()
        .unwrap()
}

#[test]
fn every_command_that_is_stopped_before_it_has_run_a_test_says_so() {
    let project = project();
    let commands: [&[&str]; 9] = [
        &["detect"],
        &["why", "test_it.py::test_it"],
        &["fix", "test_it.py::test_it"],
        &["run"],
        &["triage", "report.xml"],
        &["study"],
        &["shake", "test_it.py::test_it"],
        &["trace"],
        &["lint", "--dynamic"],
    ];
    for command in commands {
        let output = unflake(project.path(), command);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(4), "{command:?}: {stderr}");
        assert!(stderr.contains("stopped before the first run was over"), "{command:?}: {stderr}");
        assert!(output.stdout.is_empty(), "{command:?}");
    }
}

#[test]
fn init_leaves_the_settings_as_they_were_when_it_is_stopped() {
    let project = project();
    let file = project.path().join("unflake.toml");
    fs::write(&file, "jobs = 1\n").unwrap();
    let output = unflake(project.path(), &["init", "--force"]);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(4), "{stderr}");
    assert!(stderr.contains("stopped before unflake.toml was written"), "{stderr}");
    assert_eq!(fs::read_to_string(&file).unwrap(), "jobs = 1\n");
}

#[test]
fn doctor_does_not_say_that_tests_are_missing_when_it_is_stopped() {
    let output = unflake(project().path(), &["doctor"]);
    assert_eq!(output.status.code(), Some(4), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(output.stdout.is_empty());
}
