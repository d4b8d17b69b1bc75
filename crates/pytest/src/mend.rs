//! Which change of the test files would put right what one test does to another?
//!
//! Python's files are best understood by Python: the proposals come from the agent's `mend`, which
//! reads the files of the project with the project's own interpreter and imports nothing. Whether a
//! proposal is any good it does not know; that is found out by running the tests with it
//! ([`crate::Plain::changed`]).

use std::fs;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use unflake_engine::process::{CommandLine, FinishedWhy, run_to_end};
use unflake_engine::{Interrupt, private_folder};

use crate::project::Project;
use crate::settled;
use crate::shelter::Changed;

/// How long reading a few files may take.
const TIME_MAX: Duration = Duration::from_mins(1);

/// What is to be put right.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Wrong {
    /// Tests are named relative to this folder.
    pub rootdir: PathBuf,
    /// Files in a patch are named relative to this folder.
    pub top: PathBuf,
    /// Whether the target fails alone.
    pub is_brittle: bool,
    /// The test that depends on others.
    pub target: String,
    /// Its polluters.
    pub culprits: Vec<String>,
    /// Its cleaners, or its state-setters.
    pub helpers: Vec<String>,
    /// The state they share.
    pub state: Vec<WrongState>,
    /// Which statements of the first helper to take; for a list of all proposals, none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kept: Option<Vec<usize>>,
}

/// A place that was changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct WrongState {
    /// By the name that the program knows it by.
    #[serde(rename = "where")]
    pub place: String,
    /// Its kind.
    pub kind: String,
    /// What was there; nothing if nothing was.
    pub before: Option<String>,
    /// What is there now.
    pub after: Option<String>,
}

/// What can be done about it, the best first.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Proposals {
    /// Changes worth trying.
    pub patches: Vec<Proposal>,
    /// Why others could not be thought of.
    pub reasons: Vec<String>,
}

/// A change that might help.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Proposal {
    /// A word for the manner of it.
    pub how: String,
    /// What it does, as a sentence without its end.
    pub title: String,
    /// What speaks for it, or against.
    pub why: String,
    /// Whether it repairs what is wrong, rather than one test that shows it.
    pub is_safe: bool,
    /// The files it changes.
    pub files: Vec<ProposedFile>,
    /// The change, as `git apply` takes it.
    pub diff: String,
    /// How many statements it takes over from a helper.
    pub n_statements: Option<usize>,
    /// From whom.
    pub helper: Option<String>,
}

/// A file before and after a change.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct ProposedFile {
    /// Where.
    pub path: PathBuf,
    /// As it is.
    pub old: String,
    /// As it would be.
    pub new: String,
    /// How its text is written as bytes.
    pub encoding: String,
}

impl ProposedFile {
    /// As a plain runner is to see it; nothing if it is not written as UTF-8.
    pub fn changed(&self) -> Option<Changed> {
        let is_utf8 = ["utf-8", "ascii"].contains(&self.encoding.as_str());
        let contents = self.new.clone().into_bytes();
        is_utf8.then(|| Changed { path: self.path.clone(), contents })
    }
}

/// Why there are no proposals.
#[derive(Debug, thiserror::Error)]
pub enum MendError {
    /// The interpreter could not be started, or its files not be written.
    #[error("cannot ask for changes of the test files")]
    Ask(#[source] io::Error),
    /// It broke down.
    #[error("no changes of the test files could be thought of: {0}")]
    Broken(String),
}

/// Asks for changes that might put it right.
pub fn propose(
    project: &Project,
    wrong: &Wrong,
    interrupt: &Interrupt,
) -> Result<Proposals, MendError> {
    let folder = private_folder().map_err(MendError::Ask)?;
    let entry = settled::entry(project.kept.as_deref(), folder.path()).map_err(MendError::Ask)?;
    let (request, answer) = (folder.path().join("request"), folder.path().join("answer"));
    let body = serde_json::to_vec(wrong).map_err(|error| MendError::Broken(error.to_string()))?;
    fs::write(&request, body).map_err(MendError::Ask)?;
    let line = CommandLine {
        program: project.interpreter.program.clone(),
        arguments: vec![entry.into(), "mend".into(), request.into(), answer.clone().into()],
        current_dir: project.current_dir.clone(),
        env: project.env.clone(),
    };
    let finished = run_to_end(&line, TIME_MAX, interrupt).map_err(MendError::Ask)?;
    if finished.why != FinishedWhy::Exited || finished.exit.code != Some(0) {
        return Err(MendError::Broken(finished.stderr.trim().to_owned()));
    }
    let said = fs::read(answer).map_err(MendError::Ask)?;
    serde_json::from_slice(&said).map_err(|error| MendError::Broken(error.to_string()))
}
