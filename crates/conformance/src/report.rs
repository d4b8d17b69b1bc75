//! What came of all checks on an adapter.

use std::fmt::Write as _;

use crate::checks::{CHECKS, Check};
use crate::fixture::Fixture;
use crate::trial::Departure;

/// What came of all checks on an adapter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conformance {
    /// The adapter.
    pub adapter: String,
    /// Checks that do not apply to it.
    pub excluded: Vec<Excluded>,
    /// Checks that it does not pass.
    pub faults: Vec<Fault>,
}

/// A check that does not apply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Excluded {
    /// Which.
    pub check: &'static str,
    /// Why.
    pub why: String,
}

/// A check that is not passed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Which.
    pub check: &'static str,
    /// What it was to show.
    pub shows: &'static str,
    /// What was expected, and what came.
    pub what: String,
}

/// Makes all checks.
pub fn examine(fixture: &dyn Fixture) -> Conformance {
    let mut report = Conformance {
        adapter: fixture.adapter().to_owned(),
        excluded: Vec::new(),
        faults: Vec::new(),
    };
    for Check { name, shows, run } in CHECKS {
        match run(fixture) {
            Ok(()) => (),
            Err(Departure::Excluded(why)) => report.excluded.push(Excluded { check: name, why }),
            Err(Departure::Wrong(what)) => report.faults.push(Fault { check: name, shows, what }),
        }
    }
    report
}

impl Conformance {
    /// What is wrong, in full; nothing if all is well and these checks, by name and reason, are
    /// those that do not apply.
    pub fn complaint(&self, excluded: &[(&str, &str)]) -> String {
        let Self { adapter, .. } = self;
        let mut text = String::new();
        let mut complain = |check: &str, what: &str| {
            // A `String` takes everything.
            let _ = writeln!(text, "adapter `{adapter}`, check `{check}`: {what}");
        };
        for Fault { check, shows, what } in &self.faults {
            complain(check, &format!("it does not hold that {shows}: {what}"));
        }
        let listed = |it: &Excluded| excluded.contains(&(it.check, it.why.as_str()));
        for it in self.excluded.iter().filter(|it| !listed(it)) {
            complain(it.check, &format!("excluded, and not listed as such: {}", it.why));
        }
        let is_excluded = |name: &str, why: &str| {
            self.excluded.iter().any(|it| it.check == name && it.why == why)
        };
        for (name, why) in excluded.iter().filter(|(name, why)| !is_excluded(name, why)) {
            complain(name, &format!("listed as excluded, and not so: {why}"));
        }
        text
    }
}

/// Makes all checks, and says everything that is wrong at once.
///
/// # Panics
/// If a check is not passed, or others are excluded than these, each by its name and the reason.
pub fn assert_conforms(fixture: &dyn Fixture, excluded: &[(&str, &str)]) {
    let complaint = examine(fixture).complaint(excluded);
    assert!(complaint.is_empty(), "\n{complaint}");
}
