//! What Surefire says about its tests.
//!
//! A file for each class, a `testcase` for each test, or for each invocation of one. Surefire puts
//! the tests of nested classes into the file of one of them, so files are read all alike, and a
//! case is known by its class and name alone. A case without a name is the class itself: something
//! around its tests failed. An `error` is a test that threw something else than an assertion, which
//! to us is a failure like any other.

use std::collections::BTreeMap;

use unflake_engine::Said;
use unflake_known::junit_xml::Address;
use unflake_known::junit_xml::{self, CiReport, Complaint, ComplaintKind, NoReport};
use unflake_model::{Outcome, Phase};

pub(crate) const FAILED: Outcome = Outcome::Failed { phase: Phase::Call };
const NOT_RUN: Said = Said { outcome: Outcome::NotRun, text: String::new() };

/// One `testcase`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Case {
    pub(crate) class: String,
    pub(crate) name: String,
    pub(crate) outcome: Outcome,
    pub(crate) text: String,
    /// What was said of an attempt before the last.
    pub(crate) overcame: Option<String>,
}

/// Every `testcase` of a file, in order.
pub(crate) fn parse(xml: &str) -> Result<Vec<Case>, NoReport> {
    Ok(junit_xml::read(xml)?.into_iter().map(case).collect())
}

fn case(read: junit_xml::Case) -> Case {
    let is_skipped = |complaint: &Complaint| complaint.kind == ComplaintKind::Skipped;
    let overcame = read.overcame().map(str::to_owned);
    let in_the_end: Vec<&Complaint> =
        read.complaints.iter().filter(|it| it.kind != ComplaintKind::Overcome).collect();
    let outcome = match in_the_end.as_slice() {
        [] => Outcome::Passed,
        complaints if complaints.iter().all(|it| is_skipped(it)) => Outcome::Skipped,
        _ => FAILED,
    };
    Case { outcome, text: read.text(), class: read.class, name: read.name, overcame }
}

/// Which of several cases of one test counts: one failure makes it fail.
fn weight(outcome: Outcome) -> u8 {
    match outcome {
        Outcome::NotRun => 0,
        Outcome::Skipped => 1,
        Outcome::Passed => 2,
        _ => 3,
    }
}

/// What was said about each test, whether those of a class came in this order, and the rest.
pub(crate) fn assign(ids: &[&str], cases: &[Case]) -> (Vec<Said>, bool, Vec<String>) {
    let places: BTreeMap<&str, usize> = (0..).zip(ids).map(|(place, id)| (*id, place)).collect();
    let mut said = vec![NOT_RUN; ids.len()];
    let (mut is_in_order, mut strangers) = (true, Vec::new());
    let mut latest: BTreeMap<&str, usize> = BTreeMap::new();
    for case in cases.iter().filter(|case| !case.name.is_empty() && case.name != case.class) {
        let Some(place) = owners(case).iter().find_map(|id| places.get(id.as_str())) else {
            strangers.push(format!("{}#{}", case.class, case.name));
            continue;
        };
        let before = latest.insert(&case.class, *place);
        is_in_order &= before.is_none_or(|before| before <= *place);
        let is_first = said[*place].outcome == Outcome::NotRun;
        if is_first || weight(said[*place].outcome) < weight(case.outcome) {
            said[*place].outcome = case.outcome;
        } else if said[*place].outcome == Outcome::Passed && case.outcome == Outcome::Skipped {
            continue;
        }
        said[*place].text.push_str(&case.text);
    }
    let around = cases.iter().filter(|case| case.name.is_empty() || case.name == case.class);
    around.for_each(|case| blame(ids, &mut said, case));
    (said, is_in_order, strangers)
}

/// What a test is called in JUnit XML, as Surefire writes it.
pub(crate) fn address(id: &str) -> Address {
    let (class, name) = id.split_once('#').unwrap_or(("", id));
    Address { class: class.to_owned(), name: name.to_owned() }
}

/// Files as Surefire or Gradle writes them, about tests with these ids, in the order in which the
/// build tool runs them: files say nothing about the order of classes.
pub(crate) fn ci_report(xmls: &[String], ids: &[&str]) -> Result<CiReport, NoReport> {
    let mut cases = Vec::new();
    for xml in xmls {
        cases.extend(parse(xml)?);
    }
    // An attempt that failed is a failure to look into, also where the next one passed.
    for case in &mut cases {
        if let Some(text) = case.overcame.take() {
            (case.outcome, case.text) = (FAILED, text);
        }
    }
    let (said, _, strangers) = assign(ids, &cases);
    let is_failed = |outcome: Outcome| weight(Outcome::Passed) < weight(outcome);
    let ran = (0..).zip(&said).filter(|(_, said)| said.outcome != Outcome::NotRun);
    let failed = ran.clone().filter(|(_, said)| is_failed(said.outcome));
    // The rest is the stack.
    let first_line = |text: &str| text.lines().next().unwrap_or_default().to_owned();
    let failed_case = |name: &String| {
        let is_it = |case: &Case| *name == format!("{}#{}", case.class, case.name);
        cases.iter().any(|case| is_it(case) && is_failed(case.outcome))
    };
    Ok(CiReport {
        failed: failed.map(|(place, said)| (place, first_line(&said.text))).collect(),
        order: ran.map(|(place, _)| place).collect(),
        unknown: strangers.into_iter().filter(failed_case).collect(),
    })
}

/// Whether all that was said came in this order, also from one class to the next.
pub(crate) fn is_in_order(ids: &[&str], cases: &[Case]) -> bool {
    let place = |case: &Case| {
        let names = owners(case);
        ids.iter().position(|id| names.iter().any(|name| name == id))
    };
    cases.iter().filter_map(place).is_sorted()
}

/// Something around the tests of a class: it is the last one's fault, or, if none ran, that of all.
fn blame(ids: &[&str], said: &mut [Said], case: &Case) {
    let is_of_class = |place: &usize| {
        let class = ids[*place].split('#').next().unwrap_or_default();
        class == case.class || class.strip_prefix(&case.class).is_some_and(|c| c.starts_with('$'))
    };
    let places: Vec<usize> = (0..ids.len()).filter(is_of_class).collect();
    let last = places.iter().rfind(|place| said[**place].outcome != Outcome::NotRun);
    let (hit, outcome) = match (last, case.outcome) {
        (Some(last), FAILED) => (vec![*last], Outcome::Failed { phase: Phase::TearDown }),
        (None, FAILED) => (places, Outcome::Error),
        (None, Outcome::Skipped) => (places, Outcome::Skipped),
        _ => return,
    };
    for place in hit {
        if said[place].outcome != FAILED {
            said[place] = Said { outcome, text: case.text.clone() };
        }
    }
}

/// The tests a case may belong to: by its name, and by its name without what tells invocations
/// apart (`f(int)[2]`, `g{int}[1]`).
fn owners(case: &Case) -> [String; 2] {
    let end = case.name.find(['(', '[', '{']).unwrap_or(case.name.len());
    [case.name.as_str(), &case.name[..end]].map(|name| format!("{}#{name}", case.class))
}

#[cfg(test)]
mod tests {
    use super::*;

    const XML: &str = r#"<?xml version="1.0" encoding="UTF-8"?><testsuite><properties>
        <property name="x" value="failure"/></properties>
        <testcase name="a" classname="p.T" time="0.1"><system-out><![CDATA[<error>]]></system-out></testcase>
        <testcase name="b" classname="p.T"><error type="E">java &lt;E&gt;
at x</error></testcase>
        <testcase name="c(int)[1]" classname="p.T$In"/>
        <testcase name="c(int)[2]" classname="p.T$In"><failure>two</failure></testcase>
        <testcase name="d" classname="p.T"><skipped message="m"/></testcase>
        <testcase name="x[0]" classname="p.Q"/>
        <testcase name="" classname="p.Broken"><error>set-up</error></testcase>
        <testcase name="t" classname="p.Late"/>
        <testcase name="" classname="p.Late"><error>teardown</error></testcase>
        </testsuite>"#;

    #[test]
    fn each_test_has_the_outcome_that_surefire_reports() {
        let ids = ["p.T#a", "p.T#b", "p.T$In#c", "p.T#d", "p.T#e", "p.Broken#q", "p.Late#t"];
        let cases = parse(XML).unwrap();
        let (said, is_in_order, strangers) = assign(&ids, &cases);
        let outcomes: Vec<Outcome> = said.iter().map(|said| said.outcome).collect();
        let teardown = Outcome::Failed { phase: Phase::TearDown };
        let (passed, skipped) = (Outcome::Passed, Outcome::Skipped);
        let not_run = Outcome::NotRun;
        assert_eq!(outcomes, [passed, FAILED, FAILED, skipped, not_run, Outcome::Error, teardown]);
        assert_eq!(said[1].text, "java <E>\nat x");
        assert!(is_in_order);
        assert_eq!(strangers, ["p.Q#x[0]"]);
        assert!(!assign(&["p.T#b", "p.T#a"], &cases).1);
    }

    #[test]
    fn a_report_of_a_build_says_what_ran_and_what_failed_in_the_order_of_the_build() {
        let ids = ["p.Late#t", "p.T$In#c", "p.T#a", "p.T#b", "p.T#e"];
        let report = ci_report(&[XML.to_owned(), "<testsuite/>".to_owned()], &ids).unwrap();
        assert_eq!(report.order, [0, 1, 2, 3]);
        let failed = [(0, "teardown"), (1, "two"), (3, "java <E>")];
        assert_eq!(report.failed, failed.map(|(place, text)| (place, text.to_owned())));
        assert_eq!(report.unknown, [""; 0]);
        let only = ci_report(&[XML.to_owned()], &["p.T#a"]).unwrap();
        assert_eq!(only.unknown, ["p.T#b", "p.T$In#c(int)[2]"]);
        assert!(ci_report(&["<testsuite".to_owned()], &ids).is_err());
    }
}
