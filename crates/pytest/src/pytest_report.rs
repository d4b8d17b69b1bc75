//! What pytest says in JUnit XML.
//!
//! One `testcase` for each report of a test, in the order in which they were made. Most tests have
//! one; one that failed and then failed again in its teardown has two, and subtests add theirs.

use std::collections::BTreeMap;

use unflake_known::junit_xml::Address;
use unflake_known::junit_xml::{self, CiReport, ComplaintKind, NoReport};
use unflake_model::{Outcome, Phase};

use crate::node_id::{junit_address, unittest_address};

/// One `testcase`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Case {
    class: String,
    name: String,
    outcome: Outcome,
    text: String,
    /// What was said of an attempt before the last.
    overcame: Option<String>,
}

/// What was said about one test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Reported {
    pub(crate) outcome: Outcome,
    pub(crate) text: String,
}

/// Every `testcase` of a file, in order.
pub(crate) fn parse(xml: &str) -> Result<Vec<Case>, NoReport> {
    Ok(junit_xml::read(xml)?.into_iter().map(case).collect())
}

/// Of several complaints about a test the heaviest decides its outcome.
fn case(read: junit_xml::Case) -> Case {
    let overcame = read.overcame().map(str::to_owned);
    let outcomes = read.complaints.iter().map(|complaint| match complaint.kind {
        ComplaintKind::Failure => Outcome::Failed { phase: Phase::Call },
        ComplaintKind::Error if complaint.message.starts_with("failed on teardown") => {
            Outcome::Failed { phase: Phase::TearDown }
        }
        ComplaintKind::Error => Outcome::Error,
        ComplaintKind::Skipped => Outcome::Skipped,
        ComplaintKind::Overcome => Outcome::Passed,
    });
    let outcome = outcomes.max_by_key(|outcome| weight(*outcome)).unwrap_or(Outcome::Passed);
    Case { outcome, text: read.text(), class: read.class, name: read.name, overcame }
}

/// Which of two reports about one test counts: the heavier one.
fn weight(outcome: Outcome) -> u8 {
    match outcome {
        Outcome::Failed { phase: Phase::Call } => 4,
        Outcome::Error | Outcome::TimedOut { .. } | Outcome::Crashed { .. } => 3,
        Outcome::Failed { .. } => 2,
        Outcome::Skipped => 1,
        Outcome::Passed | Outcome::NotRun => 0,
    }
}

/// Which case is about which of these tests; whether they ran in this order; and which cases are
/// about none of them.
pub(crate) fn assign(ids: &[&str], cases: Vec<Case>) -> (Vec<Option<Reported>>, bool, Vec<String>) {
    let mut places: BTreeMap<(String, String), Vec<usize>> = BTreeMap::new();
    for (place, id) in ids.iter().enumerate().rev() {
        places.entry(junit_address(id)).or_default().push(place);
    }
    let mut reported: Vec<Option<Reported>> = vec![None; ids.len()];
    let mut strangers = Vec::new();
    let mut is_in_order = true;
    let mut last = 0;
    for case in cases {
        let address = (case.class, case.name);
        let Some(waiting) = places.get_mut(&address) else {
            strangers.push(format!("{}::{}", address.0, address.1));
            continue;
        };
        // Of several tests of one address, the first is served first; the last one keeps the rest.
        let place = if 1 < waiting.len() { waiting.pop() } else { waiting.last().copied() };
        let Some(place) = place else { continue };
        is_in_order &= last <= place;
        last = last.max(place);
        merge(&mut reported[place], Reported { outcome: case.outcome, text: case.text });
    }
    (reported, is_in_order, strangers)
}

/// What a test is called in JUnit XML, there as pytest writes it, and in a project of `unittest` as
/// its readers expect it.
pub(crate) fn address(id: &str) -> Address {
    let is_unittest = !id.contains("::");
    let dotted = unittest_address(id).filter(|_| is_unittest);
    let (class, name) = dotted.unwrap_or_else(|| junit_address(id));
    Address { class, name }
}

/// JUnit XML as pytest writes it, one file after the other, about tests with these ids.
pub(crate) fn ci_report(xmls: &[String], ids: &[&str]) -> Result<CiReport, NoReport> {
    let numbered = || ids.iter().enumerate().rev();
    let mut places: BTreeMap<(String, String), usize> =
        numbered().filter_map(|(place, id)| Some((unittest_address(id)?, place))).collect();
    places.extend(numbered().map(|(place, id)| (junit_address(id), place)));
    let mut report = CiReport::default();
    let mut cases = Vec::new();
    for xml in xmls {
        cases.extend(parse(xml)?);
    }
    for case in cases {
        let is_failed = 2 <= weight(case.outcome) || case.overcame.is_some();
        let text = case.overcame.unwrap_or(case.text);
        let address = (case.class, case.name);
        match places.get(&address) {
            None if is_failed => report.unknown.push(format!("{}::{}", address.0, address.1)),
            None => (),
            Some(place) => {
                let is_new = !report.order.contains(place);
                report.order.extend(is_new.then_some(*place));
                let is_told = report.failed.iter().any(|(told, _)| told == place);
                let is_news = is_failed && !is_told;
                report.failed.extend(is_news.then(|| (*place, complaint(&text))));
            }
        }
    }
    Ok(report)
}

/// The line of a failure that says what went wrong: what pytest marks with an `E`, else the last.
fn complaint(text: &str) -> String {
    let mut marked = text.lines().filter_map(|line| line.strip_prefix("E "));
    marked.next().or(text.lines().last()).unwrap_or_default().trim().to_owned()
}

fn merge(before: &mut Option<Reported>, after: Reported) {
    match before {
        Some(before) => {
            // A part of a test that was skipped does not make the whole of it skipped.
            let is_pass = |r: &Reported| matches!(r.outcome, Outcome::Passed | Outcome::Skipped);
            if is_pass(before) && is_pass(&after) {
                if before.outcome != after.outcome {
                    before.outcome = Outcome::Passed;
                }
            } else if weight(before.outcome) < weight(after.outcome) {
                before.outcome = after.outcome;
            }
            before.text.push_str(&after.text);
        }
        None => *before = Some(after),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FAILED: Outcome = Outcome::Failed { phase: Phase::Call };

    fn outcomes(ids: &[&str], xml: &str) -> (Vec<Option<Outcome>>, bool) {
        let (reported, is_in_order, _) = assign(ids, parse(xml).unwrap());
        (reported.iter().map(|r| r.as_ref().map(|r| r.outcome)).collect(), is_in_order)
    }

    #[test]
    fn each_kind_of_report_has_its_outcome() {
        let xml = r#"<?xml version="1.0" encoding="utf-8"?><testsuites><testsuite name="pytest">
            <testcase classname="t" name="a" time="0.1" />
            <testcase classname="t" name="b"><failure message="x">assert 1 &lt; 0&#10;!</failure></testcase>
            <testcase classname="t" name="c"><error message="failed on setup with &quot;E&quot;">e</error></testcase>
            <testcase classname="t" name="d"><error message="failed on teardown with E">e</error></testcase>
            <testcase classname="t" name="e"><skipped type="pytest.skip" message="m">s</skipped></testcase>
            <testcase classname="t" name="f"><properties><property name="p" value="v"/></properties></testcase>
            </testsuite></testsuites>"#;
        let ids = ["t.py::a", "t.py::b", "t.py::c", "t.py::d", "t.py::e", "t.py::f", "t.py::g"];
        let (found, is_in_order) = outcomes(&ids, xml);
        let teardown = Outcome::Failed { phase: Phase::TearDown };
        let (passed, skipped) = (Some(Outcome::Passed), Some(Outcome::Skipped));
        let expected =
            [passed, Some(FAILED), Some(Outcome::Error), Some(teardown), skipped, passed, None];
        assert_eq!(found, expected);
        assert!(is_in_order);
        let (reported, _, _) = assign(&ids, parse(xml).unwrap());
        assert_eq!(reported[1].as_ref().unwrap().text, "assert 1 < 0\n!");
    }

    #[test]
    fn several_reports_about_one_test_are_one_outcome() {
        let xml = r#"<testsuite>
            <testcase classname="t" name="a"><failure message="x">first</failure></testcase>
            <testcase classname="t" name="a"><error message="failed on teardown">second</error></testcase>
            <testcase classname="t" name="b"><skipped/></testcase>
            <testcase classname="t" name="b"/>
            </testsuite>"#;
        let (found, is_in_order) = outcomes(&["t.py::a", "t.py::b"], xml);
        assert_eq!(found, [Some(FAILED), Some(Outcome::Passed)]);
        assert!(is_in_order);
    }

    #[test]
    fn tests_that_look_alike_are_told_apart_by_their_order() {
        let xml = r#"<testsuite>
            <testcase classname="a.b" name="x"/>
            <testcase classname="a.b" name="x"><failure message="x"/></testcase>
            <testcase classname="" name="c"><error message="collection failure"/></testcase>
            </testsuite>"#;
        let (found, _) = outcomes(&["a/b.py::x", "a.b.py::x"], xml);
        assert_eq!(found, [Some(Outcome::Passed), Some(FAILED)]);
        let (_, _, strangers) = assign(&["a/b.py::x"], parse(xml).unwrap());
        assert_eq!(strangers, ["::c"]);
    }

    #[test]
    fn another_order_is_noticed() {
        let xml = r#"<testsuite><testcase classname="t" name="b"/>
            <testcase classname="t" name="a"/></testsuite>"#;
        assert!(!outcomes(&["t.py::a", "t.py::b"], xml).1);
        assert!(outcomes(&["t.py::b", "t.py::a"], xml).1);
    }

    #[test]
    fn a_report_of_continuous_integration_tells_the_order_and_what_failed() {
        let xml = r#"<testsuite><testcase classname="t" name="b"/>
            <testcase classname="t" name="a"><failure message="x">why</failure></testcase>
            <testcase classname="t" name="a"><error message="failed on teardown">w</error></testcase>
            <testcase classname="t" name="c"><skipped/></testcase>
            <testcase classname="gone" name="z"><failure message="x"/></testcase>
            <testcase classname="gone" name="y"/></testsuite>"#;
        let report = ci_report(&[xml.to_owned()], &["t.py::a", "t.py::b", "t.py::c"]).unwrap();
        assert_eq!(report.order, [1, 0, 2]);
        assert_eq!(report.failed, [(0, "why".to_owned())]);
        assert_eq!(report.unknown, ["gone::z"]);
        assert!(ci_report(&["<a><".to_owned()], &[]).is_err());
    }
}
