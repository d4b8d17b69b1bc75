//! Findings are divided into causes: fewer fixes are needed than tests are flaky.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests are outside of test functions, where clippy.toml allows it"
)]

mod common;

use common::{at, drive, unlimited};
use futures_util::future::join_all;
use unflake_detect::Depth;
use unflake_detect::cause::causes;
use unflake_detect::explain::explain;
use unflake_model::random::Random;
use unflake_model::{
    Cause, CleanersOf, Dependencies, Finding, Spent, Tally, TestIndex, Tried, Verdict,
};
use unflake_sim::scenario::{self, Scenario};

fn finding(test: usize, dependencies: Dependencies) -> Finding {
    Finding {
        test: at(test),
        verdict: Verdict::OdVictim,
        confirmed: true,
        confidence: None,
        tally: Tally::default(),
        tried: Tried::default(),
        passed_in: None,
        failed_in: None,
        dependencies,
        is_complete: true,
        fails_under: None,
        contrast: None,
        questions: 0,
        spent: Spent::default(),
    }
}

/// A victim of these groups.
fn victim(test: usize, groups: &[&[usize]]) -> Finding {
    let polluters = groups.iter().map(|group| tests(group)).collect();
    finding(test, Dependencies { polluters, ..Dependencies::default() })
}

fn brittle(test: usize, groups: &[&[usize]]) -> Finding {
    let state_setters = groups.iter().map(|group| tests(group)).collect();
    finding(test, Dependencies { state_setters, ..Dependencies::default() })
}

fn tests(positions: &[usize]) -> Vec<TestIndex> {
    positions.iter().copied().map(at).collect()
}

fn cause(culprits: &[usize], flaky: &[usize]) -> Cause {
    Cause { culprits: tests(culprits), tests: tests(flaky) }
}

/// Explains every target of an example, and divides the findings into causes.
fn causes_of(scenario: &Scenario) -> Vec<Cause> {
    let targets = scenario.targets.clone();
    let analysis = |lab: unflake_detect::Lab| async move {
        let explained = targets.iter().map(|target| explain(lab.clone(), *target, Depth::Roles));
        causes(&join_all(explained).await)
    };
    drive(&scenario.sim, unlimited(), 4, analysis).0
}

#[test]
fn the_web_of_27_victims_and_20_polluters_has_one_cause() {
    let web = scenario::web(0);
    let causes = causes_of(&web);
    assert_eq!(causes.len(), 1);
    assert_eq!(causes[0].tests, web.targets);
    assert_eq!(causes[0].culprits.len(), 20);
}

/// Example 12: the brittle needs test 3, and its failing makes 22 others fail.
#[test]
fn the_chain_of_wildfly_has_one_cause_whose_first_culprit_is_the_brittle() {
    let wildfly = scenario::wildfly(0);
    assert_eq!(causes_of(&wildfly), [Cause { culprits: tests(&[20, 3]), tests: wildfly.targets }]);
}

#[test]
fn a_chain_is_one_cause_whichever_of_its_findings_comes_first() {
    let mut findings = vec![brittle(20, &[&[3]]), victim(25, &[&[20]]), victim(26, &[&[20]])];
    for _ in 0..3 {
        findings.rotate_left(1);
        assert_eq!(causes(&findings), [cause(&[20, 3], &[20, 25, 26])]);
    }
}

#[test]
fn findings_that_share_nothing_have_causes_of_their_own() {
    let findings = [victim(1, &[&[5]]), victim(2, &[&[6]]), finding(3, Dependencies::default())];
    assert_eq!(causes(&findings), [cause(&[5], &[1]), cause(&[6], &[2]), cause(&[3], &[3])]);
    assert_eq!(causes(&[]), []);
}

#[test]
fn one_member_of_one_group_in_common_is_enough() {
    let findings = [victim(1, &[&[5, 6], &[7]]), victim(2, &[&[8], &[9, 6]]), victim(3, &[&[10]])];
    assert_eq!(causes(&findings), [cause(&[6, 5, 7, 8, 9], &[1, 2]), cause(&[10], &[3])]);
}

/// A cleaner is not a cause: the same test may clean many victims that share nothing else.
#[test]
fn a_cleaner_in_common_is_not_a_cause_in_common() {
    let with_cleaner = |test, polluter: usize| {
        let mut finding = victim(test, &[&[polluter]]);
        let (polluters, cleaners) = (tests(&[polluter]), tests(&[9]));
        finding.dependencies.cleaners = vec![CleanersOf { polluters, cleaners }];
        finding
    };
    let found = causes(&[with_cleaner(1, 5), with_cleaner(2, 6)]);
    assert_eq!(found, [cause(&[5], &[1]), cause(&[6], &[2])]);
}

#[test]
fn a_long_chain_of_pairs_is_one_cause() {
    let findings: Vec<Finding> = (0..1_000).map(|i| victim(i, &[&[i + 1]])).collect();
    let found = causes(&findings);
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].tests.len(), found[0].culprits.len()), (1_000, 1_000));
}

/// Causes with most tests come first, then by first test; culprits by the number of findings that
/// name them.
#[test]
fn the_order_of_causes_does_not_depend_on_the_order_of_findings() {
    let mut findings = vec![
        victim(1, &[&[50]]),
        victim(2, &[&[40], &[41]]),
        victim(3, &[&[41]]),
        victim(4, &[&[60], &[61]]),
        victim(5, &[&[61], &[60]]),
        brittle(6, &[&[70]]),
    ];
    let expected = [
        cause(&[41, 40], &[2, 3]),
        cause(&[60, 61], &[4, 5]),
        cause(&[50], &[1]),
        cause(&[70], &[6]),
    ];
    let mut random = Random::new(0);
    for _ in 0..50 {
        random.shuffle(&mut findings);
        assert_eq!(causes(&findings), expected);
    }
}
