//! The project's own runner, without us in the process.
//!
//! Used to check that an agent's runs mean what a plain run means, and to confirm a dependency with
//! the very command that is printed. What is added to that command is only where results and caches
//! go, so that the work tree stays as it is.
//!
//! pytest runs the tests it is named in the order in which they are named, except that it moves
//! tests together that share a parametrised fixture of a wide scope. That cannot be prevented from
//! outside; it is seen in the results and said ([`PlainRun::is_in_order`]).
//!
//! An order of many tests does not fit a command line. pytest reads arguments from a file from 8.2
//! on (`@file`); for older ones we start it by `python -c` with one line that reads the file. This
//! is `python -m pytest` but for the arguments, which it takes from a list instead of `sys.argv`.
//! Only tests are named in the file: pytest looks for `-p` before it opens any.
//!
//! Of the tries of one command, some may take all of its arguments from a file, because pytest was
//! started before anybody knew them ([`ahead`]).
//!
//! Before 7.0 pytest cannot be named a test with `::` in its parameter, and to this day none in a
//! folder with `[` in its name ([`Plain::can_name`]).

use std::borrow::Cow;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use unflake_adapter::ChangedFile;
use unflake_engine::process::{CommandLine, Finished, FinishedWhy};
use unflake_engine::{Collected, Interrupt, PlainEnding, PlainRun, Said, private_folder};
use unflake_model::Outcome;

use crate::kept_agent;
use crate::node_id;
use crate::project::{Project, Runner};
use crate::pytest_report::{self, Reported};
use crate::shell;
use crate::shelter::{NOT_COVERED, ShelterError, Task};
use crate::unittest_output;

/// Above this, tests are named in a file: well below what any system allows.
const TESTS_BYTES_MAX: usize = 96 << 10;
/// The pytest that reads arguments from a file.
const FILES_OF_ARGUMENTS: (u32, u32) = (8, 2);
/// Fewer bytes than a pipe has room for.
const READ_BYTES_MAX: usize = 16 << 10;
/// The pytest that takes a parameter in brackets as one piece.
const WHOLE_PARAMETERS: (u32, u32) = (7, 0);
/// The largest report that is read.
const REPORT_BYTES_MAX: u64 = 512 << 20;
/// The status with which pytest refuses its arguments.
const USAGE_ERROR: i32 = 4;
/// Starts pytest with the tests named in a file, one a line.
const STARTER: &str = "import sys, pytest; \
    tests = open(sys.argv[1], encoding='utf-8').read().split('\\n'); \
    sys.exit(pytest.main(sys.argv[2:] + tests))";

/// Starts pytest with each test once more at the end, as another item of another class and file
/// (all of them copies), so that what was set up for these is set up again. Doctests use up the
/// names that their examples see, so these are copied as well. pytest has an option for that
/// (`--keep-duplicates`), but no version heeds it for tests that are named. Tried with 6.2 to 9.0.
const TWICE: &str = "import copy, pytest, sys; \
    is_top = lambda node: isinstance(node, (pytest.File, pytest.Session)); \
    up = lambda node: setattr(new := copy.copy(node), 'parent', \
    node.parent if is_top(node) else up(node.parent)) or new; \
    again = lambda item: (vars(new := up(item)).pop('_obj', 0), \
    vars(new).pop('_instance', 0), \
    hasattr(new, 'dtest') and (setattr(new, 'dtest', copy.copy(new.dtest)), \
    vars(new.dtest).update(globs=dict(new.dtest.globs))), \
    getattr(new, '_initrequest', int)(), new)[-1]; \
    twice = type('Twice', (), {'pytest_collection_modifyitems': \
    lambda self, items: items.extend(list(map(again, items)))})(); \
    sys.exit(pytest.main(sys.argv[1:], plugins=[twice]))";

/// Starts pytest so that a statement is executed when a test begins, before its fixtures.
fn with_first(statement: &str) -> String {
    format!(
        "import pytest, sys; first = type('First', (), {{'pytest_runtest_logstart': \
         lambda self: exec('{statement}')}})(); \
         sys.exit(pytest.main(sys.argv[1:], plugins=[first]))"
    )
}

/// How the runner is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Invocation {
    /// `pytest`: the shortest, where there is such a program beside the interpreter.
    Script,
    /// `python -m pytest`, which also finds modules in the working directory.
    Module,
    /// The same, and each test is run once more in the same process.
    Twice,
}

/// The plain runner of a project.
#[derive(Clone, Copy, Debug)]
pub struct Plain<'a> {
    /// The project.
    pub project: &'a Project,
    /// What an agent collected in it.
    pub collected: &'a Collected,
    /// How to call it.
    pub invocation: Invocation,
    /// How long it may take.
    pub time_max: Duration,
    /// Files that it sees different from what they are.
    pub changed: &'a [ChangedFile],
}

/// Why there was no plain run.
#[derive(Debug, thiserror::Error)]
pub enum PlainError {
    /// The work tree cannot be covered, so nobody can be shown a changed file in it.
    #[error("the system allows no private view of the work tree, which is needed to try a change")]
    NotCovered,
    /// The program could not be started.
    #[error("cannot run `{}`", .program.display())]
    Start {
        /// The program.
        program: OsString,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// There is no folder for its report.
    #[error("cannot write the arguments or read the report of the plain runner")]
    Folder(#[source] io::Error),
    /// The report makes no sense.
    #[error("the report of the plain runner makes no sense: {0}")]
    Report(String),
}

impl Plain<'_> {
    /// Runs what the agent collected, as the user would run it.
    pub fn run_suite(&self, interrupt: &Interrupt) -> Result<PlainRun, PlainError> {
        let ids: Vec<&str> = self.collected.tests.iter().map(|test| test.id.as_str()).collect();
        let paths = self.project.paths.iter().map(|path| path.to_string_lossy().into_owned());
        self.run(&ids, paths.collect(), interrupt)
    }

    /// Runs these tests in this order.
    pub fn run_order(&self, ids: &[&str], interrupt: &Interrupt) -> Result<PlainRun, PlainError> {
        self.run(ids, self.typed(ids), interrupt)
    }

    /// Runs one test while these files (relative to the root folder) are collected, too, of which
    /// no test is run. unittest cannot do that.
    pub fn run_among(
        &self,
        id: &str,
        files: &[&str],
        interrupt: &Interrupt,
    ) -> Option<Result<PlainRun, PlainError>> {
        self.is_pytest().then(|| self.run(&[id], self.typed_among(id, files), interrupt))
    }

    fn typed_among(&self, id: &str, files: &[&str]) -> Vec<String> {
        let mut words = self.typed(files);
        words.extend(self.typed(&[id]));
        words.extend(files.iter().map(|file| format!("--deselect={file}")));
        words
    }

    /// The command that runs these tests in this order, to be pasted in the working directory.
    pub fn command(&self, ids: &[&str]) -> String {
        self.command_of(self.typed(ids))
    }

    /// The command that runs one test while these files are collected, too.
    pub fn command_among(&self, id: &str, files: &[&str]) -> Option<String> {
        self.is_pytest().then(|| self.command_of(self.typed_among(id, files)))
    }

    fn command_of(&self, tests: Vec<String>) -> String {
        let interpreter = &self.project.interpreter;
        let typed = interpreter.typed(&self.project.current_dir);
        let mut words: Vec<String> = Vec::new();
        match (self.invocation, &interpreter.script) {
            (Invocation::Script, Some(script)) if self.is_pytest() => {
                words.push(script.typed.to_string_lossy().into_owned());
            }
            _ => {
                words.push(typed.to_string_lossy().into_owned());
                words.extend(self.module());
            }
        }
        let options = self.project.options.iter().map(|option| option.to_string_lossy());
        words.extend(options.map(Cow::into_owned));
        if self.is_pytest() {
            words.extend(self.stand_back());
        }
        words.extend(tests);
        let line = shell::line(words.iter().map(String::as_str));
        match self.python_path() {
            Some(folder) => format!("PYTHONPATH={} {line}", shell::quote(&folder)),
            None => line,
        }
    }

    /// What the interpreter is told to run.
    fn module(&self) -> [String; 2] {
        let [option, what] = match (self.is_pytest(), self.invocation, &self.project.first) {
            (true, Invocation::Twice, _) => ["-c", TWICE],
            (true, _, Some(first)) => ["-c", &with_first(first)],
            (true, _, None) => ["-m", "pytest"],
            (false, ..) => ["-m", "unittest"],
        };
        [option.to_owned(), what.to_owned()]
    }

    /// Whether the runner can be told to run this test by name.
    pub fn can_name(&self, id: &str) -> bool {
        let (name, parameter) = id.split_at(id.find('[').unwrap_or(id.len()));
        if !self.is_pytest() {
            return unittest_output::can_read(id);
        }
        if parameter.is_empty() {
            return true;
        }
        // A bracket before the name of a test stands in a folder or a file.
        let is_in_name = name.contains("::");
        let is_whole = WHOLE_PARAMETERS <= version(&self.collected.runner);
        is_in_name && (is_whole || !parameter.contains("::"))
    }

    fn is_pytest(&self) -> bool {
        self.collected.runner.starts_with("pytest")
    }

    /// Tests as they are named on the command line.
    fn typed(&self, ids: &[&str]) -> Vec<String> {
        let rootdir = Path::new(&self.collected.rootdir);
        let current_dir = &self.project.current_dir;
        let type_it = |id: &&str| {
            if self.is_pytest() {
                node_id::typed(id, rootdir, current_dir)
            } else {
                (*id).to_owned()
            }
        };
        let n_times = if self.is_named_twice() { 2 } else { 1 };
        std::iter::repeat_n(ids, n_times).flatten().map(type_it).collect()
    }

    /// unittest runs a test as often as it is named.
    fn is_named_twice(&self) -> bool {
        self.invocation == Invocation::Twice && !self.is_pytest()
    }

    /// What keeps plugins of the project from reordering, repeating and distributing. Where there
    /// is an option for it, they stay: without them, pytest would refuse options of theirs that
    /// stand in the project's `addopts`, and marks of theirs.
    fn stand_back(&self) -> Vec<String> {
        let words = |plugin: &String| match plugin.as_str() {
            "xdist" => vec!["-n0".to_owned()],
            "cov" => vec!["--no-cov".to_owned()],
            "randomly" => {
                let off = ["--randomly-dont-reorganize", "--randomly-dont-reset-seed"];
                off.map(str::to_owned).into()
            }
            "random_order" => vec!["--random-order-bucket=none".to_owned()],
            "rerunfailures" => vec!["--reruns=0".to_owned()],
            "repeat" => vec!["--count=1".to_owned()],
            name => vec!["-p".to_owned(), format!("no:{name}")],
        };
        self.collected.plugins.iter().flat_map(words).collect()
    }

    /// Where unittest finds modules that it found by discovery in a folder.
    fn python_path(&self) -> Option<String> {
        if self.is_pytest() {
            return None;
        }
        let test = self.collected.tests.first()?;
        unittest_output::top_folder(&test.id, &test.file)
    }

    fn run(
        &self,
        ids: &[&str],
        tests: Vec<String>,
        interrupt: &Interrupt,
    ) -> Result<PlainRun, PlainError> {
        let folder = private_folder().map_err(PlainError::Folder)?;
        let report = folder.path().join("report.xml");
        let line = if self.is_pytest() {
            self.pytest_line(folder.path(), &report, tests).map_err(PlainError::Folder)?
        } else {
            self.unittest_line(tests)
        };
        let rootdir = &self.collected.rootdir;
        let (changed, is_read) = (self.changed, self.can_be_read(&line));
        let to_report = self.is_pytest().then_some(report.as_path());
        let task = Task { rootdir, changed, command: &line, is_read, report: to_report };
        let patience = (self.time_max, interrupt);
        let finished = self.sheltered(task, folder.path(), patience)?;
        if !self.changed.is_empty() && finished.exit.code == Some(NOT_COVERED) {
            return Err(PlainError::NotCovered);
        }
        if !self.is_pytest() {
            return Ok(unittest_run(ids, &finished));
        }
        let report = match finished.why {
            FinishedWhy::Exited => read(&report)?,
            FinishedWhy::TimedOut | FinishedWhy::Interrupted => None,
        };
        pytest_run(ids, report, &finished)
    }

    fn sheltered(
        &self,
        task: Task<'_>,
        folder: &Path,
        patience: (Duration, &Interrupt),
    ) -> Result<Finished, PlainError> {
        let project = self.project;
        let line = || {
            let entry = kept_agent::entry(project.kept.as_deref(), folder)?;
            Ok(shelter_line(project, &entry))
        };
        project.shelters.run_to_end(line, task, folder, patience).map_err(|error| match error {
            ShelterError::Folder(source) => PlainError::Folder(source),
            ShelterError::Start(source) => {
                PlainError::Start { program: project.interpreter.program.clone(), source }
            }
        })
    }

    fn pytest_line(
        &self,
        folder: &Path,
        report: &Path,
        tests: Vec<String>,
    ) -> io::Result<CommandLine> {
        let mut arguments: Vec<String> =
            self.project.options.iter().map(|o| o.to_string_lossy().into_owned()).collect();
        arguments.extend(self.stand_back());
        arguments.extend([
            format!("--rootdir={}", self.collected.rootdir),
            "-o".to_owned(),
            format!("cache_dir={}", folder.join("cache").display()),
            "-o".to_owned(),
            "junit_family=xunit2".to_owned(),
            "--junit-prefix=".to_owned(),
            format!("--junit-xml={}", report.display()),
            "--continue-on-collection-errors".to_owned(),
            "--maxfail=0".to_owned(),
            // Nobody reads what it would show, and to make it up takes longer than most tests.
            "--tb=line".to_owned(),
        ]);
        let options = arguments.into_iter().map(OsString::from);
        let interpreter = &self.project.interpreter;
        let tests = match self.fitted(folder, tests)? {
            Fitted::Arguments(tests) => tests,
            Fitted::ByStarter(file) => {
                let starter = ["-c".into(), STARTER.into(), file.into()];
                let arguments = starter.into_iter().chain(options).collect();
                return Ok(self.line(interpreter.program.clone(), arguments));
            }
        };
        let script = interpreter.script.as_ref().filter(|_| self.invocation == Invocation::Script);
        Ok(if let Some(script) = script {
            self.line(script.program.clone().into(), options.chain(tests).collect())
        } else {
            let module = self.module().map(OsString::from).into_iter();
            let arguments = module.chain(options).chain(tests).collect();
            self.line(interpreter.program.clone(), arguments)
        })
    }

    /// Whether the arguments mean the same in a file. How those beyond ASCII are read there is a
    /// matter of the locale.
    fn can_be_read(&self, line: &CommandLine) -> bool {
        let is_plain = |word: &OsString| {
            word.to_str().is_some_and(|word| word.is_ascii() && !word.contains('\n'))
                && !names_plugin(word)
        };
        let n_bytes: usize = line.arguments.iter().map(|word| word.len() + 1).sum();
        self.is_pytest()
            && FILES_OF_ARGUMENTS <= version(&self.collected.runner)
            && n_bytes <= READ_BYTES_MAX
            && line.arguments.iter().all(is_plain)
    }

    /// The tests as they fit a command line.
    fn fitted(&self, folder: &Path, tests: Vec<String>) -> io::Result<Fitted> {
        let n_bytes: usize = tests.iter().map(|test| test.len() + 1).sum();
        if n_bytes <= TESTS_BYTES_MAX {
            return Ok(Fitted::Arguments(tests.into_iter().map(OsString::from).collect()));
        }
        let file = folder.join("tests.txt");
        fs::write(&file, tests.join("\n"))?;
        // Python's lines also end at these, ours do not.
        let is_torn = tests.iter().any(|test| test.contains(['\u{2028}', '\u{2029}']));
        if is_torn || version(&self.collected.runner) < FILES_OF_ARGUMENTS {
            return Ok(Fitted::ByStarter(file));
        }
        let mut at = OsString::from("@");
        at.push(file);
        Ok(Fitted::Arguments(vec![at]))
    }

    fn unittest_line(&self, tests: Vec<String>) -> CommandLine {
        let mut arguments: Vec<OsString> = vec!["-m".into(), "unittest".into(), "-v".into()];
        arguments.extend(self.project.options.iter().cloned());
        arguments.extend(tests.into_iter().map(OsString::from));
        let mut line = self.line(self.project.interpreter.program.clone(), arguments);
        let folder = self.python_path().map(OsString::from);
        line.env.extend(folder.map(|folder| ("PYTHONPATH".into(), Some(folder))));
        line
    }

    fn line(&self, program: OsString, arguments: Vec<OsString>) -> CommandLine {
        let env = env(self.project);
        let current_dir = self.project.current_dir.clone();
        match &self.project.before {
            Some(before) => {
                let script = format!("{before}; exec \"$@\"");
                let mut words = vec!["-c".into(), script.into(), "sh".into(), program];
                words.extend(arguments);
                CommandLine { program: "sh".into(), arguments: words, current_dir, env }
            }
            None => CommandLine { program, arguments, current_dir, env },
        }
    }
}

/// The changes to our environment for a plain runner.
fn env(project: &Project) -> Vec<(OsString, Option<OsString>)> {
    let mut env = vec![("PYTHONDONTWRITEBYTECODE".into(), Some("1".into()))];
    env.extend(project.env.iter().cloned());
    env
}

/// Has processes ready for that many plain runs, which will soon be asked for.
pub(crate) fn expect(project: &Project, n: u32) {
    // Elsewhere the agent lives no longer than one run.
    let Some(entry) = kept_agent::kept_entry(project.kept.as_deref()) else { return };
    project.shelters.start(n, shelter_line(project, &entry), ahead(project));
}

/// How a process is started that will see its own view of the work tree.
fn shelter_line(project: &Project, entry: &Path) -> CommandLine {
    // What is installed there is for the command, not for us.
    let arguments = vec!["-I".into(), "-S".into(), entry.into(), "shelter".into()];
    let current_dir = project.current_dir.clone();
    let program = project.interpreter.program.clone();
    CommandLine { program, arguments, current_dir, env: env(project) }
}

/// How a plain pytest is started before anything is known of its arguments, which it then takes
/// from a file; nothing if it cannot be, or if there is no idle processor to do so.
fn ahead(project: &Project) -> Vec<OsString> {
    let Project { interpreter, runner, options, before, first, .. } = project;
    let has_room = thread::available_parallelism().is_ok_and(|n| 1 < n.get());
    let is_plain = before.is_none() && first.is_none() && !options.iter().any(names_plugin);
    let can_read = || interpreter.pytest().is_some_and(|it| FILES_OF_ARGUMENTS <= version(&it));
    if has_room && is_plain && *runner != Runner::Unittest && can_read() {
        vec![interpreter.program.clone(), "-m".into(), "pytest".into()]
    } else {
        Vec::new()
    }
}

/// Whether a word is one that pytest looks for before it opens a file of arguments.
fn names_plugin(word: &OsString) -> bool {
    word.as_encoded_bytes().starts_with(b"-p")
}

/// Tests, brought to a size that any system takes.
enum Fitted {
    Arguments(Vec<OsString>),
    ByStarter(PathBuf),
}

/// Major and minor version of a pytest.
fn version(runner: &str) -> (u32, u32) {
    let version = runner.trim_start_matches("pytest").trim();
    let mut parts = version.split('.').map(|part| part.parse().unwrap_or(0));
    (parts.next().unwrap_or(0), parts.next().unwrap_or(0))
}

fn read(report: &PathBuf) -> Result<Option<String>, PlainError> {
    let n_bytes = match fs::metadata(report) {
        Ok(found) => found.len(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(PlainError::Folder(error)),
    };
    if REPORT_BYTES_MAX < n_bytes {
        return Err(PlainError::Report(format!("it has {n_bytes} bytes")));
    }
    fs::read_to_string(report).map(Some).map_err(PlainError::Folder)
}

fn pytest_run(
    ids: &[&str],
    report: Option<String>,
    finished: &Finished,
) -> Result<PlainRun, PlainError> {
    let ending = match (finished.why, &report, finished.exit.code) {
        (FinishedWhy::TimedOut, ..) => PlainEnding::TimedOut,
        (FinishedWhy::Interrupted, ..) => PlainEnding::Interrupted,
        (FinishedWhy::Exited, _, Some(USAGE_ERROR)) => PlainEnding::Refused,
        (FinishedWhy::Exited, Some(_), _) => PlainEnding::Complete,
        (FinishedWhy::Exited, None, _) => PlainEnding::Died(finished.exit),
    };
    let xml = report.unwrap_or_else(|| "<none/>".to_owned());
    let cases =
        pytest_report::parse(&xml).map_err(|error| PlainError::Report(error.to_string()))?;
    let (reported, is_in_order, strangers) = pytest_report::assign(ids, cases);
    let tests = reported.into_iter().map(said).collect();
    Ok(PlainRun { tests, ending, is_in_order, strangers, ..outline(finished) })
}

fn said(reported: Option<Reported>) -> Said {
    match reported {
        Some(Reported { outcome, text }) => Said { outcome, text },
        None => Said { outcome: Outcome::NotRun, text: String::new() },
    }
}

fn unittest_run(ids: &[&str], finished: &Finished) -> PlainRun {
    let said = unittest_output::read(ids, &finished.stderr);
    let ending = match (finished.why, &said) {
        (FinishedWhy::TimedOut, _) => PlainEnding::TimedOut,
        (FinishedWhy::Interrupted, _) => PlainEnding::Interrupted,
        (FinishedWhy::Exited, Some(_)) => PlainEnding::Complete,
        (FinishedWhy::Exited, None) if finished.exit.code == Some(2) => PlainEnding::Refused,
        (FinishedWhy::Exited, None) => PlainEnding::Died(finished.exit),
    };
    let unheard = Said { outcome: Outcome::NotRun, text: String::new() };
    let tests = said.unwrap_or_else(|| vec![unheard; ids.len()]);
    PlainRun { tests, ending, ..outline(finished) }
}

/// What is known of a run from its process alone.
fn outline(finished: &Finished) -> PlainRun {
    PlainRun {
        tests: Vec::new(),
        ending: PlainEnding::Complete,
        is_in_order: true,
        strangers: Vec::new(),
        output: format!("{}{}", finished.stdout, finished.stderr),
        duration: finished.duration,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_by_number() {
        for (runner, expected) in [
            ("pytest 6.2.5", (6, 2)),
            ("pytest 8.10.0", (8, 10)),
            ("pytest 9.0.0rc1", (9, 0)),
            ("pytest 10", (10, 0)),
        ] {
            assert_eq!(version(runner), expected, "{runner}");
        }
    }
}
