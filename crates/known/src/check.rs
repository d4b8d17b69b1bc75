//! What there is to run the tests with, and what is missing: one thing at a time.

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// What.
    pub what: &'static str,
    /// What was found.
    pub found: String,
    /// What to do about it, if something is missing.
    pub missing: Option<String>,
}

impl Check {
    /// All is well.
    pub fn ok(what: &'static str, found: impl Into<String>) -> Self {
        Self { what, found: found.into(), missing: None }
    }

    /// Something is missing; what to do about it.
    pub fn missing(what: &'static str, found: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { what, found: found.into(), missing: Some(hint.into()) }
    }
}
