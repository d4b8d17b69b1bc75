//! A suite that is run by itself: a project, or a module of one.

use std::ffi::OsString;
use std::path::PathBuf;

use unflake_engine::{Interrupt, Launch, Limits};
use unflake_known::junit_xml::{CiReport, NoReport};
use unflake_model::Symptom;

use crate::{Abilities, Around, Given, Mender, OpenError, PlainRunner};

/// A suite that is run by itself.
pub trait Part: Send + Sync {
    /// What people call it; empty where a project has only one.
    fn name(&self) -> &str;

    /// The names of its tests, where they are known before an agent is started.
    fn ids(&self) -> Option<Vec<&str>> {
        None
    }

    /// What can be done with its tests.
    fn abilities(&self) -> Abilities;

    /// How the engine is to start the agent.
    fn launch(&self, limits: &Limits) -> Launch;

    /// Gets ready for what is to come; what is returned takes its place.
    fn ready(&self, need: Need, interrupt: &Interrupt) -> Result<Readied, OpenError>;

    /// What keeps its tests from being run at all, with a hint, where that is known. Asked when
    /// they could not be collected.
    fn unsupported(&self, _interrupt: &Interrupt) -> Option<(String, String)> {
        None
    }

    /// Starts ahead what so many plain runs will need, where that helps.
    fn expect_plain_runs(&self, _n: u32) {}

    /// The project's own runner.
    fn plain<'a>(&'a self, around: Around<'a>) -> Box<dyn PlainRunner + 'a>;

    /// The same under circumstances that it can be given by its environment, by a shell, or when a
    /// test begins. `None` if it cannot be given any.
    fn plain_given<'a>(
        &'a self,
        _around: Around<'a>,
        _given: &Given,
    ) -> Option<Box<dyn PlainRunner + 'a>> {
        None
    }

    /// What reports of a build (JUnit XML) say about tests with these ids.
    fn ci_report(&self, xmls: &[String], ids: &[&str]) -> Result<CiReport, NoReport>;

    /// The same with this hash seed, where that is decided when an interpreter starts.
    fn hashed_by(&self, _seed: u64) -> Option<Box<dyn Part>> {
        None
    }

    /// The same with everything held fixed that is decided when an interpreter starts; `None` if
    /// nothing is.
    fn pinned(&self) -> Option<Box<dyn Part>> {
        None
    }

    /// Who can change its test files, if anybody can.
    fn mender(&self) -> Option<&dyn Mender> {
        None
    }

    /// What a failure is about, from its message.
    fn symptom(&self, _message: &str) -> Symptom {
        Symptom::Other
    }

    /// Where in the code an open choice comes from, by the stack of the process that ran a test.
    fn site(&self, _stack: &[String], _test: &str) -> Option<Site> {
        None
    }

    /// How the tests are called: what must be the same for two campaigns to be one.
    fn call(&self) -> Call;

    /// What stands between class and name in the id of a test, where the project says so.
    fn between(&self) -> Option<String> {
        None
    }

    /// Which files are code, so that a change of them makes another program.
    fn code_files(&self) -> CodeFiles;
}

/// What a part is to be ready for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Need {
    /// So many runs that it pays to prepare quick starts.
    pub many_runs: bool,
    /// Runs that are traced.
    pub traces: bool,
}

/// A part that is ready.
pub struct Readied {
    /// The part.
    pub part: Box<dyn Part>,
    /// Why it cannot trace although it was asked to, if so.
    pub not_traced: Option<String>,
}

/// Where an open choice comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Site {
    /// What was asked: the function of the language that chooses.
    pub api: String,
    /// Who asked.
    pub place: String,
    /// The line of the test that led there, if that is another place.
    pub test: Option<String>,
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

/// Which files of a project are its code.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CodeFiles {
    /// How their names end; all files if there are no endings.
    pub endings: Vec<String>,
    /// Names of folders that hold no code of the project.
    pub left_out: Vec<String>,
    /// A folder with a file of this name holds no code of the project.
    pub left_out_with: Vec<String>,
}
