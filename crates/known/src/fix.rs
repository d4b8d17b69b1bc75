//! Changes of test files that were tried, those that help and those that do not.

use std::path::PathBuf;

use unflake_model::TestId;

use crate::Findings;

/// The result of searching for a change.
#[derive(Clone, Debug)]
pub struct Fix {
    /// The findings that are to be put right.
    pub findings: Findings,
    /// Changes that help, best first.
    pub patches: Vec<Patch>,
    /// Changes that were tried and do not help.
    pub rejected: Vec<Rejected>,
    /// Changes that could not be tried, or not completely.
    pub not_tried: Vec<Rejected>,
    /// Why there are no further proposals.
    pub reasons: Vec<String>,
    /// Whether the budget or the user ended it early.
    pub is_cut_short: bool,
}

/// A change that was seen to help.
#[derive(Clone, Debug)]
pub struct Patch {
    /// The change that was proposed.
    pub proposal: Proposal,
    /// The result of trying it.
    pub checked: Checked,
}

/// What the project's own runner said about a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checked {
    /// The number of groups after which the target passes.
    pub n_groups: usize,
    /// How many tests of the suite were compared.
    pub n_tests: usize,
    /// Tests that failed and now pass.
    pub repaired: Vec<TestId>,
}

/// A change that does not help, or that is not known to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejected {
    /// What the change would have done.
    pub title: String,
    /// Why it was rejected, or could not be tried.
    pub why: String,
}

/// A change that might help.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proposal {
    /// A word for the kind of change.
    pub how: String,
    /// What it does, as a sentence without a full stop.
    pub title: String,
    /// The reasons for or against it.
    pub why: String,
    /// Whether it repairs the cause, rather than one test that shows it.
    pub is_safe: bool,
    /// The files it changes.
    pub files: Vec<ProposedFile>,
    /// The change in the form that `git apply` takes.
    pub diff: String,
    /// How many statements it takes from a helper, if any.
    pub n_statements: Option<usize>,
    /// The helper that it takes them from.
    pub helper: Option<String>,
}

/// A file before and after a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProposedFile {
    /// The path of the file.
    pub path: PathBuf,
    /// The current text.
    pub old: String,
    /// The changed text.
    pub new: String,
    /// The name of the file's text encoding.
    pub encoding: String,
}
