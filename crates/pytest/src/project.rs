//! How is the agent started in this project?

use std::ffi::OsString;
use std::path::PathBuf;

use unflake_engine::{Launch, Limits, Perturbing, Transport};
use unflake_model::random::Random;
use unflake_model::{Factor, Factors};

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
    /// A statement of the shell that comes before a plain runner, if any.
    pub before: Option<String>,
}

/// How strings are hashed is decided when an interpreter starts.
pub const HASH_SEED: &str = "PYTHONHASHSEED";

/// Hash seeds are drawn below this: small numbers are typed more easily, and do as well.
const HASH_SEEDS: usize = 10_000;

/// The variables that an interpreter must be started with for these factors.
pub fn own_env(factors: Factors, seed: u64) -> Vec<(OsString, OsString)> {
    let draw = || 1 + Random::labelled(seed, &[Factor::HashSeed as u64]).below(HASH_SEEDS);
    let hashed = factors.contains(Factor::HashSeed);
    hashed.then(|| (HASH_SEED.into(), draw().to_string().into())).into_iter().collect()
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
            transport: Transport::Socket,
            start: limits.start,
            isolation: limits.isolation,
            start_timeout: limits.start_timeout,
            test_timeout: limits.test_timeout,
            run_timeout: limits.run_timeout,
            jobs: limits.jobs,
            keeps_classes: false,
            perturbing: Some(Perturbing::Factors(own_env)),
        }
    }
}
