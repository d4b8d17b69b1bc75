//! Nobody is accused for what our own harness does: a second attempt in one process.

use crate::common::Project;

/// Doctests see names that are gone when they have run, a class-scoped set-up is used up, and an
/// item of a plugin keeps something for itself. One test does fail the second time, by itself.
const MODULE: &str = "\
import pytest

LOG = []

def double(x):
    \"\"\"
    >>> y = double(2)
    >>> y + 1, len(LOG) >= 0
    (5, True)
    \"\"\"
    return 2 * x

class TestShared:
    @classmethod
    def setup_class(cls):
        cls.left = [1]

    def test_uses_up_what_its_class_set_up(self):
        self.left.pop()

@pytest.fixture(scope='module')
def shared():
    return [1]

def test_uses_up_what_its_module_set_up(shared):
    shared.pop()

def test_again():
    LOG.append(1)
    assert len(LOG) == 1
";

const CONFTEST: &str = "\
import pytest

class Item(pytest.Item):
    left = [1]

    def runtest(self):
        self.left.pop()

class File(pytest.File):
    def collect(self):
        yield Item.from_parent(self, name='soup')

def pytest_collect_file(file_path, parent):
    if file_path.suffix == '.menu':
        return File.from_parent(parent, path=file_path)
";

#[test]
fn what_cannot_be_repeated_faithfully_is_no_finding() {
    let project = Project::empty();
    project.write("conftest.py", CONFTEST);
    project.write("test_it.py", MODULE);
    project.write("a.menu", "");
    let arguments = ["detect", "--json", "--runs", "60", "--jobs", "1"];
    let mut command = project.command(&arguments);
    command.args(["--", "--doctest-modules"]);
    let ran = project.run_command(command);
    let report = ran.json();
    let findings = report["findings"].as_array().unwrap();
    let found: Vec<_> = findings.iter().map(|it| (&it["test"], &it["verdict"])).collect();
    assert_eq!(found.len(), 1, "{found:?}");
    let finding = ran.finding("test_it.py::test_again").unwrap();
    assert_eq!(finding["verdict"], "nio");
    assert_eq!(finding["confirmed"], true);
    let warnings = ran.warnings();
    let said = "1 test of a plugin's own kind ran once only in each process: a.menu::soup";
    assert_eq!(warnings["not-repeated"], said);
}

#[test]
fn what_only_our_second_attempt_shows_is_said_and_is_no_finding() {
    // Told apart by who is the parent: the plain runner's is a shelter.
    let test = "\
LOG = []

def test_told_apart():
    import os
    with open(f'/proc/{os.getppid()}/cmdline') as file:
        is_plain = 'shelter' in file.read()
    LOG.append(1)
    assert is_plain or len(LOG) == 1
";
    let project = Project::empty();
    project.write("test_it.py", test);
    let ran = project.run(&["detect", "--json", "--runs", "60", "--jobs", "1"]);
    assert_eq!(ran.json()["findings"], serde_json::json!([]), "{}", ran.stdout());
    let warning = &ran.warnings()["twice-not-shown"];
    assert!(warning.ends_with("did not show: test_it.py::test_told_apart"), "{warning}");
    let ran = project.run(&["why", "test_it.py::test_told_apart", "--json", "--runs", "60"]);
    let verdict = ran.verdict("test_it.py::test_told_apart");
    assert_eq!(verdict.as_deref(), Some("insufficient-evidence"), "{}", ran.stdout());
}
