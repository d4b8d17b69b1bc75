//! When many tests begin to fail together, tries a common cause first.
//!
//! A polluter that leaves a logger factory replaced may have hundreds of victims. Investigating
//! each takes hundreds of times as long as investigating one. So one is investigated, and what it
//! depends on is tried on all others at once: all of them in the same order, alternately with and
//! without the group in front. The tests that fail with it every time and never without share the
//! cause.
//!
//! Limits: no further polluters or cleaners are searched for the tests that share the cause, so
//! their findings are not complete. A test that hides behind another victim (one that cleans up,
//! say) does not show, and is investigated by itself.

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

/// This many suspects are a crowd; fewer are investigated one by one.
const CROWD: usize = 10;

/// How many of a crowd may have causes of their own before the rest is investigated one by one.
const LONERS_MAX: usize = 3;

/// Pairs of runs behind a shared cause. A test that fails at the same rate everywhere shows this in
/// one case of a million.
const PAIRS: u64 = 10;

/// Investigates a crowd, cause by cause; removes the tests it has explained from `waiting`.
pub(crate) async fn examine(lab: &Lab, waiting: &mut Vec<TestIndex>, depth: Depth) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut n_loners = 0;
    let mut next = 0;
    while CROWD <= waiting.len() && n_loners < LONERS_MAX && next < waiting.len() {
        let first = waiting[next];
        let part = lab.part(Urgency::Investigate);
        let Some(found) = explain_order(part.clone(), first, depth).await else {
            // It fails at random, and is left to the analysis of random tests.
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

/// The tests that fail after the group and pass without it.
async fn victims_of(lab: &Lab, group: &Group, tests: &[TestIndex]) -> Vec<Finding> {
    let mut rest = tests.to_vec();
    let mut n_pairs = 0;
    while n_pairs < PAIRS && !rest.is_empty() {
        let (with, without) = (in_front(lab, group, &rest), in_front(lab, &[], &rest));
        let Ok((with, without)) = try_join(lab.run(with), lab.run(without)).await else {
            // The evidence so far does not confirm anything.
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

/// The tests with the group in front of all of them, in an order that the runner can run.
fn in_front(lab: &Lab, group: &[TestIndex], tests: &[TestIndex]) -> Order {
    let suite = lab.suite();
    let all = [group, tests].concat();
    if suite.keeps_order() {
        return suite.as_run(Order::from_distinct(all));
    }
    // Where classes are kept together, its class comes last; so it must not be one of the group's.
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
