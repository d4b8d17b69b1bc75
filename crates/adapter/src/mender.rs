//! Changes test files so that a test no longer depends on others.

use std::io;
use std::path::PathBuf;

use unflake_engine::Interrupt;
use unflake_known::fix::{Proposal, ProposedFile};

use crate::{Around, PlainRunner};

/// Proposes changes of test files, and shows them to the plain runner before they are made.
pub trait Mender: Sync {
    /// Why nothing can be proposed for tests that this runner ran; `None` if something can.
    fn cannot(&self, runner: &str) -> Option<String>;

    /// Changes that might put it right, best first.
    fn propose(&self, wrong: &Wrong, interrupt: &Interrupt) -> Result<Proposals, MendError>;

    /// The plain runner, for which the files look as if they were changed.
    fn plain_with<'a>(
        &'a self,
        around: Around<'a>,
        changed: &'a [ChangedFile],
    ) -> Box<dyn PlainRunner + 'a>;
}

/// A dependency that is to be put right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wrong {
    /// The folder that tests are named relative to.
    pub rootdir: PathBuf,
    /// The folder that files in a patch are named relative to.
    pub top: PathBuf,
    /// Whether the target fails alone.
    pub is_brittle: bool,
    /// The test that depends on others.
    pub target: String,
    /// Its polluters.
    pub culprits: Vec<String>,
    /// Its cleaners or its state-setters.
    pub helpers: Vec<String>,
    /// The state that they share.
    pub state: Vec<WrongState>,
    /// Which statements of the first helper to take; `None` asks for all proposals.
    pub kept: Option<Vec<usize>>,
}

/// A place that was changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrongState {
    /// The name by which the program knows the place.
    pub place: String,
    /// The kind of state.
    pub kind: String,
    /// The value before; `None` if there was none.
    pub before: Option<String>,
    /// The value now; `None` if there is none.
    pub after: Option<String>,
}

/// What can be done about a dependency.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proposals {
    /// Changes worth trying, best first.
    pub patches: Vec<Proposal>,
    /// Why further changes could not be proposed.
    pub reasons: Vec<String>,
}

/// A file of a proposal as a plain runner should see it; `None` if it is not written as UTF-8.
pub fn changed(file: &ProposedFile) -> Option<ChangedFile> {
    let is_utf8 = ["utf-8", "ascii"].contains(&file.encoding.as_str());
    let contents = file.new.clone().into_bytes();
    is_utf8.then(|| ChangedFile { path: file.path.clone(), contents })
}

/// A file as a plain runner should see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangedFile {
    /// The path of the file.
    pub path: PathBuf,
    /// The contents it should seem to have.
    pub contents: Vec<u8>,
}

/// Why there are no proposals.
#[derive(Debug, thiserror::Error)]
pub enum MendError {
    /// The program that proposes could not be started, or its files could not be written.
    #[error("cannot ask for changes of the test files")]
    Ask(#[source] io::Error),
    /// The program that proposes failed.
    #[error("no changes of the test files could be thought of: {0}")]
    Broken(String),
}
