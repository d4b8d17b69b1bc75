//! Which change of the test files would put right what one test does to another?
//!
//! Python's files are best understood by Python: the proposals come from the agent's `mend`, which
//! reads the files of the project with the project's own interpreter and imports nothing. Whether a
//! proposal is any good it does not know; that is found out by running the tests with it
//! (`Plain::changed`).

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use unflake_adapter::{MendError, Proposal, Proposals, ProposedFile, Wrong};
use unflake_engine::process::{CommandLine, FinishedWhy, run_to_end};
use unflake_engine::{Interrupt, private_folder};

use crate::kept_agent;
use crate::project::Project;

/// How long reading a few files may take.
const TIME_MAX: Duration = Duration::from_mins(1);

/// What is to be put right, as the agent reads it.
#[derive(Serialize)]
struct WrongRow<'a> {
    rootdir: &'a Path,
    top: &'a Path,
    is_brittle: bool,
    target: &'a str,
    culprits: &'a [String],
    helpers: &'a [String],
    state: Vec<WrongStateRow<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    kept: Option<&'a [usize]>,
}

#[derive(Serialize)]
struct WrongStateRow<'a> {
    r#where: &'a str,
    kind: &'a str,
    before: Option<&'a str>,
    after: Option<&'a str>,
}

impl<'a> WrongRow<'a> {
    fn new(wrong: &'a Wrong) -> Self {
        let state = wrong.state.iter().map(|state| WrongStateRow {
            r#where: &state.place,
            kind: &state.kind,
            before: state.before.as_deref(),
            after: state.after.as_deref(),
        });
        Self {
            rootdir: &wrong.rootdir,
            top: &wrong.top,
            is_brittle: wrong.is_brittle,
            target: &wrong.target,
            culprits: &wrong.culprits,
            helpers: &wrong.helpers,
            state: state.collect(),
            kept: wrong.kept.as_deref(),
        }
    }
}

/// What the agent proposes.
#[derive(Deserialize)]
struct ProposalsRow {
    patches: Vec<ProposalRow>,
    reasons: Vec<String>,
}

#[derive(Deserialize)]
struct ProposalRow {
    how: String,
    title: String,
    why: String,
    is_safe: bool,
    files: Vec<ProposedFileRow>,
    diff: String,
    n_statements: Option<usize>,
    helper: Option<String>,
}

#[derive(Deserialize)]
struct ProposedFileRow {
    path: PathBuf,
    old: String,
    new: String,
    encoding: String,
}

impl From<ProposalsRow> for Proposals {
    fn from(row: ProposalsRow) -> Self {
        let patches = row.patches.into_iter().map(Proposal::from).collect();
        Self { patches, reasons: row.reasons }
    }
}

impl From<ProposalRow> for Proposal {
    fn from(row: ProposalRow) -> Self {
        let file = |row: ProposedFileRow| {
            let ProposedFileRow { path, old, new, encoding } = row;
            ProposedFile { path, old, new, encoding }
        };
        Self {
            how: row.how,
            title: row.title,
            why: row.why,
            is_safe: row.is_safe,
            files: row.files.into_iter().map(file).collect(),
            diff: row.diff,
            n_statements: row.n_statements,
            helper: row.helper,
        }
    }
}

/// Asks for changes that might put it right.
pub(crate) fn propose(
    project: &Project,
    wrong: &Wrong,
    interrupt: &Interrupt,
) -> Result<Proposals, MendError> {
    let folder = private_folder().map_err(MendError::Ask)?;
    let entry =
        kept_agent::entry(project.kept.as_deref(), folder.path()).map_err(MendError::Ask)?;
    let (request, answer) = (folder.path().join("request"), folder.path().join("answer"));
    let body = serde_json::to_vec(&WrongRow::new(wrong))
        .map_err(|error| MendError::Broken(error.to_string()))?;
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
    let row: Result<ProposalsRow, _> = serde_json::from_slice(&said);
    row.map(Proposals::from).map_err(|error| MendError::Broken(error.to_string()))
}
