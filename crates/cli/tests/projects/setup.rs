//! `unflake init`, `unflake doctor`, and what `unflake.toml` changes.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use crate::common::{POLLUTER, Project, VICTIM, python};

/// Without what differs from machine to machine.
fn redacted(project: &Project, text: &str) -> String {
    let folder = project.path().canonicalize().unwrap();
    let mut text = text.replace(python().to_str().unwrap(), "[python]");
    text = text.replace(folder.to_str().unwrap(), "[project]");
    let jobs = std::thread::available_parallelism().unwrap();
    text = text.replace(&format!("jobs = {jobs}\n"), "jobs = [processors]\n");
    let version = |line: &str| line.split("pytest ").nth(1)?.split(' ').next().map(str::to_owned);
    if let Some(version) = text.lines().find_map(version) {
        text = text.replace(&format!("pytest {version}"), "pytest [version]");
    }
    text
}

#[test]
fn init_writes_every_setting_with_what_is_there() {
    let project = Project::with(&[("tests/test_a.py", "def test_a(): pass\n")]);
    let output = project.command(&["init"]).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.starts_with("wrote unflake.toml: pytest "), "{said}");
    assert!(said.ends_with(" runs 3 tests in test_well.py, tests\n"), "{said}");
    let text = fs::read_to_string(project.path().join("unflake.toml")).unwrap();
    let python = python();
    assert!(text.contains(&format!("\npython = {:?}\n", python.to_str().unwrap())), "{text}");
    assert!(text.contains("\n# paths = [\"test_well.py\", \"tests\"]\n"), "{text}");
    // Everything else is as it is without a file, so the file changes nothing.
    let arguments = ["why", VICTIM, "--json", "--runs", "60"];
    project.run(&arguments).has_found_the_victim();
}

#[test]
fn init_overwrites_only_when_told_to() {
    let project = Project::with(&[("unflake.toml", "jobs = 1\n")]);
    let ran = project.run(&["init"]);
    assert_eq!(ran.code(), Some(2));
    let said = ran.stderr();
    assert!(said.contains("unflake.toml` is there already\nhint: say --force"), "{said}");
    // Also where it cannot be read.
    project.write("unflake.toml", "jobs = [\n");
    let output = project.command(&["init", "--force"]).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let text = fs::read_to_string(project.path().join("unflake.toml")).unwrap();
    assert!(text.starts_with("# Settings of unflake"), "{text}");
}

#[test]
fn init_without_tests_says_where_to_look() {
    let project = Project::empty();
    let output = project.command(&["init"]).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    insta::assert_snapshot!(String::from_utf8(output.stdout).unwrap(), @r"
    wrote unflake.toml: no tests were found
    `unflake doctor` says what is missing
    ");
}

#[test]
fn a_file_settles_what_is_not_typed() {
    let project = Project::with(&[("other/test_other.py", "def test_x(): pass\n")]);
    project.write("unflake.toml", "runs = 7\npaths = [\"test_well.py\"]\noptions = [\"-q\"]\n");
    let report = project.run(&["detect", "--json"]).json();
    assert_eq!(report["summary"]["tests"], 2);
    assert_eq!(report["ended"], "out-of-budget");
    assert!(report["summary"]["cost"]["runs"].as_u64().unwrap() <= 7);
    // What is typed goes first; and from a folder inside, the file above is found.
    fs::create_dir(project.path().join(".git")).unwrap();
    let mut command = project.command(&["detect", "--json", "--runs", "3", "test_other.py"]);
    command.current_dir(project.path().join("other"));
    let report = project.run_command(command).json();
    assert_eq!(report["summary"]["tests"], 1);
    let mut command = project.command(&["detect", "--json", "--runs", "3"]);
    command.current_dir(project.path().join("other"));
    let report = project.run_command(command).json();
    assert_eq!(report["summary"]["tests"], 2);
}

#[test]
fn a_file_that_makes_no_sense_is_an_error_with_its_place() {
    let project = Project::with(&[("unflake.toml", "jobs = 1\ntimes = \"5m\"\n")]);
    let ran = project.run(&["detect"]);
    assert_eq!(ran.code(), Some(2));
    insta::assert_snapshot!(redacted(&project, &ran.stderr()), @r"
    error: `[project]/unflake.toml`, line 2: nobody knows the key `times`
    hint: there are python, paths, options, time, runs, confidence, flake-rate, depth, jobs, timeout, isolation, store, show-secrets, color
    ");
    // Commands that it does not concern do not read it.
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_unflake"));
    command.args(["orders", "--tests", "3"]).current_dir(project.path());
    assert!(command.output().unwrap().status.success());
}

#[test]
fn doctor_says_what_is_there() {
    let bad = "import no_such_module_here\n";
    let project = Project::with(&[("test_bad.py", bad), ("unflake.toml", "jobs = 1\n")]);
    let ran = project.run(&["doctor", "--isolation", "none", "--store", "h.sqlite"]);
    assert_eq!(ran.code(), Some(0), "{}", ran.stderr());
    let varying = |line: &&str| !line.contains("python  ") && !line.contains("processors");
    let text = redacted(&project, &ran.stdout());
    let text: Vec<&str> = text.lines().filter(varying).collect();
    insta::assert_snapshot!(text.join("\n"), @r"
    ok       settings     [project]/unflake.toml
    ok       interpreter  [python], as named
    ok       runner       pytest [version]
    ok       plugins      none that reorders, repeats or distributes tests
    ok       tests        2 tests collected
    missing  collection   not collected: test_bad.py (E ModuleNotFoundError: No module named
                          'no_such_module_here')
                          hint: tests there were not looked at; make them collect first
    ok       fork         safe: runs begin in milliseconds
    ok       isolation    not asked for
    ok       history      none yet; to be kept in h.sqlite
    ");
}

#[test]
fn doctor_tries_every_level_of_isolation() {
    let report = Project::with(&[]).run(&["doctor", "--json"]).json();
    assert_eq!(report["can_run"], true);
    let checks = report["checks"].as_array().unwrap().iter();
    let isolation: Vec<_> = checks.filter(|check| check["what"] == "isolation").collect();
    for level in ["tree", "home", "net", "pid"] {
        let speaks = |text: &serde_json::Value| text.as_str().unwrap().contains(level);
        // One by one where they are refused, with the reason and advice; else together.
        let found = isolation.iter().find(|check| speaks(&check["found"]));
        let check = found.unwrap_or_else(|| panic!("{level} in {report}"));
        assert!(check["ok"] == true || check["hint"].is_string(), "{check}");
    }
}

#[test]
fn doctor_says_why_tests_cannot_be_run() {
    let project = Project::with(&[("conftest.py", "1 / 0\n")]);
    let ran = project.run(&["doctor"]);
    assert_eq!(ran.code(), Some(3));
    let text = ran.stdout();
    assert!(text.contains("missing  tests        cannot start the tests with"), "{text}");
    assert!(text.contains("ZeroDivisionError"), "{text}");
    let ran = project.run_command(project.command_with("/no/python".as_ref(), &["doctor"]));
    assert_eq!(ran.code(), Some(3));
    assert!(ran.stdout().contains("missing  interpreter  `/no/python` is not an interpreter"));
    assert!(!ran.stdout().contains(POLLUTER));
}

/// A Python that is too old: it says its version, and dies of our agent.
const OLD: &str = "#!/bin/sh\n\
    if [ \"$1\" = -c ]; then echo 3.7.16; exit 0; fi\n\
    echo 'Traceback (most recent call last):' >&2\n\
    echo \"AttributeError: module 'sys' has no attribute 'pycache_prefix'\" >&2\n\
    exit 1\n";

#[test]
fn a_python_that_is_too_old_is_said_without_a_traceback() {
    let project = Project::with(&[("old/bin/python", OLD)]);
    let python = project.path().join("old/bin/python");
    fs::set_permissions(&python, fs::Permissions::from_mode(0o755)).unwrap();
    let said = "Python 3.7.16 is too old: 3.8 or later is needed";
    let commands: [&[&str]; 8] = [
        &["detect"],
        &["why", VICTIM],
        &["run"],
        &["lint", "--dynamic"],
        &["shake", VICTIM],
        &["fix", VICTIM],
        &["trace"],
        &["study"],
    ];
    for arguments in commands {
        let ran = project.run_command(project.command_with(python.as_os_str(), arguments));
        ran.could_not_run(&[&format!("error: {said}\nhint: name another Python with --python\n")]);
        assert!(!ran.stderr().contains("Traceback"), "{arguments:?}: {}", ran.stderr());
    }
    let ran = project.run_command(project.command_with(python.as_os_str(), &["doctor"]));
    assert_eq!(ran.code(), Some(3));
    assert!(ran.stdout().contains(said), "{}", ran.stdout());
    assert!(!ran.stdout().contains("Traceback"), "{}", ran.stdout());
}

#[test]
fn what_is_for_python_alone_says_so_in_a_java_project_before_anything_is_built() {
    let project = Project::empty();
    // Nothing that can be built: whoever tried would fail otherwise.
    project.write("pom.xml", "no project");
    for arguments in [
        &["lint", "--dynamic"][..],
        &["shake", "com.acme.CartTest#total"],
        &["fix", "com.acme.CartTest#total"],
    ] {
        let ran = project.run_command(project.command_without_python(arguments));
        let said = ran.stderr();
        assert_eq!(ran.code(), Some(2), "{arguments:?}: {said}");
        assert!(said.starts_with(&format!("error: `{}` ", arguments[0])), "{said}");
        let which = ", which works with pytest and unittest only so far\nhint: `unflake ";
        assert!(said.contains(which), "{said}");
        assert_eq!(said.lines().count(), 2, "{said}");
    }
}
