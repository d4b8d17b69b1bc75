//! Small projects, and the program run on them as a user runs it.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;
use tempfile::TempDir;

use crate::document::document;

/// A victim and its polluter, to be found whatever the other tests do.
pub(crate) const VICTIM: &str = "test_well.py::test_victim";
pub(crate) const POLLUTER: &str = "test_well.py::test_polluter";
const WELL: &str = "\
import state

def test_polluter():
    state.x = 1

def test_victim():
    assert state.x == 0
";

/// An interpreter that has pytest; `cargo xtask ci` makes one.
pub(crate) fn python() -> OsString {
    std::env::var_os("UNFLAKE_TEST_PYTHON").unwrap_or_else(|| "python3".into())
}

/// A project in a folder of its own, away from any repository.
pub(crate) struct Project {
    pub(crate) folder: TempDir,
    /// Where the program may keep what it likes.
    state: TempDir,
}

/// What a file system holds of one name: kind and permissions, and contents.
type Entry = (u32, Vec<u8>);

impl Project {
    pub(crate) fn empty() -> Self {
        Self { folder: tempfile::tempdir().unwrap(), state: tempfile::tempdir().unwrap() }
    }

    /// A copy of a folder.
    pub(crate) fn copied(from: &Path) -> Self {
        let project = Self::empty();
        let is_rubbish = |path: &Path| path.ends_with("__pycache__");
        for path in tree(from).into_keys().filter(|path| !path.ancestors().any(is_rubbish)) {
            let to = project.path().join(path.strip_prefix(from).unwrap());
            if path.is_dir() {
                fs::create_dir_all(to).unwrap();
            } else {
                fs::create_dir_all(to.parent().unwrap()).unwrap();
                fs::copy(&path, to).unwrap();
            }
        }
        project
    }

    /// Adds a victim and a polluter.
    pub(crate) fn plant(&self) {
        self.write("state.py", "x = 0\n");
        self.write("test_well.py", WELL);
    }

    /// With a victim and a polluter beside these files.
    pub(crate) fn with(files: &[(&str, &str)]) -> Self {
        let project = Self::empty();
        project.plant();
        for (name, text) in files {
            project.write(name, text);
        }
        project
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Where the program keeps what it likes.
    pub(crate) fn state(&self) -> &Path {
        self.state.path()
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        let file = self.path().join(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    }

    /// The program with these arguments, in the project, with the interpreter of the tests.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        self.command_with(&python(), arguments)
    }

    /// The same with another interpreter.
    pub(crate) fn command_with(&self, python: &OsStr, arguments: &[&str]) -> Command {
        let mut command = self.command_without_python(arguments);
        command.arg("--python").arg(python);
        command
    }

    /// The same for commands that need none.
    pub(crate) fn command_without_python(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_unflake"));
        command.args(quicker(arguments));
        command.current_dir(self.path()).env("XDG_STATE_HOME", self.state.path());
        command.env("XDG_CACHE_HOME", env!("CARGO_TARGET_TMPDIR"));
        command
    }

    /// Runs the program; afterwards the work tree must be what it was.
    pub(crate) fn run(&self, arguments: &[&str]) -> Ran {
        self.run_command(self.command(arguments))
    }

    /// `unflake history`, which needs no interpreter.
    pub(crate) fn history(&self, arguments: &[&str]) -> Ran {
        let mut command = Command::new(env!("CARGO_BIN_EXE_unflake"));
        command.arg("history").args(arguments).current_dir(self.path());
        Ran(command.env("XDG_STATE_HOME", self.state.path()).output().unwrap())
    }

    pub(crate) fn run_command(&self, mut command: Command) -> Ran {
        let before = tree(self.path());
        let output = command.output().unwrap();
        let after = tree(self.path());
        let names = |tree: &BTreeMap<PathBuf, Entry>| tree.keys().cloned().collect::<Vec<_>>();
        assert_eq!(names(&after), names(&before));
        assert!(after == before, "the work tree has changed");
        Ran(output)
    }
}

/// What is asked here shows in a few orders, unless something else is said: each takes an
/// interpreter of its own.
fn quicker<'a>(arguments: &[&'a str]) -> Vec<&'a str> {
    let is_said = |it: &&str| ["--flake-rate", "--strategy", "--reruns", "--runs"].contains(it);
    match arguments {
        ["detect", rest @ ..] if !rest.iter().any(is_said) => {
            [&["detect", "--flake-rate", "0.2"], rest].concat()
        }
        other => other.to_vec(),
    }
}

/// Everything below a folder.
fn tree(folder: &Path) -> BTreeMap<PathBuf, Entry> {
    let mut found = BTreeMap::new();
    let mut waiting = vec![folder.to_owned()];
    while let Some(path) = waiting.pop() {
        let metadata = path.symlink_metadata().unwrap();
        let mut contents = Vec::new();
        if metadata.is_dir() {
            waiting.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        } else if metadata.is_file() {
            contents = fs::read(&path).unwrap();
        }
        found.insert(path, (metadata.permissions().mode(), contents));
    }
    found
}

/// How the program ended, and what it said.
pub(crate) struct Ran(Output);

impl Ran {
    pub(crate) fn code(&self) -> Option<i32> {
        self.0.status.code()
    }

    pub(crate) fn stderr(&self) -> String {
        String::from_utf8_lossy(&self.0.stderr).into_owned()
    }

    pub(crate) fn stdout(&self) -> String {
        String::from_utf8(self.0.stdout.clone()).unwrap()
    }

    /// What was printed for programs.
    pub(crate) fn json(&self) -> Value {
        document(&self.0)
    }

    /// The finding about a test, if there is one.
    pub(crate) fn finding(&self, test: &str) -> Option<Value> {
        let report = self.json();
        let findings = report["findings"].as_array().unwrap();
        findings.iter().find(|finding| finding["test"] == test).cloned()
    }

    /// The verdict on a test; none if nothing is said of it.
    pub(crate) fn verdict(&self, test: &str) -> Option<String> {
        Some(self.finding(test)?["verdict"].as_str().unwrap().to_owned())
    }

    /// What limits the answer, by kind.
    pub(crate) fn warnings(&self) -> BTreeMap<String, String> {
        let report = self.json();
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let warnings = report["warnings"].as_array().unwrap().iter();
        warnings.map(|warning| (text(&warning["kind"]), text(&warning["message"]))).collect()
    }

    /// That the planted victim was found all the same, with its polluter.
    pub(crate) fn has_found_the_victim(&self) {
        assert_eq!(self.code(), Some(1), "{}", self.stderr());
        let finding = self.finding(VICTIM).unwrap_or_else(|| panic!("{}", self.stdout()));
        assert_eq!(finding["verdict"], "od-victim", "{finding}");
        assert_eq!(finding["polluters"], serde_json::json!([[POLLUTER]]), "{finding}");
    }

    /// That it could not run the tests, and says all of this about it.
    pub(crate) fn could_not_run(&self, said: &[&str]) {
        let stderr = self.stderr();
        assert_eq!(self.code(), Some(3), "{stderr}");
        assert_eq!(self.stdout(), "");
        for said in said {
            assert!(stderr.contains(said), "`{said}` in {stderr}");
        }
    }
}
