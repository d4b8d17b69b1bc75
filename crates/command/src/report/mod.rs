//! What a run reports, whatever it is written in.
//!
//! Each reader makes [`Case`]s, in the order of the report. What a case is called in a report, and
//! which test it is about, are different questions; `names` answers the second.

mod ctrf;
pub(crate) mod junit;
pub(crate) mod tap;

use std::time::Duration;

use unflake_known::junit_xml::NoReport;
use unflake_wire::Ended;

use crate::settings::Format;

/// What is said about one test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Case {
    /// The class, suite or describing text around it; empty if there is none.
    pub(crate) class: String,
    pub(crate) name: String,
    /// The file it stands in; empty if that is not said.
    pub(crate) file: String,
    pub(crate) outcome: Ended,
    pub(crate) duration: Option<Duration>,
    /// The complaint in one line; empty if there is none.
    pub(crate) message: String,
    /// The whole complaint.
    pub(crate) text: String,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Case {
    fn new(class: &str, name: &str, outcome: Ended) -> Self {
        Self {
            class: class.to_owned(),
            name: name.to_owned(),
            file: String::new(),
            outcome,
            duration: None,
            message: String::new(),
            text: String::new(),
            stdout: String::new(),
            stderr: String::new(),
        }
    }

    /// An outcome without a name, for a test that is known.
    pub(crate) fn unsaid(outcome: Ended) -> Self {
        Self::new("", "", outcome)
    }

    /// Whether it neither failed nor could not be run.
    pub(crate) fn is_fine(&self) -> bool {
        matches!(self.outcome, Ended::Passed | Ended::Skipped)
    }
}

/// What a run reports.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Report {
    pub(crate) cases: Vec<Case>,
    /// Why the runner stopped before the end, if it says that it did.
    pub(crate) bailed: Option<String>,
}

/// Why a text is no report.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BadReport {
    #[error(transparent)]
    Junit(#[from] NoReport),
    #[error("{0}")]
    Ctrf(#[from] serde_json::Error),
    #[error("there is no `{0}` in it")]
    Nothing(&'static str),
}

/// Reads the texts of a report: one file, or those of a folder.
pub(crate) fn read(format: Format, texts: &[String]) -> Result<Report, BadReport> {
    let mut report = Report::default();
    for text in texts {
        let one = match format {
            Format::Junit => junit::read(text)?,
            Format::Tap => tap::read(text),
            Format::Ctrf => ctrf::read(text)?,
            Format::Exit => Report::default(),
        };
        report.cases.extend(one.cases);
        report.bailed = report.bailed.or(one.bailed);
    }
    Ok(report)
}

/// The first line of a complaint, for where there is room for one.
fn first_line(text: &str) -> String {
    text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default().to_owned()
}
