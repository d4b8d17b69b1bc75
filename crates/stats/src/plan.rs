//! How many runs until a failure shows?
//!
//! If runs are independent and each fails with rate `f`, then `n` runs show at least one failure
//! with probability `1 - (1-f)^n` (root-cause spec 2.3). Everything here is that formula, solved
//! for one of its three letters: [`runs_needed`] for `n`, [`rate_detectable`] for `f`, and
//! [`sees_failure`] for the probability. [`sees_pass`] is the same with passes: how likely one of
//! `n` reruns clears a test that failed.
//!
//! Limit: independence. Failures that come in bursts need more reruns than stated here; see
//! [`crate::burst`] for what the observed bursts say.

use unflake_model::Confidence;

use crate::rate::Rate;

/// The fewest runs that show a failure of this rate with this confidence:
/// `ceil(ln(1-c) / ln(1-f))`. `None` for a rate of 0, or one so small that no count would do.
///
/// Where the quotient is meant to be whole (`c = 0.99`, `f = 0.9`: two runs) it comes out a little
/// off, because neither number has a finite binary expansion. So it is lowered, before rounding up,
/// by the error that half a unit in the last place of `c` and `f` can cause.
pub fn runs_needed(rate: Rate, confidence: Confidence) -> Option<u64> {
    let f = rate.get();
    if f <= 0.0 {
        return None;
    }
    if 1.0 <= f {
        return Some(1);
    }
    let (missed, passed) = (confidence.error().ln(), (-f).ln_1p());
    let runs = missed / passed;
    // An error e in x changes ln(1-x) by e/(1-x); here relative to the logarithm itself.
    let slack =
        f64::EPSILON * (2.0 + 1.0 / (confidence.error() * -missed) + f / ((1.0 - f) * -passed));
    whole((runs * (1.0 - slack)).ceil().max(1.0))
}

/// The number as an integer, if floating point can still count that far.
fn whole(number: f64) -> Option<u64> {
    const COUNTABLE_MAX: f64 = 9_007_199_254_740_992.0;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "between 0 and 2^53, and whole"
    )]
    (0.0..=COUNTABLE_MAX).contains(&number).then_some(number as u64)
}

/// The smallest rate of which `n_runs` runs show a failure with this confidence: `1 - (1-c)^(1/n)`.
/// Without runs there is none, and the answer is 1.
pub fn rate_detectable(n_runs: u64, confidence: Confidence) -> f64 {
    if n_runs == 0 {
        return 1.0;
    }
    -(confidence.error().ln() / n_runs as f64).exp_m1()
}

/// The probability that at least one of the runs fails: `1 - (1-f)^n`.
pub fn sees_failure(rate: Rate, n_runs: u64) -> f64 {
    at_least_once(rate.get(), n_runs)
}

/// The probability that at least one of the runs passes: `1 - f^n`.
pub fn sees_pass(rate: Rate, n_runs: u64) -> f64 {
    1.0 - rate.get().powf(n_runs as f64)
}

/// The probability that the runs show both a pass and a failure: `1 - f^n - (1-f)^n`.
pub fn sees_both(rate: Rate, n_runs: u64) -> f64 {
    if n_runs < 2 {
        return 0.0;
    }
    (sees_failure(rate, n_runs) - rate.get().powf(n_runs as f64)).max(0.0)
}

/// `1 - (1-x)^n`, with all its digits also where `x` is tiny.
pub(crate) fn at_least_once(x: f64, n: u64) -> f64 {
    if n == 0 { 0.0 } else { -(n as f64 * (-x).ln_1p()).exp_m1() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn rate(value: f64) -> Rate {
        Rate::new(value).unwrap()
    }

    fn confidence(value: f64) -> Confidence {
        Confidence::new(value).unwrap()
    }

    #[test]
    fn runs_needed_at_95_percent_are_those_of_example_e17() {
        let table = [(0.5, 5), (0.1, 29), (0.027, 110), (0.005, 598), (0.000_25, 11_982)];
        for (f, runs) in table {
            assert_eq!(runs_needed(rate(f), Confidence::USUAL), Some(runs), "{f}");
        }
    }

    #[test]
    fn both_outcomes_within_100_runs_as_in_example_e17() {
        assert!((sees_both(rate(0.01), 100) - 0.634).abs() < 5e-4);
        assert!((sees_both(rate(0.06), 100) - 0.998).abs() < 5e-4);
    }

    #[test]
    fn five_hundred_runs_show_a_failure_of_one_percent_as_in_detection_example_10() {
        assert!((sees_failure(rate(0.01), 500) - 0.993).abs() < 5e-4);
    }

    #[test]
    fn whole_quotients_are_not_rounded_up() {
        // (1-f)^n = 1-c holds exactly in decimals for each of these.
        let table = [
            (0.5, 0.75, 2),
            (0.9, 0.99, 2),
            (0.9, 0.999, 3),
            (0.9, 0.999_999, 6),
            (0.1, 0.19, 2),
            (0.2, 0.36, 2),
            (0.01, 0.0199, 2),
            (0.001, 0.001, 1),
            (0.95, 0.95, 1),
        ];
        for (f, c, runs) in table {
            assert_eq!(runs_needed(rate(f), confidence(c)), Some(runs), "{f} {c}");
        }
        // The next larger confidence does need one more run.
        assert_eq!(runs_needed(rate(0.9), confidence(0.990_000_1)), Some(3));
    }

    #[test]
    fn what_never_fails_is_never_shown_and_what_always_fails_at_once() {
        assert_eq!(runs_needed(rate(0.0), Confidence::USUAL), None);
        assert_eq!(runs_needed(rate(1.0), Confidence::USUAL), Some(1));
        assert_eq!(runs_needed(rate(1e-300), Confidence::USUAL), None);
        assert!(sees_failure(rate(0.3), 0).abs() < f64::EPSILON);
        assert!(sees_both(rate(1e-12), 1).abs() < f64::MIN_POSITIVE);
        assert!((rate_detectable(0, Confidence::USUAL) - 1.0).abs() < f64::EPSILON);
    }

    #[test]
    fn a_failed_test_passes_within_five_reruns_with_this_probability() {
        // Guideline G1: for a test that fails half the time, 1 - 1/32.
        assert!((sees_pass(rate(0.5), 5) - 0.968_75).abs() < 1e-15);
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None,
            ..ProptestConfig::default() })]

        #[test]
        fn the_runs_needed_suffice_and_one_less_does_not(
            f in 1e-6_f64..0.999, c in 0.01_f64..0.9999,
        ) {
            let n = runs_needed(rate(f), confidence(c)).unwrap();
            prop_assert!(c * (1.0 - 1e-12) <= sees_failure(rate(f), n));
            prop_assert!(sees_failure(rate(f), n - 1) < c);
        }

        #[test]
        fn the_rate_detectable_is_the_inverse(n in 1_u64..100_000, c in 0.01_f64..0.9999) {
            let f = rate_detectable(n, confidence(c));
            prop_assert_eq!(runs_needed(rate(f * (1.0 + 1e-9)), confidence(c)), Some(n));
        }
    }
}
