//! Plain Gradle, without us in the process of the tests.
//!
//! Gradle can be told which tests to run (`--tests`), not in which order: classes come as it finds
//! them, methods as their runner has them. So it shows a polluter and its victim if they stand in
//! that order anyway; for everything else there is our launcher.
//!
//! How each test ended is heard from Gradle while it runs (`listen.gradle`). The reports it writes
//! say the same, but not in which order classes were run, may be switched off, and from Gradle 7 on
//! name invocations of a test by what they show to people alone.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::Path;
use std::time::Duration;

use serde::Deserialize;
use unflake_engine::{Interrupt, PlainRun, private_folder};
use unflake_model::Outcome;

use super::{PlainError, ending};
use crate::gradle::Gradle;
use crate::module::Task;
use crate::prepared::Prepared;
use crate::project::Project;
use crate::shell;
use crate::surefire_report::{self, Case, FAILED};

const SCRIPT: &str = include_str!("listen.gradle");
const HEARD: &str = "heard.json";
/// What a class is called as a test, when something around its tests fails.
const AROUND: [&str; 3] = ["classMethod", "initializationError", "executionError"];

/// The plain runner of one of Gradle's tasks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GradlePlain<'a> {
    pub(crate) project: &'a Project,
    pub(crate) gradle: &'a Gradle,
    pub(crate) prepared: &'a Prepared,
    pub(crate) time_max: Duration,
}

/// What was heard about a test.
#[derive(Deserialize)]
struct Heard {
    task: String,
    class: String,
    name: String,
    ended: String,
    text: String,
}

impl GradlePlain<'_> {
    /// Runs all tests of the task.
    pub(crate) fn run_suite(&self, interrupt: &Interrupt) -> Result<PlainRun, PlainError> {
        if !self.task().is_run {
            return Err(PlainError::NotRun);
        }
        let ids: Vec<&str> = self.prepared.ids().collect();
        let words = self.tasks().map(OsString::from);
        self.run(&ids, words, interrupt)
    }

    /// Runs these tests, which Gradle has to put into this order by itself.
    pub(crate) fn run_order(
        &self,
        ids: &[&str],
        interrupt: &Interrupt,
    ) -> Option<Result<PlainRun, PlainError>> {
        self.is_order(ids)
            .then(|| self.run(ids, self.words(ids).into_iter().map(OsString::from), interrupt))
    }

    /// What is typed for it; `None` if it cannot be told.
    pub(crate) fn command(&self, ids: &[&str]) -> Option<String> {
        let typed: Vec<String> = self.gradle.typed().into_iter().chain(self.words(ids)).collect();
        self.is_order(ids).then(|| shell::line(typed.iter().map(String::as_str)))
    }

    /// Whether these tests come in this order if they are named.
    pub(crate) fn is_order(&self, ids: &[&str]) -> bool {
        let is_possible = self.task().is_run && (self.task().is_one_process || ids.len() == 1);
        is_possible && self.prepared.run_order_of(ids).is_some()
    }

    /// The task and these tests, as Gradle names them.
    pub(super) fn words(&self, ids: &[&str]) -> Vec<String> {
        let tests = ids.iter().flat_map(|id| ["--tests".to_owned(), id.replacen('#', ".", 1)]);
        self.tasks().into_iter().chain(tests).collect()
    }

    fn tasks(&self) -> [String; 2] {
        [cleaner(&self.task().path), self.task().path.clone()]
    }

    pub(super) fn task(&self) -> &Task {
        &self.prepared.module.task
    }

    pub(super) fn run(
        &self,
        ids: &[&str],
        words: impl IntoIterator<Item = OsString>,
        interrupt: &Interrupt,
    ) -> Result<PlainRun, PlainError> {
        let folder = private_folder().map_err(PlainError::Folder)?;
        let script = folder.path().join("listen.gradle");
        fs::write(&script, SCRIPT).map_err(PlainError::Folder)?;
        let mut arguments: Vec<OsString> = vec!["--offline".into(), "-I".into(), script.into()];
        arguments.extend(words);
        let finished = self
            .gradle
            .call(arguments, self.time_max, interrupt)
            .map_err(|source| PlainError::Start { program: self.gradle.program.clone(), source })?;
        let cases = self.heard(&folder.path().join(HEARD)).map_err(PlainError::Folder)?;
        let (tests, is_in_order, strangers) = surefire_report::assign(ids, &cases);
        Ok(PlainRun {
            tests,
            ending: ending(&finished, !cases.is_empty()),
            is_in_order: is_in_order && surefire_report::is_in_order(ids, &cases),
            strangers,
            output: finished.stdout + &finished.stderr,
            duration: finished.duration,
        })
    }

    fn heard(&self, file: &Path) -> io::Result<Vec<Case>> {
        let text = match fs::read_to_string(file) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            text => text?,
        };
        let heard = text.lines().map(serde_json::from_str).collect::<Result<Vec<Heard>, _>>()?;
        Ok(heard.into_iter().filter(|it| it.task == self.task().path).map(case).collect())
    }
}

fn case(heard: Heard) -> Case {
    let outcome = match heard.ended.as_str() {
        "SUCCESS" => Outcome::Passed,
        "SKIPPED" => Outcome::Skipped,
        _ => FAILED,
    };
    let is_around = AROUND.contains(&heard.name.as_str());
    let name = if is_around { String::new() } else { heard.name };
    Case { class: heard.class, name, outcome, text: heard.text, overcame: None }
}

/// The task that makes Gradle forget what came of this one: it would run nothing if all is
/// known, and classes that failed before the others.
fn cleaner(task: &str) -> String {
    let (owner, name) = task.rsplit_once(':').unwrap_or(("", task));
    let (first, rest) = name.split_at(name.chars().next().map_or(0, char::len_utf8));
    format!("{owner}:clean{}{rest}", first.to_uppercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_came_of_a_task_is_forgotten_by_a_task_of_its_name() {
        assert_eq!(cleaner(":a:b:integTest"), ":a:b:cleanIntegTest");
        assert_eq!(cleaner(":test"), ":cleanTest");
    }
}
