//! What the engine is told before it starts: whom to start, and within which limits.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use unflake_model::{Control, Environment, Experiment, Factors};
use unflake_wire::Level;

/// How long one that was asked to leave (`SIGTERM`) is given before it is made to (`SIGKILL`).
pub const GRACE: Duration = Duration::from_millis(500);

/// Our code inside the test process, as files.
#[derive(Clone, Debug)]
pub struct AgentFiles {
    /// Path within the folder of the agent, and contents.
    pub files: Vec<(PathBuf, Vec<u8>)>,
    /// Which of them (or which folder of them) the interpreter is given.
    pub entry: PathBuf,
}

impl AgentFiles {
    /// Writes them into a folder, which is made if there is something to write.
    pub fn write(&self, folder: &Path) -> io::Result<()> {
        for (name, contents) in &self.files {
            let file = folder.join(name);
            fs::create_dir_all(file.parent().unwrap_or(folder))?;
            fs::write(file, contents)?;
        }
        Ok(())
    }
}

/// How an agent speaks to us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// It connects to the socket whose path it is given.
    Socket,
    /// Through pipes that it inherits. Needs [`Start::Cold`]: there is one for one run.
    Pipes,
}

/// Whether runs are forked from an agent that has collected, or started afresh.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// Forked, unless the agent says that this is unsafe.
    Fork,
    /// Afresh, always.
    Cold,
}

/// How much, how long, and how well apart.
#[derive(Clone, Debug)]
pub struct Limits {
    /// How a run begins.
    pub start: Start,
    /// Which levels of isolation to ask for.
    pub isolation: Vec<Level>,
    /// How long collecting may take.
    pub start_timeout: Duration,
    /// How long one attempt may take.
    pub test_timeout: Duration,
    /// How long a run may take.
    pub run_timeout: Option<Duration>,
    /// How many runs there may be at once.
    pub jobs: usize,
}

impl Limits {
    /// One run at a time, each in a fresh process that is not isolated; every step may take this
    /// long.
    pub fn each_within(timeout: Duration) -> Self {
        Self {
            start: Start::Cold,
            isolation: Vec::new(),
            start_timeout: timeout,
            test_timeout: timeout,
            run_timeout: None,
            jobs: 1,
        }
    }
}

/// How open choices are made on purpose ([`unflake_model::Environment::Perturbed`]).
#[derive(Clone, Debug)]
pub struct Choosing {
    /// What the interpreter is given besides, and before its other flags.
    pub flags: Vec<OsString>,
    /// The seed for the one who makes them.
    pub seed_of: fn(u64) -> u64,
}

/// Whom to start, and within which limits.
///
/// The command is `program flags… <entry> <socket> <token> runner…`, with `fd:…` for the socket
/// where pipes are inherited.
#[derive(Clone, Debug)]
pub struct Launch {
    /// The interpreter.
    pub program: OsString,
    /// What the interpreter itself is given.
    pub flags: Vec<OsString>,
    /// The agent.
    pub agent: AgentFiles,
    /// What the agent is given after the token: the runner, and the arguments of the runner.
    pub runner: Vec<OsString>,
    /// The project.
    pub current_dir: PathBuf,
    /// Changes to our own environment: set, or with `None` removed.
    pub env: Vec<(OsString, Option<OsString>)>,
    /// How the agent speaks to us.
    pub transport: Transport,
    /// How a run begins.
    pub start: Start,
    /// Which levels of isolation to ask for.
    pub isolation: Vec<Level>,
    /// How long collecting may take.
    pub start_timeout: Duration,
    /// How long one attempt may take.
    pub test_timeout: Duration,
    /// How long a run may take.
    pub run_timeout: Option<Duration>,
    /// How many runs there may be at once; at least one.
    pub jobs: usize,
    /// What the runner lets us decide about a run.
    pub control: Control,
    /// How circumstances are perturbed; `None` if this agent cannot do so.
    pub perturbing: Option<Perturbing>,
    /// What the interpreter is given besides for a run that is traced; nothing if any will do.
    /// Needs [`Start::Cold`].
    pub trace_flags: Vec<OsString>,
}

/// How circumstances are perturbed.
#[derive(Clone, Debug)]
pub enum Perturbing {
    /// By the agent, factor by factor.
    Factors(OwnEnv),
    /// Open choices only, by an interpreter that is started for it. Needs [`Start::Cold`].
    Choices(Choosing),
}

/// Variables of the environment with which an interpreter of its own must be started for a run in
/// which these factors are on, under this seed. None: a run can be forked from any interpreter.
pub type OwnEnv = fn(Factors, u64) -> Vec<(OsString, OsString)>;

impl Launch {
    /// Whether a run can be made in this environment.
    pub(crate) fn can_make(&self, environment: Environment) -> bool {
        match environment {
            Environment::Plain => true,
            Environment::Hashed { .. } => {
                matches!(self.perturbing, Some(Perturbing::Factors(_)))
            }
            Environment::Perturbed { .. } => self.perturbing.is_some(),
        }
    }

    /// Variables with which an interpreter of its own is started for this run; none if any will do.
    pub(crate) fn env_for(&self, experiment: &Experiment) -> Vec<(OsString, OsString)> {
        match (experiment.environment, &self.perturbing) {
            (Environment::Perturbed { factors, seed }, Some(Perturbing::Factors(own_env))) => {
                own_env(factors, seed)
            }
            (Environment::Hashed { seed }, Some(Perturbing::Factors(own_env))) => {
                own_env(Factors::HASH_SEED, seed)
            }
            _ => Vec::new(),
        }
    }

    /// What the interpreter is given besides, and before its other flags, for this run; nothing if
    /// one that was started for any run will do.
    pub(crate) fn own_flags(&self, experiment: &Experiment, is_traced: bool) -> &[OsString] {
        match self.choosing(experiment) {
            Some((choosing, _)) => &choosing.flags,
            None if is_traced => &self.trace_flags,
            None => &[],
        }
    }

    /// How open choices are made in this run, and under which seed; `None` if they are left open.
    pub(crate) fn choosing(&self, experiment: &Experiment) -> Option<(&Choosing, u64)> {
        match (experiment.environment, &self.perturbing) {
            (Environment::Perturbed { factors, seed }, Some(Perturbing::Choices(choosing)))
                if !factors.is_empty() =>
            {
                Some((choosing, seed))
            }
            _ => None,
        }
    }
}
