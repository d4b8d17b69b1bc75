//! Reading JUnit XML, as test runners write it.
//!
//! There is one `testcase` for each report of a test, in the order of the file. What a runner means
//! by a failure, an error or a second case of the same name is decided by those who know the
//! runner.

use std::time::Duration;

use quick_xml::XmlVersion;
use quick_xml::events::{BytesStart, Event};
use quick_xml::reader::Reader;

/// Precedes the name of the run, which our own reports put above the runner's output.
pub const RUN: &str = "run ";

/// What a test is called in JUnit XML.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Address {
    /// Its `classname`.
    pub class: String,
    /// Its `name`.
    pub name: String,
}

/// One `testcase`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Case {
    /// Its `classname`.
    pub class: String,
    /// Its `name`.
    pub name: String,
    /// The `file` that defines it; empty if there is none.
    pub file: String,
    /// The `time` it took, if given.
    pub time: Option<Duration>,
    /// What it wrote to standard output (`system-out`).
    pub stdout: String,
    /// What it wrote to standard error (`system-err`).
    pub stderr: String,
    /// The complaints about it; empty if it passed, or only what it overcame.
    pub complaints: Vec<Complaint>,
}

/// Why a test did not pass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Complaint {
    /// The kind of complaint.
    pub kind: ComplaintKind,
    /// The short message.
    pub message: String,
    /// The full text.
    pub text: String,
}

/// The element that contains a complaint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ComplaintKind {
    /// A `failure` element.
    Failure,
    /// An `error` element.
    Error,
    /// A `skipped` element.
    Skipped,
    /// A `flakyFailure` or `flakyError`: a failed attempt of a test that then passed.
    Overcome,
}

impl Case {
    /// All complaints that remain in the end, as one text.
    pub fn text(&self) -> String {
        let last = self.complaints.iter().filter(|it| it.kind != ComplaintKind::Overcome);
        last.map(Complaint::said).collect()
    }

    /// The complaint when it failed before it passed; `None` if it did not overcome a failure.
    pub fn overcame(&self) -> Option<&str> {
        let mut earlier = self.complaints.iter().filter(|it| it.kind == ComplaintKind::Overcome);
        earlier.next().map(Complaint::said)
    }
}

impl Complaint {
    /// The runner's text; our own reports put the name of the run above it.
    fn said(&self) -> &str {
        let is_name = |run: &str| {
            let (campaign, number) = run.rsplit_once('/').unwrap_or(("", run));
            let is_number = !number.is_empty() && number.bytes().all(|it| it.is_ascii_digit());
            is_number && campaign.bytes().all(|it| it.is_ascii_hexdigit())
        };
        let text = match self.kind {
            // The text around an inner element is only white space.
            ComplaintKind::Overcome => self.text.trim(),
            _ => &self.text,
        };
        let rest = text.strip_prefix(RUN).and_then(|rest| rest.split_once('\n'));
        rest.filter(|(run, _)| is_name(run)).map_or(text, |(_, said)| said)
    }
}

/// A report from continuous integration, in terms of known tests.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CiReport {
    /// The tests that ran, as positions among the known tests, in the order in which they ran.
    pub order: Vec<usize>,
    /// The ones that failed, even if they passed when repeated, with the complaints.
    pub failed: Vec<(usize, String)>,
    /// Failed cases that match no known test.
    pub unknown: Vec<String>,
}

/// Why a file is not a report.
#[derive(Debug, thiserror::Error)]
pub enum NoReport {
    /// The file is cut off.
    #[error("it ends in the middle")]
    Cut,
    /// The XML is not well-formed.
    #[error(transparent)]
    Xml(#[from] quick_xml::Error),
    /// It refers to characters that do not exist.
    #[error(transparent)]
    Reference(#[from] quick_xml::escape::EscapeError),
}

/// Every `testcase` of a file, in order.
pub fn read(xml: &str) -> Result<Vec<Case>, NoReport> {
    let mut reader = Reader::from_str(xml);
    let mut cases: Vec<Case> = Vec::new();
    let mut path: Vec<Tag> = Vec::new();
    loop {
        let within = path.last().copied().filter(|tag| tag.has_text());
        match reader.read_event()? {
            Event::Start(tag) => {
                let tag = enter(&mut cases, path.last().copied(), &tag)?;
                path.push(tag);
            }
            Event::Empty(tag) => {
                enter(&mut cases, path.last().copied(), &tag)?;
            }
            Event::End(_) => drop(path.pop()),
            Event::Text(text) if within.is_some() => {
                append(&mut cases, within, &text.xml10_content());
            }
            Event::CData(text) if within.is_some() => {
                append(&mut cases, within, &text.xml10_content());
            }
            Event::GeneralRef(reference) if within.is_some() => {
                let number = reference.resolve_char_ref()?.map(String::from);
                let known = quick_xml::escape::resolve_xml_entity(&reference);
                append(&mut cases, within, &number.unwrap_or(known.unwrap_or_default().to_owned()));
            }
            Event::Eof if path.is_empty() => return Ok(cases),
            Event::Eof => return Err(NoReport::Cut),
            _ => (),
        }
    }
}

/// What an element means to us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tag {
    Case,
    Complaint,
    Stdout,
    Stderr,
    Other,
}

impl Tag {
    fn has_text(self) -> bool {
        matches!(self, Self::Complaint | Self::Stdout | Self::Stderr)
    }
}

fn enter(
    cases: &mut Vec<Case>,
    parent: Option<Tag>,
    tag: &BytesStart<'_>,
) -> Result<Tag, quick_xml::Error> {
    if tag.name().as_ref() == "testcase" {
        let time = attribute(tag, "time")?.replace(',', "").parse();
        cases.push(Case {
            class: attribute(tag, "classname")?,
            name: attribute(tag, "name")?,
            file: attribute(tag, "file")?,
            time: time.ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()),
            stdout: String::new(),
            stderr: String::new(),
            complaints: Vec::new(),
        });
        return Ok(Tag::Case);
    }
    let kind = match tag.name().as_ref() {
        "failure" => ComplaintKind::Failure,
        "error" => ComplaintKind::Error,
        "skipped" => ComplaintKind::Skipped,
        "flakyFailure" | "flakyError" => ComplaintKind::Overcome,
        "system-out" if parent == Some(Tag::Case) => return Ok(Tag::Stdout),
        "system-err" if parent == Some(Tag::Case) => return Ok(Tag::Stderr),
        // Surefire puts the text of reruns into a separate element.
        "stackTrace" if parent == Some(Tag::Complaint) => return Ok(Tag::Complaint),
        _ => return Ok(Tag::Other),
    };
    match cases.last_mut().filter(|_| parent == Some(Tag::Case)) {
        Some(case) => {
            let message = attribute(tag, "message")?;
            case.complaints.push(Complaint { kind, message, text: String::new() });
            Ok(Tag::Complaint)
        }
        None => Ok(Tag::Other),
    }
}

fn attribute(tag: &BytesStart<'_>, name: &str) -> Result<String, quick_xml::Error> {
    match tag.try_get_attribute(name)? {
        Some(value) => Ok(value.normalized_value(XmlVersion::Implicit1_0)?.into_owned()),
        None => Ok(String::new()),
    }
}

fn append(cases: &mut [Case], within: Option<Tag>, text: &str) {
    let Some(case) = cases.last_mut() else { return };
    let told = match within {
        Some(Tag::Stdout) => Some(&mut case.stdout),
        Some(Tag::Stderr) => Some(&mut case.stderr),
        _ => case.complaints.last_mut().map(|complaint| &mut complaint.text),
    };
    if let Some(told) = told {
        told.push_str(text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cases_and_complaints_are_told_from_all_else() {
        let xml = r#"<?xml version="1.0"?><testsuites><error>around</error><testsuite>
            <properties><property name="x" value="failure"/></properties>
            <testcase classname="p.T" name="a &lt;1&gt;" time="1,000.25" file="t.x"><system-out><![CDATA[<error>]]></system-out>
            <failure message="m">1 &lt; &#48;<![CDATA[ & on]]></failure><error/></testcase>
            <testcase name="b"/></testsuite></testsuites>"#;
        let cases = read(xml).unwrap();
        let complaint = |kind, message: &str, text: &str| Complaint {
            kind,
            message: message.to_owned(),
            text: text.to_owned(),
        };
        let first = [
            complaint(ComplaintKind::Failure, "m", "1 < 0 & on"),
            complaint(ComplaintKind::Error, "", ""),
        ];
        assert_eq!((cases[0].class.as_str(), cases[0].name.as_str()), ("p.T", "a <1>"));
        assert_eq!(cases[0].complaints, first);
        assert_eq!(cases[0].text(), "1 < 0 & on");
        assert_eq!(
            (cases[0].time, cases[0].file.as_str()),
            (Some(Duration::from_millis(1_000_250)), "t.x")
        );
        assert_eq!((cases[0].stdout.as_str(), cases[0].stderr.as_str()), ("<error>", ""));
        assert_eq!((cases[1].class.as_str(), cases[1].name.as_str()), ("", "b"));
        assert_eq!((cases[1].complaints.len(), cases[1].time), (0, None));
        assert_eq!(cases.len(), 2);
    }

    #[test]
    fn attempts_that_were_overcome_are_no_failure_but_are_told() {
        let xml = r#"<testsuite><testcase classname="t" name="a">
            <flakyFailure message="m"><stackTrace>run 3f2a91/7
assert 1</stackTrace><system-out>o</system-out></flakyFailure></testcase>
            <testcase classname="t" name="b"><failure message="m">run away</failure>
            <rerunFailure message="m"><stackTrace>again</stackTrace></rerunFailure></testcase>
            </testsuite>"#;
        let cases = read(xml).unwrap();
        assert_eq!((cases[0].text().as_str(), cases[0].overcame()), ("", Some("assert 1")));
        assert_eq!((cases[1].text().as_str(), cases[1].overcame()), ("run away", None));
    }

    #[test]
    fn half_a_file_is_an_error() {
        for half in ["<testsuite><testcase classname='t' name='a", "<testsuite><testcase/>", "<a><"]
        {
            assert!(read(half).is_err(), "{half}");
        }
    }
}
