//! How is the agent started in this project?

use std::ffi::OsString;
use std::path::PathBuf;

use unflake_engine::{Launch, Limits, Perturbing, Transport};
use unflake_model::random::Random;
use unflake_model::{Control, Factor, Factors};

use crate::interpreter::{Interpreter, NoInterpreter, Surroundings};
use crate::kept_agent::agent;
use crate::shelter::Shelters;

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
    /// How strings are hashed where nothing else decides (`PYTHONHASHSEED`): in the agent, and
    /// where all tests are run to be compared with it. Commands that are shown are tried without.
    pub hash_seed: Option<u64>,
    /// A statement of the shell that comes before a plain runner, if any.
    pub before: Option<String>,
    /// A statement of Python that a plain pytest executes when a test begins, if any.
    pub first: Option<String>,
    /// A folder of ours for what is made once; without, everything is made anew.
    pub kept: Option<PathBuf>,
    /// Processes that wait for plain runs.
    pub shelters: Shelters,
}

/// How strings are hashed is decided when an interpreter starts.
pub(crate) const HASH_SEED: &str = "PYTHONHASHSEED";

/// Hash seeds are drawn below this: small numbers are typed more easily, and do as well.
const HASH_SEEDS: usize = 10_000;
/// Tells the hash seed of a campaign from that of a perturbed run with the same seed.
const CAMPAIGN: u64 = 1;

/// The variables that an interpreter must be started with for these factors.
pub(crate) fn own_env(factors: Factors, seed: u64) -> Vec<(OsString, OsString)> {
    let draw = || draw(&mut Random::labelled(seed, &[Factor::HashSeed as u64]));
    let hashed = factors.contains(Factor::HashSeed);
    hashed.then(|| (HASH_SEED.into(), draw().to_string().into())).into_iter().collect()
}

fn draw(random: &mut Random) -> u64 {
    1 + random.below(HASH_SEEDS) as u64
}

/// A hash seed for all runs of a campaign with this seed; none if the user has chosen one. Without,
/// each interpreter has its own, and what follows from that looks like a difference between two
/// ways of running.
pub(crate) fn hash_seed(seed: u64) -> Option<u64> {
    let is_chosen = std::env::var_os(HASH_SEED).is_some_and(|chosen| chosen != "random");
    (!is_chosen).then(|| draw_for_campaign(seed))
}

/// Perturbed runs are numbered from 0, as campaigns mostly are, and are to have other ones.
fn draw_for_campaign(seed: u64) -> u64 {
    draw(&mut Random::labelled(seed, &[Factor::HashSeed as u64, CAMPAIGN]))
}

impl Project {
    /// The one in a folder, with nothing said about it.
    pub fn find(around: Surroundings) -> Result<Self, NoInterpreter> {
        Ok(Self {
            interpreter: Interpreter::find(&around)?,
            current_dir: around.current_dir,
            runner: Runner::Auto,
            paths: Vec::new(),
            options: Vec::new(),
            env: Vec::new(),
            hash_seed: None,
            before: None,
            first: None,
            kept: None,
            shelters: Shelters::default(),
        })
    }

    /// The same with its hash seed in its environment, for whoever is started.
    #[must_use]
    pub fn hashed(&self) -> Self {
        let mut hashed = self.clone();
        let is_open = !self.env.iter().any(|(name, _)| name == HASH_SEED);
        if let Some(seed) = self.hash_seed.filter(|_| is_open) {
            hashed.env.push((HASH_SEED.into(), Some(seed.to_string().into())));
        }
        hashed
    }

    /// How the engine is to start the agent.
    pub fn launch(&self, limits: Limits) -> Launch {
        let mut runner: Vec<OsString> = vec![self.runner.as_str().into(), "--".into()];
        runner.extend(self.options.iter().chain(&self.paths).cloned());
        Launch {
            program: self.interpreter.program.clone(),
            flags: Vec::new(),
            agent: agent(self.kept.as_deref()),
            runner,
            current_dir: self.current_dir.clone(),
            env: self.hashed().env,
            transport: Transport::Socket,
            start: limits.start,
            isolation: limits.isolation,
            start_timeout: limits.start_timeout,
            test_timeout: limits.test_timeout,
            run_timeout: limits.run_timeout,
            jobs: limits.jobs,
            control: Control::FULL,
            perturbing: Some(Perturbing::Factors(own_env)),
            trace_flags: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_campaign_has_another_hash_seed_than_the_perturbed_runs_in_it() {
        let choices: Factors = [Factor::HashSeed].into_iter().collect();
        let perturbed = |seed| own_env(choices, seed).pop().unwrap().1;
        for seed in 0..100 {
            let campaign = draw_for_campaign(seed).to_string();
            assert!((0..5).all(|run| perturbed(run) != *campaign), "{seed}");
        }
    }
}
