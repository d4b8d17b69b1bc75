//! On whole projects: plugins do not get in the way, and it does not matter how many runs are made
//! at once.

use std::path::Path;
use std::process::Command;

use crate::common::{Project, Ran};
use serde_json::{Value, json};

pub(crate) fn repository() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

pub(crate) fn fixture(name: &str) -> Project {
    Project::copied(&repository().join("agents/python/tests/projects").join(name))
}

/// What was found: verdicts and roles. How often tests failed may differ.
fn found(ran: &Ran) -> Vec<Value> {
    let report = ran.json();
    let findings = report["findings"].as_array().unwrap().iter();
    let mut found: Vec<Value> = findings
        .map(|f| {
            let keys = ["test", "verdict", "polluters", "cleaners", "state_setters", "confirmed"];
            json!(keys.map(|key| f[key].clone()))
        })
        .collect();
    found.sort_by_key(Value::to_string);
    found
}

fn is_the_same_with_one_job_and_with_two(project: &Project, paths: &[&str], n_expected: usize) {
    let options = ["detect", "--json", "--no-store", "--jobs"];
    let detect = |jobs| project.run(&[&options[..], &[jobs], paths].concat());
    let (one, two) = (found(&detect("1")), found(&detect("2")));
    assert_eq!(one.len(), n_expected, "{one:#?}");
    assert_eq!(one, two);
}

#[test]
fn the_zoo_is_the_same_with_one_job_and_with_two() {
    let project = fixture("zoo");
    project.plant();
    // What fails in others depends on which test is the last of its module: true, but slow to find.
    let paths = ["animals", "test_well.py"];
    is_the_same_with_one_job_and_with_two(&project, &paths, 2);
}

#[test]
fn the_shop_is_the_same_with_one_job_and_with_two() {
    let project = Project::copied(&repository().join("examples/shop"));
    // Not those that fail at random, which take thousands of runs to be sure of.
    let names = ["amounts", "cart", "catalog", "checkout", "coupons", "settings", "tax"];
    let paths = names.map(|name| format!("tests/test_{name}.py"));
    let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
    is_the_same_with_one_job_and_with_two(&project, &paths, 4);
}

/// All plugins at once, with options of theirs in the ini file. `cargo xtask ci` names a folder
/// that has them; else they are those of the interpreter, and without them there is nothing to do.
#[test]
fn plugins_do_not_get_in_the_way() {
    let project = fixture("all");
    project.plant();
    let plugins = std::env::var_os("UNFLAKE_TEST_PLUGINS").unwrap_or_default();
    let modules = "import xdist, pytest_randomly, random_order, pytest_rerunfailures, \
                   pytest_asyncio, pytest_django, pytest_cov, pytest_timeout";
    let mut trial = Command::new(crate::common::python());
    trial.args(["-c", modules]).env("PYTHONPATH", &plugins);
    let is_here = trial.output().unwrap().status.success();
    assert!(is_here || plugins.is_empty(), "plugins are missing in {}", plugins.display());
    if is_here {
        let mut command = project.command(&["detect", "--json", "--runs", "60", "--jobs", "1"]);
        command.env("PYTHONPATH", &plugins);
        let ran = project.run_command(command);
        ran.has_found_the_victim();
        // With plain pytest, where all of them are told to stand back.
        assert_eq!(
            ran.finding(crate::common::VICTIM).unwrap()["evidence"]["cold"]["as_predicted"],
            3
        );
    }
}

/// Strings are hashed otherwise in each interpreter, unless somebody says how.
#[test]
fn a_test_that_relies_on_the_order_of_a_set_is_no_fault_of_isolation() {
    let project = Project::empty();
    project.write("test_set.py", "def test_set():\n    assert ''.join({'a', 'b'}) == 'ab'\n");
    for seed in ["1", "2"] {
        let mut command = project.command(&["detect", "--json", "--seed", seed]);
        command.env_remove("PYTHONHASHSEED");
        let ran = project.run_command(command);
        let report = ran.json();
        assert!(report["hash_seed"].is_u64(), "{report}");
        assert_eq!(report["warnings"].as_array().map(Vec::len), Some(0), "{report}");
        assert_eq!(ran.finding("test_set.py::test_set").unwrap()["verdict"], "id");
    }
}
