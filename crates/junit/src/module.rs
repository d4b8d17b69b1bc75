//! How are the tests of one module run?
//!
//! A module is one thing that Surefire runs, a Maven module or one of several executions in it, or
//! one test task of Gradle. Its [`Plan`] is what the agent is told; it is written to a file with
//! what was collected, and an agent that starts reads both.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use serde::Serialize;
use unflake_engine::process::CommandLine;

use crate::agent::{MAIN, key};
use crate::java_flags::{self, quick};
use crate::jdk::Jdk;
use crate::properties::{self, numbered};
use crate::shell::{self, java_word};
use crate::surefire_recorder::Recorded;

/// The name of the file with the plan.
pub(crate) const PLAN: &str = "plan.json";
const ARGUMENTS: &str = "java.args";

/// The Java from which on `java @FILE` is known.
const FILES_SINCE: u32 = 9;

/// One thing that Surefire or Gradle runs.
#[derive(Clone, Debug)]
pub struct Module {
    /// Its folder within the project (`.` for the project's own).
    pub name: String,
    /// Its folder.
    pub folder: PathBuf,
    /// What is different from what the build tool would do, for people.
    pub notes: Vec<String>,
    /// The order in which Surefire takes classes.
    pub(crate) run_order: String,
    /// The version of Surefire.
    pub(crate) surefire: String,
    /// Where Surefire writes what came of its tests.
    pub(crate) reports: PathBuf,
    /// The task by which Gradle runs it; the empty one under Maven.
    pub(crate) task: Task,
    pub(crate) current_dir: PathBuf,
    pub(crate) flags: Vec<String>,
    pub(crate) env: Vec<(OsString, OsString)>,
    pub(crate) class_path: Vec<String>,
    pub(crate) plan: Plan,
    pub(crate) java: OsString,
    /// The number people call that Java by.
    pub(crate) feature: u32,
    pub(crate) home: PathBuf,
}

/// A task of Gradle's, as far as it can be told to run tests.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Task {
    /// As it is typed, `:core:test`.
    pub(crate) path: String,
    /// Whether Gradle runs these tests itself.
    pub(crate) is_run: bool,
    /// Whether all of them are run in one process.
    pub(crate) is_one_process: bool,
}

/// A module that cannot be run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// Its name.
    pub module: String,
    /// The reason, for people.
    pub why: String,
}

/// What the agent is told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Plan {
    pub(crate) rootdir: String,
    pub(crate) classes: Vec<String>,
    pub(crate) platform: bool,
    pub(crate) properties: BTreeMap<String, String>,
    pub(crate) configuration: BTreeMap<String, String>,
    pub(crate) groups: Vec<String>,
    pub(crate) excluded_groups: Vec<String>,
    pub(crate) included_engines: Vec<String>,
    pub(crate) excluded_engines: Vec<String>,
    pub(crate) folders: Vec<String>,
    /// As it is to be searched, if Java is given another.
    pub(crate) class_path: Option<String>,
}

impl Module {
    /// From what was recorded in a project; `Err` if it is nothing we can run.
    pub(crate) fn new(project: &Path, recorded: Recorded) -> Result<Self, LeftOut> {
        let Recorded { current_dir, flags, env, settings, properties } = recorded;
        let setting = |name: &str| settings.get(name).cloned().unwrap_or_default();
        let folder = properties.get("basedir").map_or_else(|| current_dir.clone(), PathBuf::from);
        let name = name_in(project, &folder);
        let provider = setting("providerConfiguration");
        let mut class_path = numbered(&settings, "classPathUrl.");
        class_path.extend(numbered(&settings, "surefireClassPathUrl."));
        let platform = provider.contains(".junitplatform.");
        let has = |start: &str| {
            class_path.iter().any(|e| e.rsplit('/').next().is_some_and(|n| n.starts_with(start)))
        };
        let is_junit4 = has("junit-4") || has("junit-dep-4");
        if !(platform || provider.contains(".junit") && is_junit4) {
            let why = format!("its tests are run by `{provider}`, which is not supported");
            return Err(LeftOut { module: name, why });
        }
        let mut notes = Vec::new();
        let run_order = setting("runOrder");
        let classes = in_order(numbered(&settings, "tc."), &run_order, &mut notes);
        let list = |name: &str| words(&setting(name));
        let plan = Plan {
            rootdir: folder.display().to_string(),
            classes,
            platform,
            configuration: properties::parse(setting("configurationParameters").as_bytes()),
            groups: list("groups"),
            excluded_groups: list("excludedGroups"),
            included_engines: list("includejunit5engines"),
            excluded_engines: list("excludejunit5engines"),
            folders: class_path.iter().filter(|e| Path::new(e).is_dir()).cloned().collect(),
            class_path: None,
            properties,
        };
        let has_groups = !plan.groups.is_empty() || !plan.excluded_groups.is_empty();
        if has_groups && !platform {
            notes.push("groups of JUnit 4 are not heeded: all tests are run".to_owned());
        }
        if !setting("forkTestSet").is_empty() || setting("preferTestsFromInStream") == "true" {
            notes.push("Surefire runs these classes in several processes".to_owned());
        }
        Ok(Self {
            name,
            folder,
            notes,
            run_order,
            surefire: version_of(&class_path, "surefire-api-"),
            reports: setting("reportsDirectory").into(),
            task: Task::default(),
            current_dir,
            flags: quick(flags).into_iter().chain(["-ea".to_owned()]).collect(),
            env,
            class_path,
            plan,
            java: OsString::new(),
            feature: 0,
            home: PathBuf::new(),
        })
    }

    pub(crate) fn class_path(&self) -> &[String] {
        &self.class_path
    }

    /// Who runs its tests, with their versions, as far as jars on the class path tell.
    pub fn runners(&self) -> Vec<String> {
        let known = [("JUnit", "junit-"), ("JUnit", "junit-dep-")]
            .into_iter()
            .chain([("Jupiter", "junit-jupiter-api-"), ("Surefire", "surefire-api-")]);
        let versions = known.map(|(name, start)| (name, version_of(&self.class_path, start)));
        let there = versions.filter(|(_, version)| !version.is_empty());
        there.map(|(name, version)| format!("{name} {version}")).collect()
    }

    /// Whether both are the same tests: Surefire may start several processes for them.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        self.folder == other.folder && self.plan.classes == other.plan.classes
    }

    /// Completes it with what is known of the project.
    pub(crate) fn settle(&mut self, jdk: &Jdk, agent: &Path, cache: &Path, others: &[Self]) {
        let n_same = others.iter().filter(|other| other.folder == self.folder).count();
        if 0 < n_same {
            self.name = format!("{} ({})", self.name, n_same + 1);
        }
        self.java = jdk.program("java");
        self.feature = jdk.feature();
        self.flags.retain(|flag| java_flags::is_known(flag, self.feature));
        self.class_path.push(agent.display().to_string());
        let key = key([self.name.as_str(), &self.plan.rootdir]);
        self.home = cache.join("module").join(key);
    }

    /// What Java is given before the plan.
    pub(crate) fn start(&self) -> Vec<String> {
        self.words(&[], &self.class_path, &[MAIN])
    }

    /// What Java is given: its flags and these, this class path, and the rest.
    pub(crate) fn words(&self, flags: &[String], path: &[String], rest: &[&str]) -> Vec<String> {
        let mut words = [&self.flags, flags].concat();
        words.extend(["-cp".to_owned(), path.join(":")]);
        words.extend(rest.iter().map(|&word| word.to_owned()));
        words
    }

    /// The file that an agent is told the plan by.
    pub(crate) fn plan_file(&self) -> PathBuf {
        self.home.join(PLAN)
    }

    /// What Java is given before the tests that a person wants to run.
    fn run_words(&self) -> Vec<String> {
        let mut words = self.start();
        words.extend([self.plan_file().display().to_string(), "--run".to_owned()]);
        words
    }

    /// All of it as a file, for a command that can be pasted: where, and what is in it.
    pub(crate) fn arguments_file(&self) -> (PathBuf, String) {
        let text = self.run_words().iter().map(|word| java_word(word) + "\n").collect();
        (self.home.join(ARGUMENTS), text)
    }

    /// The same, by that file where Java can read it.
    fn launcher_words(&self) -> Vec<String> {
        if self.feature < FILES_SINCE {
            return self.run_words();
        }
        vec![format!("@{}", self.home.join(ARGUMENTS).display())]
    }

    /// The command that runs these tests in this order without the build tool.
    pub(crate) fn launcher_command(&self, ids: &[&str]) -> String {
        let java = self.java.to_string_lossy();
        let start = self.launcher_words();
        let words = [&*java].into_iter().chain(start.iter().map(String::as_str));
        let line = shell::line(words.chain(ids.iter().copied()));
        format!("cd {} && {line}", shell::quote(&self.current_dir.display().to_string()))
    }

    /// The same, as it is run.
    pub(crate) fn launcher_line(&self, ids: &[&str]) -> CommandLine {
        let start = self.launcher_words().into_iter().map(OsString::from);
        CommandLine {
            program: self.java.clone(),
            arguments: start.chain(ids.iter().map(OsString::from)).collect(),
            current_dir: self.current_dir.clone(),
            env: self.changes_of_env(),
        }
    }

    pub(crate) fn changes_of_env(&self) -> Vec<(OsString, Option<OsString>)> {
        self.env.iter().map(|(name, value)| (name.clone(), Some(value.clone()))).collect()
    }
}

/// What people call the module in a folder of a project.
pub(crate) fn name_in(project: &Path, folder: &Path) -> String {
    match folder.strip_prefix(project) {
        Ok(inner) if inner.as_os_str().is_empty() => ".".to_owned(),
        Ok(inner) => inner.display().to_string(),
        Err(_) => folder.display().to_string(),
    }
}

/// Classes in the order in which Surefire runs them, from that in which it found them.
fn in_order(mut classes: Vec<String>, run_order: &str, notes: &mut Vec<String>) -> Vec<String> {
    match run_order {
        "" | "filesystem" => (),
        "alphabetical" => classes.sort(),
        "reversealphabetical" => classes.sort_by(|one, other| other.cmp(one)),
        other => notes.push(format!(
            "Surefire's run order is `{other}`; the order in which it finds classes is taken"
        )),
    }
    classes
}

fn words(text: &str) -> Vec<String> {
    let words = text.split(',').map(str::trim).filter(|word| !word.is_empty());
    words.map(str::to_owned).collect()
}

fn version_of(class_path: &[String], start: &str) -> String {
    let names = class_path.iter().filter_map(|entry| entry.rsplit('/').next());
    let versions = names.filter_map(|name| name.strip_prefix(start)?.strip_suffix(".jar"));
    // `junit-` begins many names.
    let mut versions = versions.filter(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    versions.next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_in_surefires_order() {
        let mut notes = Vec::new();
        let mut order = |name: &str| {
            in_order(["b", "a", "c"].map(str::to_owned).to_vec(), name, &mut notes).concat()
        };
        assert_eq!(
            ["filesystem", "alphabetical", "reversealphabetical", "random"].map(&mut order),
            ["bac", "abc", "cba", "bac"]
        );
        assert_eq!(notes.len(), 1);
    }
}
