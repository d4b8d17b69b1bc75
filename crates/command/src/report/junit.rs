//! JUnit XML.

use unflake_known::junit_xml::{self, ComplaintKind};
use unflake_wire::Ended;

use super::{BadReport, Case, Report, first_line};

/// How a report begins; what a runner printed before is none of it.
const BEGINNINGS: [&str; 2] = ["<?xml", "<testsuite"];

pub(super) fn read(text: &str) -> Result<Report, BadReport> {
    let begins = BEGINNINGS.iter().filter_map(|beginning| text.find(beginning)).min();
    let begins = begins.ok_or(BadReport::Nothing("<testsuite>"))?;
    // And what it printed behind.
    let ends = text.rfind('>').map_or(text.len(), |last| last + 1);
    let cases = junit_xml::read(&text[begins..ends.max(begins)])?;
    Ok(Report { cases: cases.into_iter().map(case).collect(), bailed: None })
}

/// What is said in one `testcase`.
pub(crate) fn case(read: junit_xml::Case) -> Case {
    // Of several complaints the heaviest decides.
    let weight = |kind| match kind {
        ComplaintKind::Failure => 3,
        ComplaintKind::Error => 2,
        ComplaintKind::Skipped => 1,
        ComplaintKind::Overcome => 0,
    };
    let heaviest = read.complaints.iter().max_by_key(|complaint| weight(complaint.kind));
    let outcome = match heaviest.map(|complaint| complaint.kind) {
        Some(ComplaintKind::Failure) => Ended::Failed,
        Some(ComplaintKind::Error) => Ended::Error,
        Some(ComplaintKind::Skipped) => Ended::Skipped,
        Some(ComplaintKind::Overcome) | None => Ended::Passed,
    };
    let text = read.text();
    let said = heaviest.map_or("", |complaint| complaint.message.as_str());
    let message = first_line(if said.trim().is_empty() { &text } else { said });
    // Some write everything into the attribute.
    let text = if text.trim().is_empty() { said.to_owned() } else { text };
    Case {
        outcome,
        message,
        text,
        file: read.file,
        duration: read.time,
        stdout: read.stdout,
        stderr: read.stderr,
        class: read.class,
        name: read.name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn outcomes_durations_and_words_are_those_of_the_report() {
        let xml = r#"building...
            <testsuites><testsuite name="s">
            <testcase classname="A" name="ok" time="0.5" file="a.x"/>
            <testcase classname="A" name="bad"><failure message="1 != 2&#10;more">at a.x:3</failure>
              <system-out>out</system-out><system-err>err</system-err></testcase>
            <testcase classname="A" name="broken"><error>no set-up</error></testcase>
            <testcase classname="A" name="left out"><skipped/></testcase>
            <testcase classname="A" name="both"><skipped/><failure message="all here"/></testcase>
            </testsuite></testsuites>
            done in 3 s"#;
        let cases = read(xml).unwrap().cases;
        let outcomes: Vec<Ended> = cases.iter().map(|case| case.outcome).collect();
        let (failed, error) = (Ended::Failed, Ended::Error);
        assert_eq!(outcomes, [Ended::Passed, failed, error, Ended::Skipped, failed]);
        assert_eq!(
            (cases[0].duration, cases[0].file.as_str()),
            (Some(Duration::from_millis(500)), "a.x")
        );
        assert_eq!((cases[1].message.as_str(), cases[1].text.as_str()), ("1 != 2", "at a.x:3"));
        assert_eq!((cases[1].stdout.as_str(), cases[1].stderr.as_str()), ("out", "err"));
        assert_eq!((cases[2].message.as_str(), cases[2].text.as_str()), ("no set-up", "no set-up"));
        assert_eq!(cases[4].text, "all here");
    }

    #[test]
    fn half_a_report_and_none_are_errors() {
        assert!(read("<testsuite><testcase name='a'").is_err());
        let error = read("segmentation fault").unwrap_err();
        assert_eq!(error.to_string(), "there is no `<testsuite>` in it");
    }
}
