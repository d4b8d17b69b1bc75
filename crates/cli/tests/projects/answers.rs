//! What one command says, another understands, and none denies.

use std::collections::BTreeSet;
use std::process::Command;

use unflake_known::junit_xml;

use crate::common::{Project, VICTIM, python};
use crate::robust::bare_python;

/// Tests whose names are torn apart in JUnit XML: folders, classes in classes, `unittest`, and
/// parameters with all that file names and classes are parted by.
const NAMES: &str = "\
import unittest
import pytest

class TestOuter:
    class TestInner:
        def test_deep(self):
            assert True

    def test_fails(self):
        assert 1 == 2

@pytest.mark.parametrize('it', ['a.b', 'c[0]', 'd e', 'f::g', 'h/i.py', '<&\">', 'ü'])
def test_with(it):
    assert it != 'c[0]'

class Case(unittest.TestCase):
    def test_case(self):
        self.assertTrue(True)
";

/// Class and name of each case.
fn names(xml: &str) -> BTreeSet<(String, String)> {
    let cases = junit_xml::read(xml).unwrap();
    cases.into_iter().map(|case| (case.class, case.name)).collect()
}

fn nested() -> Project {
    let project = Project::empty();
    project.write("a/b.c/test_names.py", NAMES);
    project.write("test_top.py", "def test_top():\n    pass\n");
    project
}

#[test]
fn tests_are_called_in_our_junit_xml_as_they_are_in_that_of_pytest() {
    let project = nested();
    let report = tempfile::NamedTempFile::new().unwrap();
    let mut pytest = Command::new(python());
    pytest.args(["-m", "pytest", "-q", "-p", "no:cacheprovider", "--junit-xml"]).arg(report.path());
    pytest.current_dir(project.path()).env("PYTHONDONTWRITEBYTECODE", "1").output().unwrap();
    let expected = names(&std::fs::read_to_string(report.path()).unwrap());
    assert_eq!(expected.len(), 11);
    let once = project.run(&["run", "--no-store", "--format", "junit"]);
    assert_eq!(names(&once.stdout()), expected, "{}", once.stderr());
    let often = ["detect", "--no-store", "--depth", "kind", "--runs", "10", "--format", "junit"];
    let often = project.run(&often);
    assert_eq!(names(&often.stdout()), expected, "{}", often.stderr());
}

#[test]
fn triage_reads_our_own_junit_xml() {
    let project = nested();
    let report = tempfile::NamedTempFile::new().unwrap();
    let ran = project.run(&["run", "--no-store", "--format", "junit"]);
    std::fs::write(report.path(), ran.stdout()).unwrap();
    let file = report.path().to_str().unwrap();
    let triaged = project.run(&["triage", file, "--tries", "1", "--seeds", "0", "--json"]).json();
    assert_eq!((&triaged["reported"], &triaged["unknown"]), (&11.into(), &serde_json::json!([])));
    let failed = triaged["failed"].as_array().unwrap().iter();
    let failed: Vec<&str> = failed.map(|it| it["id"].as_str().unwrap()).collect();
    let file = "a/b.c/test_names.py";
    assert_eq!(
        failed,
        [format!("{file}::TestOuter::test_fails"), format!("{file}::test_with[c[0]]")]
    );
}

#[test]
fn triage_looks_into_what_failed_before_it_passed() {
    let project = Project::with(&[]);
    let report = tempfile::NamedTempFile::new().unwrap();
    let found = ["detect", "--no-store", "--depth", "kind", "--runs", "60", "--format", "junit"];
    std::fs::write(report.path(), project.run(&found).stdout()).unwrap();
    let file = report.path().to_str().unwrap();
    let triaged = project.run(&["triage", file, "--tries", "2", "--seeds", "0", "--json"]).json();
    let failed = &triaged["failed"].as_array().unwrap()[0];
    assert_eq!((&failed["id"], &failed["verdict"]), (&VICTIM.into(), &"od-victim".into()));
    assert_eq!(failed["message"], "assert 1 == 0");
}

#[test]
fn tests_of_unittest_have_the_names_that_their_reports_have() {
    let project = Project::empty();
    let case = "class Case(unittest.TestCase):\n    def test_it(self): self.fail()\n";
    project.write("test_one.py", &format!("import unittest\n\n{case}"));
    let python = bare_python(&project);
    let run = |arguments: &[&str]| {
        project.run_command(project.command_with(python.as_os_str(), arguments))
    };
    let ran = run(&["run", "--no-store", "--format", "junit"]);
    let expected = BTreeSet::from([("test_one.Case".to_owned(), "test_it".to_owned())]);
    assert_eq!(names(&ran.stdout()), expected, "{}", ran.stderr());
    let report = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(report.path(), ran.stdout()).unwrap();
    let file = report.path().to_str().unwrap();
    let triaged = run(&["triage", file, "--tries", "1", "--seeds", "0", "--json"]).json();
    assert_eq!(triaged["failed"][0]["id"], "test_one.Case.test_it");
}

#[test]
fn why_after_detect_starts_from_what_is_known_and_says_the_same() {
    // Others between victim and polluter, so that there is something to look for.
    let others = "import pytest\n\n\
        @pytest.mark.parametrize('n', range(20))\ndef test_more(n):\n    pass\n";
    let project = Project::with(&[("test_more.py", others)]);
    let why = |arguments: &[&str]| {
        let ran = project.run(&[&["why", VICTIM, "--json"], arguments].concat());
        let n_recalled = ran.json()["summary"]["recalled_runs"].as_u64().unwrap();
        let finding = ran.finding(VICTIM).unwrap();
        let answer =
            ["verdict", "confirmed", "polluters", "cleaners"].map(|it| finding[it].clone());
        (answer, n_recalled, finding["evidence"].clone())
    };
    let detected = project.run(&["detect", "--json", "--runs", "300"]);
    detected.has_found_the_victim();
    let campaigns = project.history(&["--json"]).json();
    let detect = campaigns["campaigns"][0]["campaign"].as_str().unwrap().to_owned();
    let (informed, n_recalled, evidence) = why(&[]);
    // Alone and after the polluter, as often as confirmation asks for.
    assert!(30 <= n_recalled, "{n_recalled}");
    let failed_in = evidence["failed_in"].as_str().unwrap();
    assert!(failed_in.starts_with(&detect), "{failed_in} of {detect}");
    let n_runs = |place: usize| {
        project.history(&["--json"]).json()["campaigns"][place]["runs"].as_u64().unwrap()
    };
    let n_informed = n_runs(0);
    let (fresh, n_recalled, _) = why(&["--fresh"]);
    assert_eq!((informed, n_recalled), (fresh, 0));
    assert!(n_informed * 2 < n_runs(0), "{n_informed} of {}", n_runs(0));
}

#[test]
fn what_shaking_a_test_has_shown_is_kept_and_told_with_other_answers() {
    let zone = "import os, time\n\ndef test_zone():\n    \
        assert time.timezone == 0 and 'FAIL' not in os.environ\n";
    let project = Project::with(&[("test_zone.py", zone)]);
    let test = "test_zone.py::test_zone";
    let shaken = project.run(&["shake", test, "--factors", "time-zone", "--json"]).json();
    assert_eq!(shaken["factors"][0]["factors"], serde_json::json!(["time-zone"]), "{shaken}");
    let list = project.history(&["--json"]).json();
    let campaign = list["campaigns"][0]["campaign"].as_str().unwrap().to_owned();
    assert_eq!(list["campaigns"][0]["factors"], serde_json::json!(["time-zone"]), "{list}");
    let mut again = project.history(&["--campaign", &campaign, "--json"]).json();
    assert_eq!(again["command"].take(), "history");
    again["command"] = "shake".into();
    assert_eq!(again, shaken);
    let past = project.history(&[test]).stdout();
    assert!(past.contains("time-zone makes it fail"), "{past}");
    let finding = project.run(&["why", test, "--json"]).finding(test).unwrap();
    let known = &finding["known_factors"][0];
    assert_eq!(
        (&known["campaign"], &known["older_code"]),
        (&campaign.clone().into(), &false.into())
    );
    let command = known["command"].as_str().unwrap();
    assert!(command.starts_with(&format!("unflake replay {campaign}/")), "{finding}");
    // The code is another one now, and this time it fails in plain runs, too.
    project.write("other.py", "x = 1\n");
    let mut run = project.command(&["run", "--json"]);
    run.env("FAIL", "1");
    let ran = project.run_command(run).json();
    let failures = ran["failures"].as_array().unwrap();
    let failed = failures.iter().find(|it| it["test"] == test).unwrap();
    let known = &failed["known"]["factors"][0];
    assert_eq!((&known["factors"], &known["older_code"]), (&"time-zone".into(), &true.into()));
}

#[test]
fn run_does_not_say_that_a_test_passed_every_time_beside_its_failures() {
    let text = "import os\n\ndef test_it():\n    assert 'FAIL' not in os.environ\n";
    let project = Project::with(&[("test_it.py", text)]);
    let test = "test_it.py::test_it";
    assert_eq!(project.run(&["why", test, "--json"]).verdict(test).as_deref(), Some("not-flaky"));
    let known = || {
        let mut run = project.command(&["run", "--json"]);
        run.env("FAIL", "1");
        let ran = project.run_command(run).json();
        let failures = ran["failures"].as_array().unwrap();
        failures.iter().find(|it| it["test"] == test).unwrap()["known"].clone()
    };
    let first = known();
    assert_eq!((&first["verdict"], &first["failures"]), (&"not-flaky".into(), &0.into()));
    let second = known();
    assert_eq!((&second["verdict"], &second["failures"]), (&serde_json::Value::Null, &1.into()));
}

/// It fails under the hash seed that we set, and in every other plain run, where none is set.
#[test]
fn files_are_not_to_blame_for_what_plain_runs_show_now_and_then() {
    let text = "import os\n\ndef test_seed():\n    \
        assert 'PYTHONHASHSEED' not in os.environ\n    \
        count = os.path.join(os.environ['COUNT'], 'n')\n    \
        with open(count, 'a') as file:\n        file.write('x')\n    \
        assert os.path.getsize(count) % 2\n";
    let project = Project::empty();
    project.write("test_seed.py", text);
    project.write("test_other.py", "def test_other():\n    pass\n");
    let folder = tempfile::tempdir().unwrap();
    let arguments = ["detect", "--no-store", "--json", "--depth", "kind", "--runs", "12"];
    let mut command = project.command(&arguments);
    command.env("COUNT", folder.path()).env_remove("PYTHONHASHSEED");
    let verdict = project.run_command(command).verdict("test_seed.py::test_seed");
    assert_ne!(verdict.as_deref(), Some("od-victim"));
}
