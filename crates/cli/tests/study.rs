//! `unflake detect` and `unflake why` on the example project, with the real runner.

#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "the whole program is run as a user runs it, and what cannot be read is a fault"
)]

mod document;

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
        .arg("--no-store")
        .current_dir(folder)
        .output()
        .unwrap()
}

fn finding<'a>(report: &'a Value, test: &str) -> &'a Value {
    let findings = report["findings"].as_array().unwrap();
    findings.iter().find(|f| f["test"] == test).unwrap_or_else(|| panic!("{test} in {report}"))
}

#[test]
fn why_names_the_polluter_and_the_cleaner_of_a_victim() {
    let test = "tests/test_amounts.py::test_price_is_shown_in_euro";
    let output = unflake(&shop(), &["why", test, "--json"]);
    assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stderr));
    let report = document(&output);
    let finding = finding(&report, test);
    let polluter = "tests/test_checkout.py::test_checkout_in_dollars";
    assert_eq!(finding["verdict"], "od-victim");
    assert_eq!(finding["polluters"], serde_json::json!([[polluter]]));
    let cleaner = "tests/test_settings.py::test_reset_restores_the_defaults";
    let cleaners = serde_json::json!([{"polluters": [polluter], "cleaners": [cleaner]}]);
    assert_eq!(finding["cleaners"], cleaners);
    assert_eq!(finding["confirmed"], true);
}

#[test]
fn why_names_both_tests_that_act_only_together() {
    let test = "tests/test_cart.py::test_total_is_rounded_to_cents";
    let report = document(&unflake(&shop(), &["why", test, "--json"]));
    let finding = finding(&report, test);
    let group = [
        "tests/test_amounts.py::test_rounding_can_be_exact",
        "tests/test_tax.py::test_reduced_rate",
    ];
    assert_eq!(finding["verdict"], "od-victim");
    assert_eq!(finding["polluters"], serde_json::json!([group]));
}

#[test]
fn why_names_the_state_setter_of_a_brittle() {
    let test = "tests/test_catalog.py::test_finds_a_book_by_isbn";
    let report = document(&unflake(&shop(), &["why", test, "--json"]));
    let finding = finding(&report, test);
    let setter = "tests/test_catalog.py::test_catalog_is_loaded_once";
    assert_eq!(finding["verdict"], "od-brittle");
    assert_eq!(finding["state_setters"], serde_json::json!([[setter]]));
}

#[test]
fn why_says_that_a_test_fails_the_second_time_with_the_command_that_shows_it() {
    let test = "tests/test_coupons.py::test_a_coupon_can_be_registered";
    let output = unflake(&shop(), &["why", test, "--json"]);
    assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stderr));
    let report = document(&output);
    assert_eq!(report["ended"], "confident");
    let nio = finding(&report, test);
    assert_eq!((&nio["verdict"], &nio["confirmed"]), (&"nio".into(), &true.into()));
    assert_eq!(nio["evidence"]["cold"], serde_json::json!({"as_predicted": 3, "tries": 3}));
    assert!(nio["failure"]["message"].is_string(), "{nio}");
    let [command] = &nio["reproduce"].as_array().unwrap()[..] else { panic!("{nio}") };
    let mut shell = Command::new("sh");
    shell.args(["-c", command.as_str().unwrap()]).current_dir(shop());
    shell.env("PYTHONDONTWRITEBYTECODE", "1").env("PYTEST_ADDOPTS", "-p no:cacheprovider");
    let printed = String::from_utf8(shell.output().unwrap().stdout).unwrap();
    assert!(printed.contains("1 failed, 1 passed"), "{command}: {printed}");
}

#[test]
fn detect_finds_every_deterministic_kind_within_a_budget_of_runs() {
    let output = unflake(&shop(), &["detect", "--depth", "kind", "--runs", "400", "--json"]);
    assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stderr));
    let report = document(&output);
    let verdict = |test: &str| finding(&report, test)["verdict"].as_str().unwrap().to_owned();
    assert_eq!(verdict("tests/test_amounts.py::test_price_is_shown_in_euro"), "od-victim");
    assert_eq!(verdict("tests/test_catalog.py::test_finds_a_book_by_isbn"), "od-brittle");
    let nio = finding(&report, "tests/test_coupons.py::test_a_coupon_can_be_registered");
    assert_eq!((&nio["verdict"], &nio["confirmed"]), (&"nio".into(), &true.into()));
    assert_eq!(nio["evidence"]["cold"], serde_json::json!({"as_predicted": 3, "tries": 3}));
    assert_eq!(nio["reproduce"].as_array().unwrap().len(), 1);
    // Each was told of before, suspicion first, one line each.
    let stderr = String::from_utf8(output.stderr).unwrap();
    for (test, kind) in [
        ("tests/test_amounts.py::test_price_is_shown_in_euro", "(od-victim)"),
        ("tests/test_catalog.py::test_finds_a_book_by_isbn", "(od-brittle)"),
        ("tests/test_coupons.py::test_a_coupon_can_be_registered", "(nio)"),
    ] {
        let place = |label: &str, end: &str| {
            let is_it =
                |line: &str| line.starts_with(&format!("{label}{test} ")) && line.ends_with(end);
            stderr.lines().position(is_it).unwrap_or_else(|| panic!("{label}{test}: {stderr}"))
        };
        assert!(place("suspected  ", "") < place("found      ", kind), "{stderr}");
    }
}

#[test]
fn an_unknown_test_is_named_and_the_likely_one_suggested() {
    let output = unflake(&shop(), &["why", "test_price_is_shown_in_euro"]);
    assert_eq!(output.status.code(), Some(3));
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(stderr.contains("`test_price_is_shown_in_euro` was not collected"), "{stderr}");
    assert!(stderr.contains("did you mean tests/test_amounts.py::test_price_is_shown_in_euro"));
}

#[test]
fn what_tests_write_does_not_stay_in_the_work_tree() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    file("state.py", "x = 0\n");
    file(
        "test_files.py",
        "import state\n\n\
         def test_writes():\n    open('left.txt', 'w').write('x')\n    state.x = 1\n\n\
         def test_victim():\n    assert state.x == 0\n",
    );
    let output = unflake(folder.path(), &["why", "test_files.py::test_victim", "--json"]);
    let report = document(&output);
    assert_eq!(finding(&report, "test_files.py::test_victim")["confirmed"], true);
    let mut names: Vec<_> =
        std::fs::read_dir(folder.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    names.sort();
    // Where the system permits no overlay, the test itself leaves its file, as it always does.
    let is_isolated = report["warnings"].as_array().unwrap().is_empty();
    let expected: &[&str] = if is_isolated {
        &["state.py", "test_files.py"]
    } else {
        &["left.txt", "state.py", "test_files.py"]
    };
    assert_eq!(names, expected);
}

#[test]
fn a_file_that_a_test_leaves_behind_makes_a_victim_and_not_a_broken_test() {
    let folder = tempfile::tempdir().unwrap();
    let text = "import os\n\n\
         def test_a():\n    open('left.txt', 'w').write('x')\n\n\
         def test_b():\n    assert not os.path.exists('left.txt')\n";
    std::fs::write(folder.path().join("test_files.py"), text).unwrap();
    let report = document(&unflake(folder.path(), &["why", "test_files.py::test_b", "--json"]));
    // Where the system permits no overlay, the file stays, and the test is broken from then on.
    if report["warnings"].as_array().unwrap().is_empty() {
        let finding = finding(&report, "test_files.py::test_b");
        assert_eq!(finding["verdict"], "od-victim");
        assert_eq!(finding["polluters"], serde_json::json!([["test_files.py::test_a"]]));
    }
}

#[test]
fn bad_options_are_named() {
    for (arguments, value) in [
        (["detect", "--runs", "0"], "0 runs"),
        (["detect", "--confidence", "1.5"], "1.5"),
        (["detect", "--time", "3x"], "`x`"),
        (["detect", "--jobs", "0"], "`0`"),
        (["detect", "--flake-rate", "7"], "7"),
        (["detect", "--flake-rate", "0"], "`0` is no share of all orders"),
    ] {
        let output = unflake(&shop(), &arguments);
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {stderr}");
        assert!(stderr.contains(value), "{arguments:?}: {stderr}");
    }
}
