//! A suite that runs separately: a project, or a module of one.

use std::ffi::OsString;
use std::path::PathBuf;

use unflake_engine::{Interrupt, Launch, Limits};
use unflake_known::junit_xml::{CiReport, NoReport};
use unflake_model::Symptom;

use crate::{Abilities, Around, Given, Mender, OpenError, PlainRunner};

/// A suite that runs separately.
pub trait Part: Send + Sync {
    /// The name that people use; empty if the project has only one part.
    fn name(&self) -> &str;

    /// The names of its tests, if they are known before an agent is started.
    fn ids(&self) -> Option<Vec<&str>> {
        None
    }

    /// What can be done with its tests.
    fn abilities(&self) -> Abilities;

    /// How the engine starts the agent.
    fn launch(&self, limits: &Limits) -> Launch;

    /// Prepares for the runs to come; the part that is returned replaces this one.
    fn ready(&self, need: Need, interrupt: &Interrupt) -> Result<Readied, OpenError>;

    /// What prevents its tests from being run at all, with a hint; `None` if that is unknown. Asked
    /// if they could not be collected.
    fn unsupported(&self, _interrupt: &Interrupt) -> Option<(String, String)> {
        None
    }

    /// Starts in advance what this many plain runs will need, if that helps.
    fn expect_plain_runs(&self, _n: u32) {}

    /// The project's own runner.
    fn plain<'a>(&'a self, around: Around<'a>) -> Box<dyn PlainRunner + 'a>;

    /// As [`Part::plain`], under circumstances that can be set through its environment, through a
    /// shell, or when a test begins. `None` if none can.
    fn plain_given<'a>(
        &'a self,
        _around: Around<'a>,
        _given: &Given,
    ) -> Option<Box<dyn PlainRunner + 'a>> {
        None
    }

    /// What the reports of a build (JUnit XML) say about tests with these ids.
    fn ci_report(&self, xmls: &[String], ids: &[&str]) -> Result<CiReport, NoReport>;

    /// The same with everything held fixed that is decided when an interpreter starts; `None` if
    /// nothing is.
    fn pinned(&self) -> Option<Box<dyn Part>> {
        None
    }

    /// Can change its test files; `None` if nothing can.
    fn mender(&self) -> Option<&dyn Mender> {
        None
    }

    /// What a failure is about, from its message.
    fn symptom(&self, _message: &str) -> Symptom {
        Symptom::Other
    }

    /// Where in the code an open choice comes from, given the stack of the process that ran a test.
    fn site(&self, _stack: &[String], _test: &str) -> Option<Site> {
        None
    }

    /// How the tests are called: this must be equal for two campaigns to be the same.
    fn call(&self) -> Call;

    /// What stands between class and name in the id of a test, where the project says so.
    fn between(&self) -> Option<String> {
        None
    }

    /// Which files are code: changing them makes a different program.
    fn code_files(&self) -> CodeFiles;
}

/// What a part must be prepared for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Need {
    /// Runs so numerous that preparing quick starts pays.
    pub many_runs: bool,
    /// Traced runs.
    pub traces: bool,
}

/// A part that is prepared.
pub struct Readied {
    /// The prepared part.
    pub part: Box<dyn Part>,
    /// Why it cannot trace, if it was asked to and cannot.
    pub not_traced: Option<String>,
}

/// Where an open choice comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Site {
    /// The function of the language that chooses.
    pub api: String,
    /// The code that asks for the choice.
    pub place: String,
    /// The line of the test that leads there, if it is a different place.
    pub test: Option<String>,
}

/// How tests are called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// The working directory.
    pub folder: PathBuf,
    /// The program that is called.
    pub program: OsString,
    /// The requested runner, and the parts of its environment that matter.
    pub manner: String,
    /// The hash seed, if we chose it.
    pub hash_seed: Option<u64>,
    /// The options given to the runner.
    pub options: Vec<OsString>,
    /// The files, folders or tests given to the runner.
    pub paths: Vec<OsString>,
}

/// Which files of a project are its code.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CodeFiles {
    /// The endings of their names; empty for all files.
    pub endings: Vec<String>,
    /// Names of folders that contain no code of the project.
    pub left_out: Vec<String>,
    /// Names of files that mark a folder as containing no code of the project.
    pub left_out_with: Vec<String>,
}
