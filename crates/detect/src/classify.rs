//! From evidence to verdict: the numbered table.
//!
//! | # | same prefix, both outcomes | alone | in other contexts | verdict |
//! |---|---|---|---|---|
//! | 1 | never seen | | | insufficient evidence |
//! | 2 | yes | | rates differ | NDOD, confirmed |
//! | 3 | yes | | rates alike, over many orders | NDOI |
//! | 4 | yes | | neither shown | NOD undecided, confirmed |
//! | 5 | no | passes | fails, group confirmed | OD victim, confirmed |
//! | 6 | no | fails | passes, group confirmed | OD brittle, confirmed |
//! | 7 | no | passes | fails, reproduced | OD victim |
//! | 8 | no | fails | passes, reproduced | OD brittle |
//! | 9 | no | not run | passes and fails, both reproduced | OD of unknown role |
//! | 10 | no | passes or not run | only passes | not flaky |
//! | 11 | no | fails or not run | only fails, at least twice | always failing |
//! | 12 | no | | anything else, or questions left open | insufficient evidence |
//!
//! Rows 2 and 3 rest on statistics. *Differ*: runs alone and after some prefix, made alternately,
//! disagree too unevenly for chance ([`ERROR_OF_A_DIFFERENCE`]). Tests that assume independent runs
//! are not used: failures come in bursts, and a burst that hits one context looks like a difference
//! between contexts. *Alike*: the test was run often with others before it, in many orders or in
//! two that are each other's reverse, so that every other test came before it, and the difference
//! to alone lies within [`MARGIN`], on average over these orders. A high p-value does not prove
//! independence.
//!
//! Rows 3, 10 and 11 say that something was not seen. They are never confirmed: an order that was
//! not tried may show it. Their evidence is the number of attempts behind them.

use unflake_model::{Confidence, Tally, Verdict};
use unflake_stats::compare::difference;

/// The chance of calling equal rates different. Small, because a campaign asks about many tests.
pub const ERROR_OF_A_DIFFERENCE: f64 = 1e-4;

/// An influence of the order on the failure rate below this difference counts as none.
pub const MARGIN: f64 = 0.2;

/// The evidence about a test, in the form that the table needs.
#[derive(Clone, Debug)]
pub struct Facts {
    /// Runs of the test alone.
    pub alone: Tally,
    /// One tally for each distinct prefix, the empty one included.
    pub contexts: Vec<Tally>,
    /// Runs of the test after the group that it was found to depend on.
    pub group: Option<Tally>,
    /// Whether the same prefix had both outcomes, in any environment.
    pub is_random: bool,
    /// Runs of the test with others before it, over all orders.
    pub in_company: Tally,
    /// The p-value of a difference between alone and some prefix, from alternate runs.
    pub difference: Option<f64>,
    /// Whether the group was run as often as a confirmation requires.
    pub group_confirmed: bool,
    /// Whether a question about the test remained unanswered, so that "not seen" means less.
    pub is_open: bool,
}

/// The verdict that the table draws from the facts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Conclusion {
    /// What we conclude about the test.
    pub verdict: Verdict,
    /// Whether the verdict was tested again after it was reached.
    pub confirmed: bool,
    /// As in [`unflake_model::Finding::confidence`].
    pub confidence: Option<Confidence>,
}

impl Conclusion {
    fn open(verdict: Verdict) -> Self {
        Self { verdict, confirmed: false, confidence: None }
    }

    fn confirmed(verdict: Verdict, error: f64) -> Self {
        // An error probability below the smallest step from one is rounded up to that step.
        let confidence = Confidence::new(1.0 - error.max(f64::EPSILON)).ok();
        Self { verdict, confirmed: true, confidence }
    }
}

/// Applies the table.
pub fn classify(facts: &Facts) -> Conclusion {
    let total = facts.contexts.iter().fold(Tally::default(), |sum, tally| Tally {
        failures: sum.failures + tally.failures,
        attempts: sum.attempts + tally.attempts,
    });
    if facts.is_random || facts.contexts.iter().any(|tally| tally.is_mixed()) {
        return non_deterministic(facts);
    }
    if total.attempts == 0 {
        return Conclusion::open(Verdict::InsufficientEvidence);
    }
    if !total.is_mixed() {
        return unanimous(facts, total);
    }
    order_dependent(facts)
}

/// Rows 2 to 4. The test is certainly non-deterministic; the influence of the order is not certain.
fn non_deterministic(facts: &Facts) -> Conclusion {
    if let Some(p_value) = facts.difference.filter(|p| *p <= ERROR_OF_A_DIFFERENCE) {
        return Conclusion::confirmed(Verdict::Ndod, p_value);
    }
    if 0 < facts.alone.attempts && are_alike(facts.alone, facts.in_company) {
        let confidence = Some(Confidence::USUAL);
        return Conclusion { verdict: Verdict::Ndoi, confirmed: false, confidence };
    }
    Conclusion { verdict: Verdict::NodUndecided, confirmed: true, confidence: None }
}

/// Whether two rates differ by too little to matter, as far as can be told.
pub(crate) fn are_alike(alone: Tally, after: Tally) -> bool {
    let interval = difference(alone, after, Confidence::USUAL);
    0 < after.attempts && -MARGIN < interval.lower && interval.upper < MARGIN
}

/// Rows 10 to 12.
fn unanimous(facts: &Facts, total: Tally) -> Conclusion {
    Conclusion::open(match total.failures {
        _ if facts.is_open => Verdict::InsufficientEvidence,
        0 => Verdict::NotFlaky,
        // A single failure may be the machine's doing: a process killed for lack of memory.
        1 => Verdict::InsufficientEvidence,
        _ => Verdict::AlwaysFailing,
    })
}

/// Rows 5 to 9 and 12: no context contradicts itself, but they contradict each other.
fn order_dependent(facts: &Facts) -> Conclusion {
    let role = match facts.alone {
        Tally { attempts: 0, .. } => Verdict::OdUnknownRole,
        Tally { failures: 0, .. } => Verdict::OdVictim,
        _ => Verdict::OdBrittle,
    };
    if let Some(group) = facts.group.filter(|_| facts.group_confirmed) {
        return Conclusion::confirmed(role, chance_of_looking_so(facts.alone, group));
    }
    let reproduced = |failing: bool| {
        let is_so = |t: &&Tally| 2 <= t.attempts && (t.failures == t.attempts) == failing;
        facts.contexts.iter().any(|tally| is_so(&tally))
    };
    if reproduced(true) && reproduced(false) {
        Conclusion::open(role)
    } else {
        Conclusion::open(Verdict::InsufficientEvidence)
    }
}

/// The largest probability with which a test that fails at the same rate everywhere shows this: one
/// outcome in all runs alone, the other in all runs after the group. For `a` and `b` runs it is the
/// maximum of `f^a (1-f)^b`, at `f = a / (a + b)`.
fn chance_of_looking_so(alone: Tally, group: Tally) -> f64 {
    let (a, b) = (alone.attempts as f64, group.attempts as f64);
    (a / (a + b)).powf(a) * (b / (a + b)).powf(b)
}
