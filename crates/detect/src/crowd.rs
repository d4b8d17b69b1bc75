//! Many tests begin to fail together: suppose one cause first.
//!
//! A polluter that leaves a logger factory replaced may have hundreds of victims. To look into each
//! by itself takes hundreds of times what it takes to look into one. So one is looked into, and
//! what it depends on is tried on all the others at once: the same order of all of them, with the
//! group in front and without, in turn. Whoever fails with it every time and never without shares
//! the cause.
//!
//! Limits: of those who share it no other polluter and no cleaner is looked for, which their
//! findings say by not being complete. Whoever hides behind another victim (which cleans up, say)
//! does not show, and is looked into by itself.

use std::collections::BTreeSet;

use futures_util::future::try_join;
use unflake_model::{
    Confidence, Contrast, Dependencies, Evidence, Finding, Group, Order, OutcomeKind, Tally,
    TestIndex, Verdict,
};

use crate::concluding::{Confirmed, finding};
use crate::depth::Depth;
use crate::explain::explain_order;
use crate::lab::{Lab, Urgency};

/// So many suspects are a crowd; fewer are looked into one by one.
const CROWD: usize = 10;

/// So many of a crowd may turn out to have a cause of their own before the rest is looked into one
/// by one.
const LONERS_MAX: usize = 3;

/// Pairs of runs behind a shared cause. A test that fails at one and the same rate everywhere shows
/// this in one case of a million.
const PAIRS: u64 = 10;

/// Looks into a crowd, cause by cause; takes those it has found something about out of the waiting.
pub(crate) async fn examine(lab: &Lab, waiting: &mut Vec<TestIndex>, depth: Depth) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut n_loners = 0;
    let mut next = 0;
    while CROWD <= waiting.len() && n_loners < LONERS_MAX && next < waiting.len() {
        let first = waiting[next];
        let part = lab.part(Urgency::Investigate);
        let Some(found) = explain_order(part.clone(), first, depth).await else {
            // It fails at random, and stays for those who look into that.
            next += 1;
            continue;
        };
        waiting.remove(next);
        let group = found.dependencies.polluters.first().cloned();
        findings.push(found);
        let Some(group) = group else {
            n_loners += 1;
            continue;
        };
        let others: Vec<TestIndex> =
            waiting.iter().copied().filter(|test| !group.contains(test)).collect();
        let shared = victims_of(&part, &group, &others).await;
        let is_shared: BTreeSet<TestIndex> = shared.iter().map(|finding| finding.test).collect();
        waiting.retain(|test| !is_shared.contains(test));
        n_loners += usize::from(shared.is_empty());
        for finding in &shared {
            lab.conclude(finding);
        }
        findings.extend(shared);
    }
    findings
}

/// Those of these tests that fail behind the group and pass without it.
async fn victims_of(lab: &Lab, group: &Group, tests: &[TestIndex]) -> Vec<Finding> {
    let mut rest = tests.to_vec();
    let mut n_pairs = 0;
    while n_pairs < PAIRS && !rest.is_empty() {
        let (with, without) = (in_front(lab, group, &rest), in_front(lab, &[], &rest));
        let Ok((with, without)) = try_join(lab.run(with), lab.run(without)).await else {
            // What was seen so far is not confirmed.
            break;
        };
        let failing = ended(with.outcomes(), Evidence::Fail);
        let passing = ended(without.outcomes(), Evidence::Pass);
        rest.retain(|test| failing.contains(test) && passing.contains(test));
        n_pairs += 1;
    }
    if n_pairs == 0 {
        return Vec::new();
    }
    rest.into_iter().map(|test| shared(lab, group, test, n_pairs)).collect()
}

/// The tests, with these in front of all of them, in an order that the runner knows.
fn in_front(lab: &Lab, group: &[TestIndex], tests: &[TestIndex]) -> Order {
    let suite = lab.suite();
    let all = [group, tests].concat();
    if suite.keeps_order() {
        return suite.as_run(Order::from_distinct(all));
    }
    // Its class stands last where classes are kept together; so it is none of the group's.
    let is_apart = |test: &&TestIndex| {
        group.iter().all(|member| suite.class_of(*member) != suite.class_of(**test))
    };
    let Some(last) = tests.iter().rev().find(is_apart).or(tests.last()) else {
        return Order::from_distinct(all);
    };
    let others: Vec<TestIndex> = all.into_iter().filter(|test| test != last).collect();
    Order::from_distinct([suite.arranged(&others, *last), vec![*last]].concat())
}

fn ended(
    outcomes: impl Iterator<Item = (TestIndex, OutcomeKind)>,
    wanted: Evidence,
) -> BTreeSet<TestIndex> {
    let is_wanted = |(test, outcome): (TestIndex, OutcomeKind)| {
        (outcome.evidence() == Some(wanted)).then_some(test)
    };
    outcomes.filter_map(is_wanted).collect()
}

fn shared(lab: &Lab, group: &Group, test: TestIndex, n_pairs: u64) -> Finding {
    let confirmed = if n_pairs < PAIRS { Confirmed::No } else { Confirmed::Yes };
    let without = Tally { failures: 0, attempts: n_pairs };
    let with = Tally { failures: n_pairs, attempts: n_pairs };
    let i_pairs = i32::try_from(n_pairs).unwrap_or(i32::MAX);
    let sure = Confidence::new(1.0 - 0.25_f64.powi(i_pairs)).ok();
    Finding {
        dependencies: Dependencies { polluters: vec![group.clone()], ..Dependencies::default() },
        contrast: Some(Contrast { alone: without, after_group: with }),
        confidence: sure.filter(|_| confirmed == Confirmed::Yes),
        is_complete: false,
        ..finding(lab, test, Verdict::OdVictim, confirmed)
    }
}
