//! What is there to run in a folder?
//!
//! One build by the project's own build tool, in which Surefire is recorded ([`Recorder`]) or
//! Gradle is asked ([`gradle::ask`]). After that the build tool is not needed any more. A module
//! that does not compile is left out and named; the others go on.

use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::time::Duration;

use unflake_engine::process::FinishedWhy;
use unflake_engine::{Interrupt, private_folder};

use crate::agent;
use crate::build_tool::BuildTool;
use crate::gradle::{self, Gradle};
use crate::jdk::{Jdk, OLDEST};
use crate::maven::{self, Maven};
use crate::module::{LeftOut, Module};
use crate::project_error::ProjectError;
use crate::surefire_recorder::{Recorded, Recorder};
use crate::surroundings::Surroundings;

/// Asking Maven for its version takes a second, unless its wrapper is to be downloaded first.
const VERSION_TIME_MAX: Duration = Duration::from_mins(5);
/// How much of a log is shown.
const LOG_LINES_MAX: usize = 30;

/// A project whose tests can be run.
#[derive(Clone, Debug)]
pub struct Project {
    /// Its build tool.
    pub tool: BuildTool,
    /// The Java that its tests run on, those of its first module if they differ.
    pub jdk: Jdk,
    /// Those with tests, in the order in which they are built.
    pub modules: Vec<Module>,
    /// Those that could not be built.
    pub left_out: Vec<LeftOut>,
    /// What else is to be said about the build, for people.
    pub notes: Vec<String>,
}

impl Project {
    /// Builds the project in this folder, and finds out how its tests are run.
    pub fn find(around: &Surroundings, interrupt: &Interrupt) -> Result<Self, ProjectError> {
        let folder = around.folder.canonicalize().map_err(ProjectError::Folder)?;
        if folder.join("pom.xml").is_file() {
            Self::of_maven(&folder, around, interrupt)
        } else if gradle::is_project(&folder) {
            Self::of_gradle(&folder, around, interrupt)
        } else {
            Err(ProjectError::NoBuild(folder))
        }
    }

    fn of_maven(
        folder: &Path,
        around: &Surroundings,
        interrupt: &Interrupt,
    ) -> Result<Self, ProjectError> {
        let maven = Maven::of(folder, &around.options);
        let jdk = java_of(&maven, interrupt)?;
        let (recorded, log) = record(&maven, &jdk, around, interrupt)?;
        let broken = maven::broken_modules(&log).into_iter();
        let mut found = Found::default();
        found.left_out.extend(broken.map(|(module, why)| LeftOut { module, why }));
        for recorded in recorded {
            let module = Module::new(folder, recorded).map(|module| (jdk.clone(), module));
            found.add(module, around, interrupt)?;
        }
        found.project(BuildTool::Maven(maven), jdk, &log)
    }

    fn of_gradle(
        folder: &Path,
        around: &Surroundings,
        interrupt: &Interrupt,
    ) -> Result<Self, ProjectError> {
        let program = "gradle".into();
        let (mut gradle, note) = Gradle::of(folder, around, interrupt)
            .map_err(|source| ProjectError::NoGradle { program, source })?;
        let answer = gradle::ask(&mut gradle, around, interrupt)?;
        let build = &answer.build;
        let mut jdk = Jdk { home: build.home.clone(), version: build.version.clone() };
        let mut found = Found { left_out: answer.left_out, ..Found::default() };
        for asked in answer.tasks {
            let module = gradle::module(folder, build, asked).and_then(|(jdk, module)| {
                let refused = |error: ProjectError| LeftOut {
                    module: module.name.clone(),
                    why: error.to_string(),
                };
                Ok((usable(jdk).map_err(refused)?, module))
            });
            if let (Ok((of_tests, _)), true) = (&module, found.modules.is_empty()) {
                jdk = of_tests.clone();
            }
            found.add(module, around, interrupt)?;
        }
        let project = found.project(BuildTool::Gradle(gradle), jdk, &answer.log)?;
        Ok(Self { notes: note.into_iter().collect(), ..project })
    }
}

/// Modules that can be run, and those that cannot.
#[derive(Default)]
struct Found {
    modules: Vec<Module>,
    left_out: Vec<LeftOut>,
}

impl Found {
    /// Another one, with the Java that runs it.
    fn add(
        &mut self,
        module: Result<(Jdk, Module), LeftOut>,
        around: &Surroundings,
        interrupt: &Interrupt,
    ) -> Result<(), ProjectError> {
        match module {
            Ok((_, module)) if self.modules.iter().any(|known| known.is_same(&module)) => (),
            Ok((jdk, mut module)) => {
                let path = module.class_path();
                let agent = agent::classes(&jdk, path, &around.cache, interrupt)?;
                module.settle(&jdk, &agent, &around.cache, &self.modules);
                self.modules.push(module);
            }
            Err(without) => self.left_out.push(without),
        }
        Ok(())
    }

    fn project(self, tool: BuildTool, jdk: Jdk, log: &str) -> Result<Project, ProjectError> {
        let Self { modules, left_out } = self;
        if modules.is_empty() {
            return Err(ProjectError::NoTests { left_out, log: end_of(log) });
        }
        Ok(Project { tool, jdk, modules, left_out, notes: Vec::new() })
    }
}

fn java_of(maven: &Maven, interrupt: &Interrupt) -> Result<Jdk, ProjectError> {
    let said = maven
        .call(vec!["-version".into()], VERSION_TIME_MAX, interrupt)
        .map_err(|source| ProjectError::NoMaven { program: maven.program.clone(), source })?;
    let Some(jdk) = Jdk::named_by(&said.stdout) else {
        let text = (said.stdout + &said.stderr).trim().to_owned();
        return Err(ProjectError::NoJava { text });
    };
    usable(jdk)
}

/// A Java that the agent can be compiled with and run on.
fn usable(jdk: Jdk) -> Result<Jdk, ProjectError> {
    if !jdk.has("javac") {
        return Err(ProjectError::NoCompiler(jdk.home));
    }
    if jdk.feature() < OLDEST {
        return Err(ProjectError::OldJava(jdk.version));
    }
    Ok(jdk)
}

/// Builds, and records; offline first, because that is quicker and changes nothing.
fn record(
    maven: &Maven,
    jdk: &Jdk,
    around: &Surroundings,
    interrupt: &Interrupt,
) -> Result<(Vec<Recorded>, String), ProjectError> {
    let folder = private_folder().map_err(ProjectError::Folder)?;
    let recorder = Recorder::new(folder.path(), jdk).map_err(ProjectError::Folder)?;
    let log = folder.path().join("log");
    for offline in [true, false] {
        recorder.clear().map_err(ProjectError::Folder)?;
        let words = build_words(&recorder, &log, offline);
        let done = maven
            .call(words, around.build_time_max, interrupt)
            .map_err(|source| ProjectError::NoMaven { program: maven.program.clone(), source })?;
        match done.why {
            FinishedWhy::TimedOut => return Err(ProjectError::TimedOut(around.build_time_max)),
            FinishedWhy::Interrupted => return Err(ProjectError::Interrupted),
            FinishedWhy::Exited => (),
        }
        let text = fs::read(&log).map_or_else(
            |_| done.stdout + &done.stderr,
            |bytes| String::from_utf8_lossy(&bytes).into_owned(),
        );
        if !offline || !maven::needs_network(&text) {
            let recorded = recorder.read().map_err(ProjectError::Folder)?;
            return Ok((recorded, text));
        }
    }
    Ok((Vec::new(), String::new()))
}

fn build_words(recorder: &Recorder, log: &Path, offline: bool) -> Vec<OsString> {
    let mut jvm = OsString::from("-Djvm=");
    jvm.push(recorder.program());
    let mut words: Vec<OsString> = vec![
        "--log-file".into(),
        log.into(),
        "--fail-never".into(),
        "-Dmaven.test.failure.ignore=true".into(),
        // Our own classes could not be reached from within a module.
        "-Dsurefire.useModulePath=false".into(),
        jvm,
    ];
    if offline {
        words.push("--offline".into());
    }
    words.push("test".into());
    words
}

fn end_of(log: &str) -> String {
    let lines: Vec<&str> = log.lines().collect();
    lines[lines.len().saturating_sub(LOG_LINES_MAX)..].join("\n")
}
