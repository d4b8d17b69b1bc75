//! What would Gradle run?
//!
//! Gradle itself is asked, in one build: a script of ours (`ask.gradle`), given to it with `-I`,
//! lets everything be built that tests need, and in place of each task that runs tests writes down
//! how it would. It says which classes those are by Gradle's own scan of the class files, in whose
//! order Gradle runs them, and with which class path, flags and variables. Tasks may be named among
//! the user's options (`unflake detect -- :core:test`); else it is every task called `test`.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::DeserializeOwned;
use unflake_engine::process::FinishedWhy;
use unflake_engine::{Interrupt, private_folder};

use super::Gradle;
use crate::jars;
use crate::module::{LeftOut, name_in};
use crate::project_error::ProjectError;
use crate::surroundings::Surroundings;

const SCRIPT: &str = include_str!("ask.gradle");
const BUILD: &str = "build.json";
const LEFT: &str = "left.json";

/// What was said about a build.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) build: Build,
    pub(crate) tasks: Vec<Asked>,
    /// Projects whose tests could not be built.
    pub(crate) left_out: Vec<LeftOut>,
    /// The end of what Gradle printed.
    pub(crate) log: String,
}

/// The build itself.
#[derive(Clone, Debug, Default, Deserialize)]
pub(crate) struct Build {
    /// The home of the Java that Gradle runs on, and its version.
    pub(crate) home: PathBuf,
    pub(crate) version: String,
    /// The version of Gradle.
    pub(crate) gradle: String,
    /// Tasks, and options of tasks, among the user's options.
    words: Vec<String>,
}

/// A task that runs tests.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Asked {
    pub(crate) task: String,
    pub(crate) folder: PathBuf,
    /// The class of Gradle that knows the framework.
    pub(crate) framework: String,
    /// Whether this Gradle is too old to run these tests itself.
    #[serde(rename = "blind")]
    pub(crate) is_blind: bool,
    pub(crate) java: Option<PathBuf>,
    pub(crate) flags: Vec<String>,
    pub(crate) env: BTreeMap<String, String>,
    pub(crate) current_dir: PathBuf,
    pub(crate) class_path: Vec<String>,
    /// Where the classes of the whole project are.
    pub(crate) folders: Vec<String>,
    pub(crate) classes: Vec<String>,
    pub(crate) groups: Vec<String>,
    pub(crate) excluded_groups: Vec<String>,
    pub(crate) engines: Vec<String>,
    pub(crate) excluded_engines: Vec<String>,
    /// Of the build's own filter.
    pub(crate) patterns: Vec<String>,
    pub(crate) excluded_patterns: Vec<String>,
    /// How many processes at once, and after how many classes a new one.
    pub(crate) forks: u64,
    pub(crate) fork_every: u64,
    /// Jars that we may need, as far as they were to be had.
    jars: Vec<PathBuf>,
    pub(crate) notes: Vec<String>,
}

/// A task that was not reached.
#[derive(Deserialize)]
struct Left {
    task: String,
    folder: PathBuf,
}

/// Builds, and has it written down what would be run. From then on `gradle` has the jars we may
/// need, knows which of the user's options are tasks, and is not given them any more.
pub(crate) fn ask(
    gradle: &mut Gradle,
    around: &Surroundings,
    interrupt: &Interrupt,
) -> Result<Answer, ProjectError> {
    let folder = private_folder().map_err(ProjectError::Folder)?;
    let script = folder.path().join("ask.gradle");
    let text = SCRIPT.replace("@jars@", &jars::all().join(" "));
    fs::write(&script, text).map_err(ProjectError::Folder)?;
    let words: Vec<OsString> = vec!["--continue".into(), "-I".into(), script.into()];
    let done = gradle
        .call(words, around.build_time_max, interrupt)
        .map_err(|source| ProjectError::NoGradle { program: gradle.program.clone(), source })?;
    match done.why {
        FinishedWhy::TimedOut => return Err(ProjectError::TimedOut(around.build_time_max)),
        FinishedWhy::Interrupted => return Err(ProjectError::Interrupted),
        FinishedWhy::Exited => (),
    }
    let log = done.stdout + &done.stderr;
    let read = |error: io::Error| ProjectError::Folder(error);
    let Some(build) = read_json::<Build>(&folder.path().join(BUILD)).map_err(read)? else {
        return Err(ProjectError::NoAnswer(complaint(&log)));
    };
    gradle.options.retain(|option| !build.words.iter().any(|word| option == word.as_str()));
    let tasks = records(folder.path()).map_err(read)?;
    let left: Option<Vec<Left>> = read_json(&folder.path().join(LEFT)).map_err(read)?;
    if left.is_none() && tasks.is_empty() {
        // It did not come as far as the first task.
        return Err(ProjectError::NoAnswer(complaint(&log)));
    }
    let left_out = left_out(&gradle.folder, &left.unwrap_or_default(), &log);
    let most = tasks.iter().map(|task| &task.jars).max_by_key(|jars| jars.len());
    gradle.jars = most.cloned().unwrap_or_default();
    Ok(Answer { build, tasks, left_out, log })
}

/// What was written about each task, in the order in which they were built.
fn records(folder: &Path) -> io::Result<Vec<Asked>> {
    let entries = fs::read_dir(folder)?;
    let mut files = entries.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()?;
    files.retain(|file| {
        let name = file.file_stem().unwrap_or_default().as_encoded_bytes();
        file.extension().is_some_and(|it| it == "json") && name.iter().all(u8::is_ascii_digit)
    });
    files.sort();
    let read = files.iter().map(|file| read_json(file));
    Ok(read.collect::<io::Result<Vec<_>>>()?.into_iter().flatten().collect())
}

/// `None` if it was not written.
fn read_json<T: DeserializeOwned>(file: &Path) -> io::Result<Option<T>> {
    match fs::read(file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        bytes => Ok(Some(serde_json::from_slice(&bytes?)?)),
    }
}

/// Projects that failed, and those that needed them.
fn left_out(project: &Path, left: &[Left], log: &str) -> Vec<LeftOut> {
    let failed = failed_tasks(log);
    let mut left_out: Vec<LeftOut> = Vec::new();
    for Left { task, folder } in left {
        let of = owner(task);
        let own = failed.iter().find(|(failed, _)| owner(failed) == of);
        let why = match (own, failed.first()) {
            (Some((_, why)), _) => why.clone(),
            (None, Some((other, _))) => format!("it was not built, because `{other}` failed"),
            (None, None) => "it was not built".to_owned(),
        };
        let module = name_in(project, folder);
        if !left_out.iter().any(|known| known.module == module) {
            left_out.push(LeftOut { module, why });
        }
    }
    left_out
}

/// The path of the project that has a task.
fn owner(task: &str) -> &str {
    task.rsplit_once(':').map_or("", |(owner, _)| owner)
}

/// Tasks that failed, each with the reason.
fn failed_tasks(log: &str) -> Vec<(String, String)> {
    let mut failed: Vec<(String, String)> = Vec::new();
    let mut lines = log.lines();
    while let Some(line) = lines.next() {
        let Some((_, after)) = line.split_once("Execution failed for task '") else { continue };
        let Some((task, _)) = after.split_once('\'') else { continue };
        let why = lines.clone().next().unwrap_or_default().trim().trim_start_matches("> ");
        let why = format!("`{task}` failed: {why}{}", first_fault(log, task));
        failed.push((task.to_owned(), why));
    }
    failed
}

/// The compiler's first complaint, if the task is one of a compiler.
fn first_fault(log: &str, task: &str) -> String {
    let is_fault = |line: &&str| line.contains(": error: ") || line.starts_with("e: ");
    let fault = log.lines().find(is_fault).filter(|_| task.contains(":compile"));
    fault.map_or_else(String::new, |line| format!(" {}", line.trim()))
}

/// Why there is no build at all: a script that is wrong, a plugin that is not to be had.
fn complaint(log: &str) -> String {
    let wrong = log.split_once("* What went wrong:").map_or(log, |(_, after)| after);
    let wrong = wrong.split_once("* Try:").map_or(wrong, |(before, _)| before);
    wrong.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG: &str = "/p/broken/src/main/java/B.java:4: error: ';' expected\n\
        FAILURE: Build failed with an exception.\n\n* What went wrong:\n\
        Execution failed for task ':broken:compileJava'.\n\
        > Compilation failed; see the compiler error output for details.\n\n* Try:\nRun\n";

    #[test]
    fn projects_that_do_not_compile_are_named_and_those_that_need_them() {
        let left = |task: &str, folder: &str| Left { task: task.into(), folder: folder.into() };
        let left = [left(":broken:test", "/p/broken"), left(":user:test", "/p/user")];
        let left_out = left_out(Path::new("/p"), &left, LOG);
        let said: Vec<(&str, &str)> =
            left_out.iter().map(|it| (it.module.as_str(), it.why.as_str())).collect();
        let broken = "`:broken:compileJava` failed: Compilation failed; see the compiler error \
            output for details. /p/broken/src/main/java/B.java:4: error: ';' expected";
        let user = "it was not built, because `:broken:compileJava` failed";
        assert_eq!(said, [("broken", broken), ("user", user)]);
    }

    #[test]
    fn of_a_long_complaint_the_reason_is_shown() {
        assert_eq!(
            complaint("x\n* What went wrong:\nno such plugin\n\n* Try:\ny"),
            "no such plugin"
        );
    }
}
