//! The project's own build tool, without us in the process.
//!
//! Used to check that an agent's runs mean what a plain run means, and to confirm a dependency with
//! the very command that is printed.
//!
//! Surefire cannot be told an order. It runs the tests it is named (`-Dtest=A#x,B#y`) as if nobody
//! had named the others: classes in the order in which it finds them, or, by
//! `-Dsurefire.runOrder=`, in that of the alphabet forwards or backwards; methods in the order of
//! their runner. That is enough for many orders, and for nearly every polluter with its victim: two
//! classes always stand in one of these orders. Where it is not, the command that is shown starts
//! our own launcher.
//!
//! The reports are read where Surefire writes them, in the build folder; it cannot be told another.
//!
//! What Gradle can be told is in [`GradlePlain`]; here it is chosen which of the two is asked.

mod gradle;
mod gradle_nondex;
mod nondex;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use unflake_engine::process::{Finished, FinishedWhy, run_to_end};
use unflake_engine::{Interrupt, PlainEnding, PlainRun, private_folder};
use unflake_model::OutcomeKind;

use crate::build_tool::BuildTool;
use crate::maven::Maven;
use crate::prepared::Prepared;
use crate::project::Project;
use crate::shell;
use crate::surefire_report::{self, Case};
use gradle::GradlePlain;

/// The Surefire that runs single tests of several classes.
const SEVERAL_METHODS: (u32, u32) = (2, 19);
/// What a user may set in the build file, and then cannot be changed from outside.
const DEFAULT_ORDER: &str = "filesystem";

/// The plain runner of a module.
#[derive(Clone, Copy, Debug)]
pub struct Plain<'a> {
    /// The project.
    pub project: &'a Project,
    /// The module.
    pub prepared: &'a Prepared,
    /// How long it may take.
    pub time_max: Duration,
}

/// Who runs the tests of a module.
enum By<'a> {
    Maven(&'a Maven),
    Gradle(GradlePlain<'a>),
}

/// Why there was no plain run.
#[derive(Debug, thiserror::Error)]
pub enum PlainError {
    /// The program could not be started.
    #[error("cannot run `{}`", .program.display())]
    Start {
        /// The program.
        program: OsString,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The build tool cannot run these tests.
    #[error("the build tool is too old to run these tests by itself")]
    NotRun,
    /// A report cannot be read.
    #[error("cannot read the reports of Surefire")]
    Folder(#[source] io::Error),
    /// A report makes no sense.
    #[error("the report `{}` of Surefire makes no sense: {why}", .path.display())]
    Report {
        /// Which.
        path: PathBuf,
        /// Why.
        why: String,
    },
}

impl Plain<'_> {
    /// Runs what the agent collected, as the user would run it.
    pub fn run_suite(&self, interrupt: &Interrupt) -> Result<PlainRun, PlainError> {
        let maven = match self.by() {
            By::Maven(maven) => maven,
            By::Gradle(gradle) => return gradle.run_suite(interrupt),
        };
        let ids: Vec<&str> = self.prepared.ids().collect();
        let mut words = Vec::new();
        if self.has_neighbours() {
            // Of the modules it needs, the code; their tests are not asked for.
            let mut classes = self.prepared.tops();
            classes.dedup();
            words.push(format!("-Dtest={}", classes.join(",")));
        }
        self.run(maven, &ids, words, interrupt)
    }

    /// Runs these tests in this order; `None` if the build tool cannot be told to.
    pub fn run_order(
        &self,
        ids: &[&str],
        interrupt: &Interrupt,
    ) -> Option<Result<PlainRun, PlainError>> {
        match self.by() {
            By::Maven(maven) => Some(self.run(maven, ids, self.expressed(ids)?, interrupt)),
            By::Gradle(gradle) => gradle.run_order(ids, interrupt),
        }
    }

    /// Runs these tests in this order, of which one may come twice, with our own launcher, in a
    /// process of its own: how each ended last.
    pub fn run_launched(
        &self,
        ids: &[&str],
        interrupt: &Interrupt,
    ) -> Result<BTreeMap<String, OutcomeKind>, PlainError> {
        let line = self.prepared.module.launcher_line(ids);
        let start = |source| PlainError::Start { program: line.program.clone(), source };
        let finished = run_to_end(&line, self.time_max, interrupt).map_err(start)?;
        let said = finished.stdout.lines().filter_map(|line| line.split_once("  "));
        let ended = said.filter(|(_, id)| ids.contains(id)).filter_map(|(word, id)| {
            let kind = OutcomeKind::ALL.into_iter().find(|kind| kind.as_str() == word)?;
            Some((id.to_owned(), kind))
        });
        Ok(ended.collect())
    }

    /// The command that runs these tests in this order, to be pasted in the folder of the project.
    pub fn command(&self, ids: &[&str]) -> String {
        let command = match self.by() {
            By::Maven(maven) => self.maven_command(maven, ids),
            By::Gradle(gradle) => gradle.command(ids),
        };
        command.unwrap_or_else(|| self.prepared.module.launcher_command(ids))
    }

    fn maven_command(&self, maven: &Maven, ids: &[&str]) -> Option<String> {
        let words = self.expressed(ids)?;
        let mut typed = maven.typed();
        typed.push("test".to_owned());
        typed.extend(self.place(maven));
        typed.extend(words);
        Some(shell::line(typed.iter().map(String::as_str)))
    }

    /// Whether the build tool can be told to run these tests in this order.
    pub fn can_express(&self, ids: &[&str]) -> bool {
        match self.by() {
            By::Maven(_) => self.expressed(ids).is_some(),
            By::Gradle(gradle) => gradle.is_order(ids),
        }
    }

    /// Who runs these tests.
    fn by(&self) -> By<'_> {
        match &self.project.tool {
            BuildTool::Maven(maven) => By::Maven(maven),
            BuildTool::Gradle(gradle) => {
                let Self { project, prepared, time_max } = *self;
                By::Gradle(GradlePlain { project, gradle, prepared, time_max })
            }
        }
    }

    fn expressed(&self, ids: &[&str]) -> Option<Vec<String>> {
        if version(&self.prepared.module.surefire) < SEVERAL_METHODS {
            return None;
        }
        let order = self.prepared.run_order_of(ids)?;
        let mut words = vec![format!("-Dtest={}", pattern(ids))];
        if order != self.prepared.module.run_order && order != DEFAULT_ORDER {
            words.push(format!("-Dsurefire.runOrder={order}"));
        }
        Some(words)
    }

    fn has_neighbours(&self) -> bool {
        1 < self.project.modules.len() + self.project.left_out.len()
    }

    /// Which module, and with what it needs.
    fn place(&self, maven: &Maven) -> Vec<String> {
        if !self.has_neighbours() {
            return Vec::new();
        }
        let folder = &self.prepared.module.folder;
        let inner = folder.strip_prefix(&maven.folder).unwrap_or(folder);
        let inner = if inner.as_os_str().is_empty() { ".".into() } else { inner.to_string_lossy() };
        let options = &maven.options;
        let is_named = options.windows(2).any(|pair| pair[0] == "-pl" && pair[1] == *inner);
        let mut words = if is_named { Vec::new() } else { vec!["-pl", &*inner] };
        words.extend(Some("-am").filter(|word| !options.iter().any(|option| option == word)));
        // The second has had another name before Surefire 3.
        words.extend(["-DfailIfNoTests=false", "-Dsurefire.failIfNoSpecifiedTests=false"]);
        words.into_iter().map(str::to_owned).collect()
    }

    fn run(
        &self,
        maven: &Maven,
        ids: &[&str],
        words: Vec<String>,
        interrupt: &Interrupt,
    ) -> Result<PlainRun, PlainError> {
        let folder = private_folder().map_err(PlainError::Folder)?;
        let log = folder.path().join("log");
        let before = self.reports().map_err(PlainError::Folder)?;
        let mut arguments: Vec<OsString> =
            ["--offline", "-Dmaven.test.failure.ignore=true", "test"].map(OsString::from).into();
        arguments.extend(["--log-file".into(), log.clone().into()]);
        arguments.extend(self.place(maven).into_iter().chain(words).map(OsString::from));
        let finished = maven
            .call(arguments, self.time_max, interrupt)
            .map_err(|source| PlainError::Start { program: maven.program.clone(), source })?;
        let log = fs::read(&log).unwrap_or_default();
        let log = String::from_utf8_lossy(&log).into_owned();
        let after = self.reports().map_err(PlainError::Folder)?;
        let fresh = after.iter().filter(|(path, time)| before.get(*path) != Some(time));
        let mut cases = Vec::new();
        for (path, _) in fresh {
            cases.extend(read_report(path)?);
        }
        let (tests, is_in_order, strangers) = surefire_report::assign(ids, &cases);
        Ok(PlainRun {
            tests,
            ending: ending(&finished, !cases.is_empty()),
            is_in_order: is_in_order && self.are_classes_in_order(ids, &log),
            strangers,
            output: log + &finished.stdout + &finished.stderr,
            duration: finished.duration,
        })
    }

    /// The reports that are there, and when they were written.
    fn reports(&self) -> io::Result<BTreeMap<PathBuf, SystemTime>> {
        reports_in(&self.prepared.module.reports)
    }

    /// Surefire announces each class before it runs it.
    fn are_classes_in_order(&self, ids: &[&str], log: &str) -> bool {
        let mut wanted: Vec<&str> = ids.iter().filter_map(|id| self.prepared.top(id)).collect();
        wanted.dedup();
        // Modules before ours may have classes of the same name.
        let running = log.lines().filter_map(|line| line.split_once("Running "));
        let mut ran: Vec<&str> =
            running.map(|(_, class)| class.trim()).filter(|c| wanted.contains(c)).collect();
        ran.dedup();
        ran.ends_with(&wanted)
    }
}

/// The reports in a folder, and when they were written.
fn reports_in(folder: &Path) -> io::Result<BTreeMap<PathBuf, SystemTime>> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(BTreeMap::new()),
        entries => entries?,
    };
    let mut reports = BTreeMap::new();
    for entry in entries {
        let entry = entry?;
        let is_report = entry.file_name().as_encoded_bytes().starts_with(b"TEST-");
        if is_report && entry.path().extension().is_some_and(|ending| ending == "xml") {
            reports.insert(entry.path(), entry.metadata()?.modified()?);
        }
    }
    Ok(reports)
}

fn read_report(path: &Path) -> Result<Vec<Case>, PlainError> {
    let xml = fs::read_to_string(path).map_err(PlainError::Folder)?;
    let why = |error: &dyn std::error::Error| error.to_string();
    surefire_report::parse(&xml)
        .map_err(|error| PlainError::Report { path: path.to_owned(), why: why(&error) })
}

/// Everything that the reports in a folder say.
fn read_cases(folder: &Path) -> Result<Vec<Case>, PlainError> {
    let mut cases = Vec::new();
    for path in reports_in(folder).map_err(PlainError::Folder)?.keys() {
        cases.extend(read_report(path)?);
    }
    Ok(cases)
}

fn ending(finished: &Finished, is_reported: bool) -> PlainEnding {
    match finished.why {
        FinishedWhy::TimedOut => PlainEnding::TimedOut,
        FinishedWhy::Interrupted => PlainEnding::Interrupted,
        FinishedWhy::Exited if is_reported => PlainEnding::Complete,
        FinishedWhy::Exited => PlainEnding::Died(finished.exit),
    }
}

/// Tests, as `-Dtest=` names them: methods of one class are put together.
fn pattern(ids: &[&str]) -> String {
    let mut patterns: Vec<String> = Vec::new();
    let mut latest = None;
    for id in ids {
        let (class, method) = id.split_once('#').unwrap_or((id, ""));
        match patterns.last_mut() {
            Some(pattern) if latest == Some(class) => pattern.extend(["+", method]),
            _ => patterns.push((*id).to_owned()),
        }
        latest = Some(class);
    }
    patterns.join(",")
}

/// Major and minor version.
fn version(text: &str) -> (u32, u32) {
    let mut parts = text.split(['.', '-']).map(|part| part.parse().unwrap_or(0));
    (parts.next().unwrap_or(0), parts.next().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn methods_of_a_class_are_named_together() {
        assert_eq!(pattern(&["a.B#x", "a.B#y", "a.C#z[0]", "a.D"]), "a.B#x+y,a.C#z[0],a.D");
    }

    #[test]
    fn versions_are_compared_by_number() {
        assert_eq!(
            ["2.9", "2.12.4", "3.2.5", "3.0.0-M7"].map(version),
            [(2, 9), (2, 12), (3, 2), (3, 0)]
        );
    }
}
