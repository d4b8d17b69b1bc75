//! Who changes test files so that a test no longer depends on others.

use std::io;
use std::path::PathBuf;

use unflake_engine::Interrupt;
use unflake_known::fix::{Proposal, ProposedFile};

use crate::{Around, PlainRunner};

/// Who proposes changes of test files, and shows them to the plain runner before they are made.
pub trait Mender: Sync {
    /// Why nothing can be proposed for tests that this runner ran, if so.
    fn cannot(&self, runner: &str) -> Option<String>;

    /// Changes that might put it right, the best first.
    fn propose(&self, wrong: &Wrong, interrupt: &Interrupt) -> Result<Proposals, MendError>;

    /// The plain runner, to which files look as if they were changed.
    fn plain_with<'a>(
        &'a self,
        around: Around<'a>,
        changed: &'a [ChangedFile],
    ) -> Box<dyn PlainRunner + 'a>;
}

/// What is to be put right.
#[derive(Clone, Debug, PartialEq, Eq)]
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
    pub kept: Option<Vec<usize>>,
}

/// A place that was changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrongState {
    /// By the name that the program knows it by.
    pub place: String,
    /// Its kind.
    pub kind: String,
    /// What was there; nothing if nothing was.
    pub before: Option<String>,
    /// What is there now.
    pub after: Option<String>,
}

/// What can be done about it, the best first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proposals {
    /// Changes worth trying.
    pub patches: Vec<Proposal>,
    /// Why others could not be proposed.
    pub reasons: Vec<String>,
}

/// A file of a proposal, as a plain runner is to see it; nothing if it is not written as UTF-8.
pub fn changed(file: &ProposedFile) -> Option<ChangedFile> {
    let is_utf8 = ["utf-8", "ascii"].contains(&file.encoding.as_str());
    let contents = file.new.clone().into_bytes();
    is_utf8.then(|| ChangedFile { path: file.path.clone(), contents })
}

/// A file as a plain runner is to see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangedFile {
    /// Its path.
    pub path: PathBuf,
    /// What is seen in it.
    pub contents: Vec<u8>,
}

/// Why there are no proposals.
#[derive(Debug, thiserror::Error)]
pub enum MendError {
    /// Whoever proposes could not be started, or its files not be written.
    #[error("cannot ask for changes of the test files")]
    Ask(#[source] io::Error),
    /// It broke down.
    #[error("no changes of the test files could be thought of: {0}")]
    Broken(String),
}
