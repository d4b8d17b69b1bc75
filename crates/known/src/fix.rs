//! Changes of test files that were seen to help, and those that were not.

use std::path::PathBuf;

use unflake_model::TestId;

use crate::Findings;

/// What came of looking for a change.
#[derive(Clone, Debug)]
pub struct Fix {
    /// What is wrong.
    pub findings: Findings,
    /// Changes that help, the best first.
    pub patches: Vec<Patch>,
    /// Changes that were tried and do not.
    pub rejected: Vec<Rejected>,
    /// Changes that could not be tried, or not to the end.
    pub not_tried: Vec<Rejected>,
    /// Why there are no others.
    pub reasons: Vec<String>,
    /// Whether the budget or the user ended it before everything was seen and tried.
    pub is_cut_short: bool,
}

/// A change that was seen to help.
#[derive(Clone, Debug)]
pub struct Patch {
    /// The change.
    pub proposal: Proposal,
    /// What was seen.
    pub checked: Checked,
}

/// What the project's own runner said about a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checked {
    /// After how many groups of tests the target passes.
    pub n_groups: usize,
    /// How many tests of the suite were compared.
    pub n_tests: usize,
    /// Tests that failed and now pass.
    pub repaired: Vec<TestId>,
}

/// A change that does not help, or that is not known to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejected {
    /// What it would have done.
    pub title: String,
    /// What speaks against it.
    pub why: String,
}

/// A change that might help.
#[derive(Clone, Debug, PartialEq, Eq)]
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
#[derive(Clone, Debug, PartialEq, Eq)]
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
