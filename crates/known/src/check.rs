//! What is available to run the tests with, and what is missing, one thing at a time.

/// One thing that was checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// The thing that was checked.
    pub what: &'static str,
    /// What was found.
    pub found: String,
    /// What to do about it if something is missing; `None` if nothing is.
    pub missing: Option<String>,
}

impl Check {
    /// A check that found everything in order.
    pub fn ok(what: &'static str, found: impl Into<String>) -> Self {
        Self { what, found: found.into(), missing: None }
    }

    /// A check that found something missing, with what to do about it.
    pub fn missing(what: &'static str, found: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { what, found: found.into(), missing: Some(hint.into()) }
    }
}
