//! What an engine needs before it starts: what to start, and within which limits.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use unflake_model::{Control, Environment, Experiment, Factors};
use unflake_wire::Level;

/// How long a process that was asked to leave (`SIGTERM`) has before it is killed (`SIGKILL`).
pub const GRACE: Duration = Duration::from_millis(500);

/// Our code inside the test process, as files.
#[derive(Clone, Debug)]
pub struct AgentFiles {
    /// The path of each file within the agent's folder, and its contents.
    pub files: Vec<(PathBuf, Vec<u8>)>,
    /// The file or folder among them that the interpreter is given.
    pub entry: PathBuf,
}

impl AgentFiles {
    /// Writes the files into a folder, which is made if there is anything to write.
    pub fn write(&self, folder: &Path) -> io::Result<()> {
        for (name, contents) in &self.files {
            let file = folder.join(name);
            fs::create_dir_all(file.parent().unwrap_or(folder))?;
            fs::write(file, contents)?;
        }
        Ok(())
    }
}

/// How an agent talks to us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// It connects to the socket whose path it is given.
    Socket,
    /// Through pipes that it inherits. Needs [`Start::Cold`]: each agent makes one run.
    Pipes,
}

/// Whether runs are forked from an agent that has collected the tests, or started afresh.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// Forked, unless the agent says that this is unsafe.
    Fork,
    /// Always afresh.
    Cold,
}

/// How many runs at once, how long they may take, and how isolated they are.
#[derive(Clone, Debug)]
pub struct Limits {
    /// How a run begins.
    pub start: Start,
    /// The levels of isolation to ask for.
    pub isolation: Vec<Level>,
    /// The time limit for collecting.
    pub start_timeout: Duration,
    /// The time limit for one attempt.
    pub test_timeout: Duration,
    /// The time limit for a run; `None` sets none.
    pub run_timeout: Option<Duration>,
    /// How many runs may be under way at once.
    pub jobs: usize,
}

impl Limits {
    /// One run at a time, each in a fresh process that is not isolated; this is the time limit of
    /// every step.
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

/// How open choices are perturbed ([`unflake_model::Environment::Perturbed`]).
#[derive(Clone, Debug)]
pub struct Choosing {
    /// Additional flags of the interpreter, which precede its other flags.
    pub flags: Vec<OsString>,
    /// The seed for the tool that perturbs them, derived from that of the run.
    pub seed_of: fn(u64) -> u64,
}

/// What to start, and within which limits.
///
/// The command is `program flags… <entry> <socket> <token> runner…`, with `fd:…` for the socket if
/// pipes are inherited.
#[derive(Clone, Debug)]
pub struct Launch {
    /// The interpreter to start.
    pub program: OsString,
    /// The arguments of the interpreter itself.
    pub flags: Vec<OsString>,
    /// The files of the agent.
    pub agent: AgentFiles,
    /// The arguments of the agent after the token: the runner, and the runner's arguments.
    pub runner: Vec<OsString>,
    /// The folder of the project.
    pub current_dir: PathBuf,
    /// Changes to our own environment: a value to set, or `None` to remove.
    pub env: Vec<(OsString, Option<OsString>)>,
    /// How the agent talks to us.
    pub transport: Transport,
    /// How a run begins.
    pub start: Start,
    /// The levels of isolation to ask for.
    pub isolation: Vec<Level>,
    /// The time limit for collecting.
    pub start_timeout: Duration,
    /// The time limit for one attempt.
    pub test_timeout: Duration,
    /// The time limit for a run; `None` sets none.
    pub run_timeout: Option<Duration>,
    /// How many runs may be under way at once; at least one.
    pub jobs: usize,
    /// What the runner lets us decide about a run.
    pub control: Control,
    /// How circumstances are perturbed; `None` if this agent cannot do so.
    pub perturbing: Option<Perturbing>,
    /// Additional flags of the interpreter for a traced run; empty if any interpreter will do.
    /// Needs [`Start::Cold`].
    pub trace_flags: Vec<OsString>,
}

/// How circumstances are perturbed.
#[derive(Clone, Debug)]
pub enum Perturbing {
    /// By the agent, factor by factor.
    Factors(OwnEnv),
    /// Only open choices, by an interpreter started for that. Needs [`Start::Cold`].
    Choices(Choosing),
}

/// Environment variables with which a separate interpreter must be started for a run with these
/// factors on, under this seed. Empty if the run can be forked from any interpreter.
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

    /// Variables for a separate interpreter for this run; empty if any interpreter will do.
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

    /// Additional flags of the interpreter for this run, which precede its other flags; empty if
    /// any interpreter will do.
    pub(crate) fn own_flags(&self, experiment: &Experiment, is_traced: bool) -> &[OsString] {
        match self.choosing(experiment) {
            Some((choosing, _)) => &choosing.flags,
            None if is_traced => &self.trace_flags,
            None => &[],
        }
    }

    /// How open choices are perturbed in this run, and with which seed; `None` if they are not.
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
