//! In what sequence should a reader see findings?
//!
//! By what a fix is worth: findings that share a cause stand together; causes of order-dependent
//! tests come first, because they are found with their culprits; then the other verdicts as
//! [`Verdict::ALL`] lists them. Among equals, the cause of more tests, then the one that fails more
//! often, then the original order. Rates are compared as fractions, so no rounding decides.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use unflake_model::{Finding, Tally, TestIndex, Verdict};

use unflake_known::{Exhibit, View};

/// Findings that share a cause, most telling first.
#[derive(Clone, Debug)]
pub(crate) struct Family<'a> {
    /// The tests to look at; empty where the only member is its own cause.
    pub(crate) culprits: &'a [TestIndex],
    /// Never empty.
    pub(crate) members: Vec<&'a Exhibit>,
}

impl Family<'_> {
    /// How many of its members are flaky: more than always failing, or undecided.
    pub(crate) fn n_flaky(&self) -> usize {
        self.members.iter().filter(|exhibit| exhibit.finding.verdict.is_flaky()).count()
    }

    pub(crate) fn is_flaky(&self) -> bool {
        0 < self.n_flaky()
    }
}

/// All findings, cause by cause.
pub(crate) fn ranked<'a>(view: &View<'a>) -> Vec<Family<'a>> {
    let mut waiting: BTreeMap<TestIndex, Vec<&Exhibit>> = BTreeMap::new();
    for exhibit in view.exhibits {
        waiting.entry(exhibit.finding.test).or_default().push(exhibit);
    }
    let mut families: Vec<Family<'_>> = Vec::new();
    for cause in view.causes {
        let members: Vec<&Exhibit> =
            cause.tests.iter().filter_map(|test| waiting.remove(test)).flatten().collect();
        let culprits = if members.len() < 2 { &[] } else { cause.culprits.as_slice() };
        families.push(Family { culprits, members });
    }
    families.extend(waiting.into_values().map(|members| Family { culprits: &[], members }));
    families.retain(|family| !family.members.is_empty());
    for family in &mut families {
        family.members.sort_by(|a, b| compare(&a.finding, &b.finding));
    }
    families.sort_by(|a, b| {
        let (first, other) = (&a.members[0].finding, &b.members[0].finding);
        rank(first.verdict)
            .cmp(&rank(other.verdict))
            .then(b.members.len().cmp(&a.members.len()))
            .then(compare(first, other))
    });
    families
}

fn compare(a: &Finding, b: &Finding) -> Ordering {
    rank(a.verdict).cmp(&rank(b.verdict)).then(by_rate(b.tally, a.tally)).then(a.test.cmp(&b.test))
}

/// The order-dependent ones share a rank.
fn rank(verdict: Verdict) -> Option<usize> {
    if verdict.is_order_dependent() {
        return None;
    }
    Verdict::ALL.iter().position(|listed| *listed == verdict)
}

fn by_rate(a: Tally, b: Tally) -> Ordering {
    let cross = |x: Tally, y: Tally| u128::from(x.failures) * u128::from(y.attempts.max(1));
    cross(a, b).cmp(&cross(b, a))
}
