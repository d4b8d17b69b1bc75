//! Which tests does a module have, and how are they started?
//!
//! The agent collects them, in a process of its own. What it says is kept beside the plan, and an
//! agent that starts reads both.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use serde::Deserialize;
use unflake_engine::process::{CommandLine, FinishedWhy, run_to_end};
use unflake_engine::{AgentFiles, Interrupt, Launch, Limits, Start, Transport};
use unflake_model::Control;

use crate::agent::MAIN;
use crate::class_archive::{Archive, Interrupted};
use crate::module::{Module, PLAN};
use crate::run_order::{self, Collected};

const COLLECTED: &str = "collected.json";

/// How long the tests of a module may take to be collected.
pub(crate) const COLLECT_MAX: Duration = Duration::from_mins(10);

/// Why the tests of a module are not known.
#[derive(Debug, thiserror::Error)]
pub enum PrepareError {
    /// Java could not be started.
    #[error("cannot run `{}`", .0.display())]
    Start(OsString, #[source] io::Error),
    /// It took too long.
    #[error("collecting the tests of `{module}` was stopped after {after:?}")]
    TimedOut {
        /// Of which module.
        module: String,
        /// After this.
        after: Duration,
    },
    /// We were asked to stop.
    #[error("interrupted")]
    Interrupted,
    /// It failed.
    #[error("the tests of `{module}` could not be collected: {text}")]
    Failed {
        /// Of which module.
        module: String,
        /// What it says.
        text: String,
    },
    /// A file of ours cannot be written or read.
    #[error("cannot write to `{}`", .0.display())]
    Folder(PathBuf, #[source] io::Error),
}

impl Module {
    /// Finds out which tests there are.
    pub fn prepare(
        &self,
        time_max: Duration,
        interrupt: &Interrupt,
    ) -> Result<Prepared, PrepareError> {
        let fail = |error| PrepareError::Folder(self.home.clone(), error);
        fs::create_dir_all(&self.home).map_err(fail)?;
        let plan = serde_json::to_vec(&self.plan).map_err(|error| fail(error.into()))?;
        fs::write(self.plan_file(), &plan).map_err(fail)?;
        let (file, arguments) = self.arguments_file();
        fs::write(file, arguments).map_err(fail)?;
        let collected = self.home.join(COLLECTED);
        let mut arguments: Vec<OsString> = self.start().into_iter().map(OsString::from).collect();
        arguments.push(self.plan_file().into());
        arguments.extend(["--collect".into(), collected.clone().into()]);
        let line = CommandLine {
            program: self.java.clone(),
            arguments,
            current_dir: self.current_dir.clone(),
            env: self.changes_of_env(),
        };
        let done = run_to_end(&line, time_max, interrupt)
            .map_err(|error| PrepareError::Start(self.java.clone(), error))?;
        let module = self.name.clone();
        match (done.why, done.exit.code) {
            (FinishedWhy::Interrupted, _) => Err(PrepareError::Interrupted),
            (FinishedWhy::TimedOut, _) => Err(PrepareError::TimedOut { module, after: time_max }),
            (FinishedWhy::Exited, Some(0)) => {
                let collected = fs::read(collected).map_err(fail)?;
                let message: Message =
                    serde_json::from_slice(&collected).map_err(|error| fail(error.into()))?;
                let Tests { tests, jars_first } = message.collected;
                let module = self.clone();
                Ok(Prepared {
                    module,
                    tests,
                    is_same_with_jars_first: jars_first,
                    archive: None,
                    plan,
                    collected,
                })
            }
            (FinishedWhy::Exited, _) => {
                let text = format!("{}\n{}{}", done.exit, done.stdout, done.stderr);
                Err(PrepareError::Failed { module, text })
            }
        }
    }
}

/// The message in which the agent says what it has collected.
#[derive(Deserialize)]
struct Message {
    collected: Tests,
}

#[derive(Deserialize)]
struct Tests {
    tests: Vec<Collected>,
    jars_first: bool,
}

/// A module whose tests are known.
#[derive(Clone, Debug)]
pub struct Prepared {
    /// The module.
    pub module: Module,
    tests: Vec<Collected>,
    /// Whether classes are found the same if jars stand before folders.
    is_same_with_jars_first: bool,
    archive: Option<Archive>,
    plan: Vec<u8>,
    collected: Vec<u8>,
}

impl Prepared {
    /// The names of all tests, in the order in which the build tool runs them.
    pub fn ids(&self) -> impl Iterator<Item = &str> {
        self.tests.iter().map(|test| test.id.as_str())
    }

    /// The class of each test.
    pub(crate) fn tops(&self) -> Vec<&str> {
        self.tests.iter().map(|test| test.top.as_str()).collect()
    }

    /// The class of a test.
    pub(crate) fn top(&self, id: &str) -> Option<&str> {
        self.tests.iter().find(|test| test.id == id).map(|test| test.top.as_str())
    }

    /// The run order of Surefire in which these tests come one after the other.
    pub(crate) fn run_order_of(&self, ids: &[&str]) -> Option<&'static str> {
        run_order::of(&self.tests, ids, &self.module.run_order)
    }

    /// The same, with an archive of the classes that its tests need if there can be one. To make
    /// it, the tests are run once; it is kept for later.
    pub fn with_archive(&self, interrupt: &Interrupt) -> Result<Self, PrepareError> {
        let mut prepared = self.clone();
        if self.is_same_with_jars_first {
            prepared.archive = Archive::of(&self.module, interrupt)
                .map_err(|Interrupted| PrepareError::Interrupted)?;
        }
        if let Some(archive) = &prepared.archive {
            prepared.plan.clone_from(&archive.plan);
        }
        Ok(prepared)
    }

    /// How the engine is to start the agent.
    pub fn launch(&self, limits: &Limits) -> Launch {
        let words = match &self.archive {
            None => self.module.start(),
            Some(archive) => self.module.words(&archive.flags, &archive.class_path, &[MAIN]),
        };
        let flags = words.into_iter().map(OsString::from);
        Launch {
            program: self.module.java.clone(),
            flags: flags.collect(),
            agent: AgentFiles {
                files: vec![
                    (PLAN.into(), self.plan.clone()),
                    (COLLECTED.into(), self.collected.clone()),
                ],
                entry: PLAN.into(),
            },
            runner: Vec::new(),
            current_dir: self.module.current_dir.clone(),
            env: self.module.changes_of_env(),
            transport: Transport::Pipes,
            start: Start::Cold,
            isolation: Vec::new(),
            start_timeout: limits.start_timeout,
            test_timeout: limits.test_timeout,
            run_timeout: limits.run_timeout,
            jobs: limits.jobs,
            control: Control::CLASSES,
            perturbing: None,
            trace_flags: Vec::new(),
        }
    }
}
