//! A project in whatever language, as far as a use case must know it.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::time::Duration;

use unflake_detect::campaign::HashSeeds;
use unflake_engine::{Collected, Interrupt, Launch, Limits};
use unflake_model::{Factor, Factors};
use unflake_pytest::{HASH_SEED, Interpreter, Project};
use unflake_report::junit_xml::{CiReport, NoReport};

use crate::cold::PlainRunner;
use crate::plain::PythonRunner;

/// How much longer than our own runs a plain one may take.
const PATIENCE: u32 = 3;

/// Runs of all tests of a Python project with folders listed otherwise: what depends on the order
/// of two files is seen both to pass and to fail in 15 of 16 suites.
const N_LISTINGS: u64 = 5;

/// What can be made otherwise around tests, without much ado.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Variety {
    /// Whether strings can be hashed otherwise, and are to be.
    pub hash_seeds: HashSeeds,
    /// Other choices that the language leaves open.
    pub choices: Factors,
    /// How many runs of all tests are made with those perturbed; as many as orders, if not said.
    pub n_choices: Option<u64>,
    /// Circumstances that take no time to change.
    pub circumstances: Factors,
}

impl Variety {
    /// Nothing.
    pub const NONE: Self = Self {
        hash_seeds: HashSeeds::Fixed,
        choices: Factors::NONE,
        n_choices: None,
        circumstances: Factors::NONE,
    };
}

/// A project, or a part of one that has its own tests.
pub trait Adapter: Sync {
    /// How the engine is to start the agent.
    fn launch(&self, limits: &Limits) -> Launch;

    /// What stands against running its tests at all, where that is known; asked when they could not
    /// be collected.
    fn unsupported(&self, _interrupt: &Interrupt) -> Option<String> {
        None
    }

    /// Starts ahead what so many plain runs will need, where that can be had.
    fn expect_plain_runs(&self, _n: u32) {}

    /// The project's own runner.
    fn plain<'a>(&'a self, around: Around<'a>) -> Box<dyn PlainRunner + 'a>;

    /// What can be made otherwise around its tests.
    fn variety(&self) -> Variety {
        Variety::NONE
    }

    /// Whether it can be seen what its tests leave behind.
    fn is_watchable(&self) -> bool {
        false
    }

    /// Whether it can be told which functions its tests call.
    fn is_traceable(&self) -> bool {
        true
    }

    /// What reports of a build (JUnit XML) say about tests with these ids.
    fn ci_report(&self, xmls: &[String], ids: &[&str]) -> Result<CiReport, NoReport>;

    /// The same with this seed of hashing, where that is decided when an interpreter starts.
    fn hashed_by(&self, _seed: u64) -> Option<Box<dyn Adapter>> {
        None
    }

    /// How the tests are called: what must be the same for two campaigns to be one.
    fn call(&self) -> Call;
}

/// What a plain runner is told about the tests.
#[derive(Clone, Copy, Debug)]
pub struct Around<'a> {
    /// What an agent collected.
    pub collected: &'a Collected,
    /// Ends it.
    pub interrupt: &'a Interrupt,
    /// How long it takes to start and to collect.
    pub start_time: Duration,
    /// How long one test may take.
    pub test_timeout: Duration,
}

impl Around<'_> {
    /// How long a plain runner may take for tests that took so long in our own runs, with what it
    /// is granted anyway.
    pub(crate) fn time_max(&self, took: Duration, granted: Duration) -> Duration {
        (self.start_time + took) * PATIENCE + self.test_timeout + granted
    }
}

/// How tests are called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// In which folder.
    pub folder: PathBuf,
    /// By which program.
    pub program: OsString,
    /// Which runner was wanted, and what its environment has of its own.
    pub manner: String,
    /// How strings are hashed, if we decided it.
    pub hash_seed: Option<u64>,
    /// With which options.
    pub options: Vec<OsString>,
    /// Which files, folders or tests.
    pub paths: Vec<OsString>,
}

impl Adapter for Project {
    fn unsupported(&self, interrupt: &Interrupt) -> Option<String> {
        let version = self.interpreter.version(&self.current_dir, interrupt).ok()?;
        Interpreter::too_old(&version)
    }

    fn launch(&self, limits: &Limits) -> Launch {
        self.launch(limits.clone())
    }

    fn expect_plain_runs(&self, n: u32) {
        self.shelters.start(n, self);
    }

    fn plain<'a>(&'a self, around: Around<'a>) -> Box<dyn PlainRunner + 'a> {
        Box::new(PythonRunner::new(self, around))
    }

    fn is_watchable(&self) -> bool {
        true
    }

    fn variety(&self) -> Variety {
        let circumstances = [Factor::Date, Factor::TimeZone, Factor::Switches, Factor::Listings];
        Variety {
            // Who has chosen a seed for all runs is not surprised by others.
            hash_seeds: if self.hash_seed.is_some() { HashSeeds::Varied } else { HashSeeds::Fixed },
            choices: [Factor::Listings].into_iter().collect(),
            n_choices: Some(N_LISTINGS),
            circumstances: circumstances.into_iter().collect(),
        }
    }

    fn ci_report(&self, xmls: &[String], ids: &[&str]) -> Result<CiReport, NoReport> {
        unflake_pytest::ci_report(xmls, ids)
    }

    fn hashed_by(&self, seed: u64) -> Option<Box<dyn Adapter>> {
        let mut hashed = self.clone();
        hashed.env.push((HASH_SEED.into(), Some(seed.to_string().into())));
        Some(Box::new(hashed))
    }

    fn call(&self) -> Call {
        let Self { interpreter, current_dir, runner, paths, options, env, hash_seed, .. } = self;
        Call {
            hash_seed: *hash_seed,
            folder: current_dir.clone(),
            program: interpreter.program.clone(),
            manner: format!("{} {env:?}", runner.as_str()),
            options: options.clone(),
            paths: paths.clone(),
        }
    }
}

/// For texts that are compared and shown.
pub(crate) fn text(word: &OsStr) -> String {
    word.to_string_lossy().into_owned()
}
