//! Does the target fail at a different rate after a prefix than alone? Measured in pairs.
//!
//! Failures of non-deterministic tests come in bursts (a loaded machine, a minute of the hour). Ten
//! runs alone followed by ten runs after the prefix would then differ without any influence of the
//! order. So the two are run alternately, and only pairs that disagree count: without an influence
//! of the prefix either run of a pair is as likely to be the failing one (the sign test, exact for
//! any number of pairs). A burst catches both runs of a pair and drops out.
//!
//! Pairs are dear if the prefix is long, so they are run only if runs made for other reasons
//! [`hint`] at a difference.

use futures_util::future::try_join_all;
use unflake_model::{Evidence, Group, OutcomeKind, Tally, TestIndex};
use unflake_stats::compare::{fisher, sign_test};

use crate::classify::are_alike;
use crate::lab::{Lab, OutOfBudget};
use crate::oracle::order_of;

/// What runs alone and in company together suggest, if assumed independent: never proof.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Hint {
    /// Other tests make no difference that matters.
    Alike,
    /// There may or may not be a difference.
    Unclear,
    /// There seems to be a difference, due to this group if one stands out.
    Differ(Option<Group>),
}

/// A difference that would be this unlikely by chance is worth pairs of runs.
const WORTH_PAIRS: f64 = 0.01;

/// Whether the order seems to change how often a watched target fails.
pub(crate) fn hint(lab: &Lab, target: TestIndex) -> Hint {
    let alone = lab.tally_after(&[], target);
    let company = lab.ledger().tally_in_company(target);
    let single = outstanding(lab, target);
    if single.is_some() || fisher(alone, company) <= WORTH_PAIRS {
        return Hint::Differ(single);
    }
    if are_alike(alone, company) { Hint::Alike } else { Hint::Unclear }
}

/// The single test whose position before or behind a watched target changes its failure rate most
/// remarkably; `None` if that is not remarkable among so many tests.
fn outstanding(lab: &Lab, target: TestIndex) -> Option<Group> {
    let ledger = lab.ledger();
    let n_tests = ledger.n_tests();
    let mut behind = vec![Tally::default(); n_tests];
    let mut total = Tally::default();
    for sighting in ledger.attempts(target) {
        total.add(sighting.evidence);
        for test in sighting.prefix() {
            behind[test.get()].add(sighting.evidence);
        }
    }
    let p_value = |with: &Tally| {
        let without = Tally {
            failures: total.failures - with.failures,
            attempts: total.attempts - with.attempts,
        };
        fisher(*with, without)
    };
    let p_values = behind.iter().map(p_value).enumerate();
    let (place, least) = p_values.min_by(|a, b| a.1.total_cmp(&b.1))?;
    (least * n_tests as f64 <= WORTH_PAIRS).then(|| vec![TestIndex::new(place)])
}

/// A prefix that changes how often the target fails.
#[derive(Clone, Debug)]
pub(crate) struct Influence {
    pub(crate) prefix: Vec<TestIndex>,
    /// The failure rate alone.
    pub(crate) without: f64,
    /// The failure rate after the prefix.
    pub(crate) with: f64,
    pub(crate) p_value: f64,
}

/// Alternate runs alone and after a prefix.
pub(crate) struct Pairs {
    lab: Lab,
    target: TestIndex,
    prefix: Vec<TestIndex>,
    n_asked: u64,
    alone: Tally,
    after: Tally,
    only_alone_failed: u64,
    only_after_failed: u64,
}

impl Pairs {
    pub(crate) fn new(lab: &Lab, target: TestIndex, prefix: &[TestIndex]) -> Self {
        Self {
            lab: lab.clone(),
            target,
            prefix: lab.suite().arranged(prefix, target),
            n_asked: 0,
            alone: Tally::default(),
            after: Tally::default(),
            only_alone_failed: 0,
            only_after_failed: 0,
        }
    }

    /// Adds pairs until this many were run.
    pub(crate) async fn extend(&mut self, n: u64) -> Result<(), OutOfBudget> {
        let orders = [order_of(&[], self.target), order_of(&self.prefix, self.target)];
        let pairs = (self.n_asked..n).flat_map(|_| orders.iter());
        let runs = try_join_all(pairs.map(|order| self.lab.run(order.clone()))).await?;
        self.n_asked = self.n_asked.max(n);
        let ends: Vec<Option<Evidence>> =
            runs.iter().map(|run| run.last().and_then(OutcomeKind::evidence)).collect();
        for pair in ends.chunks_exact(2) {
            if let [Some(alone), Some(after)] = *pair {
                self.add(alone, after);
            }
        }
        Ok(())
    }

    fn add(&mut self, alone: Evidence, after: Evidence) {
        self.alone.add(alone);
        self.after.add(after);
        match (alone, after) {
            (Evidence::Fail, Evidence::Pass) => self.only_alone_failed += 1,
            (Evidence::Pass, Evidence::Fail) => self.only_after_failed += 1,
            _ => (),
        }
    }

    /// The probability of disagreements this uneven if the prefix has no influence.
    pub(crate) fn p_value(&self) -> f64 {
        sign_test(self.only_alone_failed, self.only_after_failed)
    }

    pub(crate) fn influence(&self) -> Influence {
        let rate = |tally: Tally| tally.failures as f64 / tally.attempts.max(1) as f64;
        Influence {
            prefix: self.prefix.clone(),
            without: rate(self.alone),
            with: rate(self.after),
            p_value: self.p_value(),
        }
    }
}
