//! How is the agent started in this project?

use std::ffi::OsString;
use std::path::PathBuf;

use unflake_engine::{Launch, Limits};

use crate::agent_files::agent_files;
use crate::interpreter::Interpreter;

/// Who runs the tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Runner {
    /// pytest if it can be imported, else unittest.
    Auto,
    /// pytest.
    Pytest,
    /// unittest.
    Unittest,
}

impl Runner {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Pytest => "pytest",
            Self::Unittest => "unittest",
        }
    }
}

/// What is to be run.
#[derive(Clone, Debug)]
pub struct Project {
    /// With which Python.
    pub interpreter: Interpreter,
    /// Where.
    pub current_dir: PathBuf,
    /// By whom.
    pub runner: Runner,
    /// Which files, folders or tests; all if there are none.
    pub paths: Vec<OsString>,
    /// What else the runner is given.
    pub options: Vec<OsString>,
    /// Changes to our own environment: set, or with `None` removed.
    pub env: Vec<(OsString, Option<OsString>)>,
}

impl Project {
    /// How the engine is to start the agent.
    pub fn launch(&self, limits: Limits) -> Launch {
        let mut runner: Vec<OsString> = vec![self.runner.as_str().into(), "--".into()];
        runner.extend(self.options.iter().chain(&self.paths).cloned());
        Launch {
            program: self.interpreter.program.clone(),
            flags: Vec::new(),
            agent: agent_files(),
            runner,
            current_dir: self.current_dir.clone(),
            env: self.env.clone(),
            start: limits.start,
            isolation: limits.isolation,
            start_timeout: limits.start_timeout,
            test_timeout: limits.test_timeout,
            run_timeout: limits.run_timeout,
            jobs: limits.jobs,
            keeps_classes: false,
            perturbing: None,
        }
    }
}
