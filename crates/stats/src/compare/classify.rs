//! From failures per order to a verdict: Table 1.1, with "not enough evidence" in it.
//!
//! The table of the taxonomy speaks of true rates; we have counts. So each of its rows needs a
//! decision, and "no" to one question is never taken for "yes" to its opposite:
//!
//! | # | seen | equal rates rejected | order's influence below the margin | verdict |
//! |---|---|---|---|---|
//! | 1 | no attempt | | | insufficient evidence |
//! | 2 | no failure | | | not flaky |
//! | 3 | no pass | | | always failing |
//! | 4 | each order only passes or only fails | yes | | OD of unknown role |
//! | 5 | each order only passes or only fails | no | | insufficient evidence |
//! | 6 | some order does both | yes | | NDOD |
//! | 7 | some order does both | no | yes | NDOI |
//! | 8 | some order does both | no | no | NOD undecided |
//!
//! Equal rates are rejected by the exact test. Row 5 is what ten orders run once each amount to if
//! one of them failed: an order-dependent test looks like that, and so does one that fails one time
//! in ten. Row 6 comes before row 7: a difference that is proven is not argued away by being small.
//!
//! Limit: verdicts are about one test. Classifying hundreds of tests needs a higher confidence
//! (divide the error by the number of tests), or some of the NDOD verdicts are chance.

use unflake_model::{Confidence, Tally, Verdict};

use super::chi_square::{ChiSquare, same_rate};
use super::difference::influence;
use super::exact::{ExactTest, same_rate_exact};

/// What to decide about the counts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Question {
    /// How sure a verdict must be.
    pub confidence: Confidence,
    /// The largest difference of failure rates, between one order and the others, that does not
    /// matter.
    pub margin: f64,
    /// The seed for sampling tables, if they are too large to count.
    pub seed: u64,
}

/// The verdict, and what it is based on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Classified {
    /// The verdict that the table gives.
    pub verdict: Verdict,
    /// Orders with at least one attempt.
    pub n_orders: u64,
    /// Orders with at least one failure.
    pub n_failing_orders: u64,
    /// The test that decided; `None` if there was nothing to compare.
    pub exact: Option<ExactTest>,
    /// The customary test, for comparison.
    pub chi_square: Option<ChiSquare>,
    /// The upper limit on how far any order's rate lies from the others'.
    pub influence: Option<f64>,
}

impl Classified {
    /// The share of orders in which the test failed; `None` without orders. A high share suggests
    /// that the order plays no part.
    pub fn failing_share(&self) -> Option<f64> {
        (0 < self.n_orders).then(|| self.n_failing_orders as f64 / self.n_orders as f64)
    }

    /// Whether there are fewer than the three orders that published comparisons ask for.
    pub fn has_few_orders(&self) -> bool {
        self.n_orders < 3
    }
}

/// Classifies a test by how often it failed in each order.
pub fn classify(tallies: &[Tally], question: Question) -> Classified {
    let exact = same_rate_exact(tallies, question.seed);
    let influence = influence(tallies, question.confidence);
    let differs = exact.is_some_and(|test| test.p_value < question.confidence.error());
    let is_bounded = influence.is_some_and(|limit| limit <= question.margin);
    let count = |is: fn(&Tally) -> bool| tallies.iter().filter(|t| is(t)).count() as u64;
    Classified {
        verdict: verdict(Seen::of(tallies), differs, is_bounded),
        n_orders: count(|t| 0 < t.attempts),
        n_failing_orders: count(|t| 0 < t.failures),
        exact,
        chi_square: same_rate(tallies),
        influence,
    }
}

#[derive(Clone, Copy, Debug)]
enum Seen {
    Nothing,
    Passes,
    Failures,
    EitherByOrder,
    BothInOneOrder,
}

impl Seen {
    fn of(tallies: &[Tally]) -> Self {
        let failed = tallies.iter().any(|t| 0 < t.failures);
        let passed = tallies.iter().any(|t| 0 < t.passes());
        match (passed, failed) {
            (false, false) => Self::Nothing,
            (true, false) => Self::Passes,
            (false, true) => Self::Failures,
            (true, true) if tallies.iter().any(|t| t.is_mixed()) => Self::BothInOneOrder,
            (true, true) => Self::EitherByOrder,
        }
    }
}

fn verdict(seen: Seen, differs: bool, is_bounded: bool) -> Verdict {
    match (seen, differs, is_bounded) {
        (Seen::Nothing, _, _) | (Seen::EitherByOrder, false, _) => Verdict::InsufficientEvidence,
        (Seen::Passes, _, _) => Verdict::NotFlaky,
        (Seen::Failures, _, _) => Verdict::AlwaysFailing,
        (Seen::EitherByOrder, true, _) => Verdict::OdUnknownRole,
        (Seen::BothInOneOrder, true, _) => Verdict::Ndod,
        (Seen::BothInOneOrder, false, true) => Verdict::Ndoi,
        (Seen::BothInOneOrder, false, false) => Verdict::NodUndecided,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::chi_square::tests::{e16, tallies, tally};

    const QUESTION: Question = Question { confidence: Confidence::USUAL, margin: 0.05, seed: 1 };

    fn verdict_of(tallies: &[Tally]) -> Verdict {
        classify(tallies, QUESTION).verdict
    }

    #[test]
    fn the_eight_rows_of_the_table() {
        assert_eq!(verdict_of(&[]), Verdict::InsufficientEvidence);
        assert_eq!(verdict_of(&tallies(&[0, 0], &[10, 10])), Verdict::NotFlaky);
        assert_eq!(verdict_of(&tallies(&[9, 1], &[9, 1])), Verdict::AlwaysFailing);
        assert_eq!(verdict_of(&tallies(&[9, 0], &[9, 9])), Verdict::OdUnknownRole);
        assert_eq!(verdict_of(&tallies(&[1, 0, 0, 0, 0], &[1; 5])), Verdict::InsufficientEvidence);
        assert_eq!(verdict_of(&tallies(&[99, 0, 1], &[100; 3])), Verdict::Ndod);
        assert_eq!(verdict_of(&[tally(100, 10_000); 3]), Verdict::Ndoi);
        assert_eq!(verdict_of(&[tally(1, 100); 3]), Verdict::NodUndecided);
    }

    #[test]
    fn one_failure_in_4000_runs_is_undecided_though_chi_square_calls_it_ndod() {
        // Example E16, second case.
        let found = classify(&e16(0, 1), QUESTION);
        assert_eq!(found.verdict, Verdict::NodUndecided);
        assert!(found.chi_square.unwrap().p_value < 0.05);
        assert!(0.05 < found.exact.unwrap().p_value);
        assert_eq!((found.n_failing_orders, found.n_orders), (1, 21));
        // The least ratio of failing orders in the study is 1 of 21: 4.8 %.
        assert!((found.failing_share().unwrap() - 0.048).abs() < 5e-4);
    }

    #[test]
    fn the_examples_of_table_1_1() {
        // "99 % in one order, 0 % in another" is NDOD.
        assert_eq!(verdict_of(&tallies(&[99, 0], &[100, 100])), Verdict::Ndod);
        // "Every order 1 %" is NDOI once enough runs show it.
        assert_eq!(verdict_of(&[tally(20, 2000); 2]), Verdict::Ndoi);
        assert!(classify(&[tally(20, 2000); 2], QUESTION).has_few_orders());
    }

    #[test]
    fn fastjson_fails_always_in_two_orders_and_never_elsewhere() {
        // IDoFT tso-iso-rates, Issue1298.test_for_issue: 100 of 100 in two of 21 orders.
        let mut observed = e16(0, 100);
        observed[2] = tally(100, 100);
        assert_eq!(verdict_of(&observed), Verdict::OdUnknownRole);
    }

    #[test]
    fn one_order_alone_says_nothing_about_orders() {
        let found = classify(&[tally(3, 10)], QUESTION);
        assert_eq!(found.verdict, Verdict::NodUndecided);
        assert_eq!((found.exact, found.influence), (None, None));
        assert_eq!(classify(&[], QUESTION).failing_share(), None);
    }
}
