//! How many runs until a test was seen both to pass and to fail, and what do they cost?
//!
//! The model (characteristic-functions spec, "model of rerunning"): runs are independent; each
//! passes with probability `p`, fails with `q`, and is skipped otherwise. A test is *unveiled* once
//! it has both passed and failed, and is not run again after that.
//!
//! ```text
//! U(n)    = 1 - (1-q)^n - (1-p)^n + (1-p-q)^n                       unveiled within n runs
//! E[R(n)] = sum_{x=2..n} x (U(x) - U(x-1)) + n (1 - U(n))           runs made, at most n
//! ```
//!
//! The sum need not be taken. The expectation of a count is the sum of the chances that it goes
//! on, `E[R(n)] = sum_{x=0..n-1} (1 - U(x))`, and each of the three powers in `U` sums as a
//! geometric series: `E[R(n)] = G(q) + G(p) - G(p+q)` with `G(a) = (1 - (1-a)^n) / a`.
//!
//! Limit: independence, as in [`crate::plan`].

use std::time::Duration;

use unflake_model::Confidence;

use crate::plan::at_least_once;
use crate::rate::Rate;

/// The probabilities that one run passes and that it fails.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Chances {
    pass: f64,
    fail: f64,
}

/// The probabilities do not fit together.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum InvalidChances {
    /// Their sum exceeds 1.
    #[error(
        "a run cannot pass with rate `{pass}` and fail with rate `{fail}`: that is more than 1"
    )]
    MoreThanCertain {
        /// The rate of passing.
        pass: f64,
        /// The rate of failing.
        fail: f64,
    },
    /// There are no runs to take shares of.
    #[error("no runs were counted")]
    NoRuns,
}

impl Chances {
    /// Checks that passing and failing together are at most certain; the rest is skipped.
    pub fn new(pass: Rate, fail: Rate) -> Result<Self, InvalidChances> {
        let (pass, fail) = (pass.get(), fail.get());
        // Two decimals that add up to 1 may miss it by their rounding.
        if 1.0 + f64::EPSILON < pass + fail {
            return Err(InvalidChances::MoreThanCertain { pass, fail });
        }
        Ok(Self { pass, fail })
    }

    /// The shares observed in this many runs.
    pub fn of_counts(passed: u64, failed: u64, skipped: u64) -> Result<Self, InvalidChances> {
        let runs = passed + failed + skipped;
        if runs == 0 {
            return Err(InvalidChances::NoRuns);
        }
        Ok(Self { pass: passed as f64 / runs as f64, fail: failed as f64 / runs as f64 })
    }

    /// `U(n)`: the probability that `n_runs` runs show both a pass and a failure.
    pub fn unveiled(self, n_runs: u64) -> f64 {
        if n_runs < 2 || self.pass <= 0.0 || self.fail <= 0.0 {
            return 0.0;
        }
        // (1-p)^n - (1-p-q)^n, the chance of failures but no pass, as a product: the difference of
        // the powers would lose its digits where q is small.
        let no_pass = 1.0 - at_least_once(self.pass, n_runs);
        let fails_without_pass = if self.pass < 1.0 {
            no_pass * at_least_once((self.fail / (1.0 - self.pass)).min(1.0), n_runs)
        } else {
            0.0
        };
        (at_least_once(self.fail, n_runs) - fails_without_pass).clamp(0.0, 1.0)
    }

    /// `E[R(n)]`: how many of at most `n_max` runs are made on average until both were seen.
    pub fn expected_runs(self, n_max: u64) -> f64 {
        let series = |a: f64| {
            if a <= 0.0 { n_max as f64 } else { at_least_once(a.min(1.0), n_max) / a.min(1.0) }
        };
        series(self.fail) + series(self.pass) - series(self.pass + self.fail)
    }

    /// `E[R(n)]` times the run time of the test; saturates at the longest time there is.
    pub fn expected_time(self, n_max: u64, runtime: Duration) -> Duration {
        let seconds = self.expected_runs(n_max) * runtime.as_secs_f64();
        Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX)
    }

    /// The fewest runs that show both a pass and a failure with this confidence. `None` if no
    /// number of runs does, or none that could be made.
    pub fn runs_needed(self, confidence: Confidence) -> Option<u64> {
        const RUNS_MAX: u64 = 1 << 53;
        // What is meant to be reached exactly may be missed by rounding.
        let goal = confidence.get() * (1.0 - 4.0 * f64::EPSILON);
        let suffices = |n: u64| goal <= self.unveiled(n);
        if !suffices(RUNS_MAX) {
            return None;
        }
        let (mut too_few, mut enough) = (1, RUNS_MAX);
        while too_few + 1 < enough {
            let middle = u64::midpoint(too_few, enough);
            if suffices(middle) {
                enough = middle;
            } else {
                too_few = middle;
            }
        }
        Some(enough)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan;
    use crate::special::tests::near;
    use proptest::prelude::*;

    fn chances(pass: f64, fail: f64) -> Chances {
        Chances::new(Rate::new(pass).unwrap(), Rate::new(fail).unwrap()).unwrap()
    }

    /// Probability of being unveiled within n, and expected runs, over all 3^n sequences.
    fn enumerated(chances: Chances, n: u32) -> (f64, f64) {
        fn go(c: Chances, seen: (bool, bool), made: u32, left: u32, p: f64) -> (f64, f64) {
            if seen == (true, true) {
                return (p, p * f64::from(made));
            }
            if left == 0 {
                return (0.0, p * f64::from(made));
            }
            let next = |seen, chance| go(c, seen, made + 1, left - 1, p * chance);
            let passed = next((true, seen.1), c.pass);
            let failed = next((seen.0, true), c.fail);
            let skipped = next(seen, 1.0 - c.pass - c.fail);
            (passed.0 + failed.0 + skipped.0, passed.1 + failed.1 + skipped.1)
        }
        go(chances, (false, false), 0, n, 1.0)
    }

    #[test]
    fn a_fair_coin_shows_both_sides_as_expected() {
        // U(2) = 1/2, U(3) = 3/4; E[R(2)] = 2, E[R(3)] = 2.5.
        let coin = chances(0.5, 0.5);
        assert!(near(coin.unveiled(2), 0.5, 1e-15));
        assert!(near(coin.unveiled(3), 0.75, 1e-15));
        assert!(near(coin.expected_runs(2), 2.0, 1e-15));
        assert!(near(coin.expected_runs(3), 2.5, 1e-15));
        assert_eq!(coin.runs_needed(Confidence::new(0.75).unwrap()), Some(3));
        assert_eq!(coin.expected_time(3, Duration::from_secs(2)), Duration::from_secs(5));
    }

    #[test]
    fn without_skips_it_is_the_chance_to_see_both_of_the_plan() {
        for f in [0.01, 0.06, 0.5, 0.99] {
            let both = plan::sees_both(Rate::new(f).unwrap(), 100);
            assert!(near(chances(1.0 - f, f).unveiled(100), both, 1e-12), "{f}");
        }
    }

    #[test]
    fn about_170_runs_unveil_a_test_that_fails_as_often_as_the_median_one() {
        // Spec: 170 runs give 95 % on the median NOD test; 1 - 0.05^(1/170) is 1.747 %.
        let runs = chances(1.0 - 0.0175, 0.0175).runs_needed(Confidence::USUAL);
        assert_eq!(runs, Some(170));
    }

    #[test]
    fn what_never_does_one_of_both_is_never_unveiled_and_costs_all_runs() {
        for never in [chances(1.0, 0.0), chances(0.0, 0.3), chances(0.0, 0.0)] {
            assert!(never.unveiled(1000).abs() < f64::MIN_POSITIVE);
            assert!(near(never.expected_runs(1000), 1000.0, 1e-12));
            assert_eq!(never.runs_needed(Confidence::USUAL), None);
        }
        assert!(chances(0.5, 0.5).expected_runs(0).abs() < f64::MIN_POSITIVE);
        assert!(near(chances(0.5, 0.5).expected_runs(1), 1.0, 1e-15));
    }

    #[test]
    fn tiny_rates_keep_their_digits() {
        // To first order U(2) = 2 p q; here p = 1 - q - s with s = 0.
        assert!(near(chances(1.0 - 1e-12, 1e-12).unveiled(2), 2e-12, 1e-9));
        assert!(near(chances(1e-5, 1e-5).unveiled(2), 2e-10, 1e-9));
    }

    #[test]
    fn chances_must_be_possible() {
        let rate = |value| Rate::new(value).unwrap();
        assert_eq!(
            Chances::new(rate(0.6), rate(0.5)).unwrap_err().to_string(),
            "a run cannot pass with rate `0.6` and fail with rate `0.5`: that is more than 1"
        );
        assert_eq!(Chances::of_counts(0, 0, 0), Err(InvalidChances::NoRuns));
        assert_eq!(Chances::of_counts(1, 1, 2), Ok(chances(0.25, 0.25)));
        assert!(Chances::new(rate(0.9), rate(0.1)).is_ok());
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None,
            ..ProptestConfig::default() })]

        #[test]
        fn closed_forms_agree_with_enumeration(
            p in 0.0_f64..1.0, part in 0.0_f64..1.0, n in 0_u32..9,
        ) {
            let subject = chances(p, part * (1.0 - p));
            let (unveiled, runs) = enumerated(subject, n);
            prop_assert!((subject.unveiled(u64::from(n)) - unveiled).abs() < 1e-12);
            prop_assert!((subject.expected_runs(u64::from(n)) - runs).abs() < 1e-11);
        }

        #[test]
        fn expected_runs_agree_with_the_sum_of_the_spec(
            p in 0.01_f64..0.99, part in 0.01_f64..1.0, n in 2_u32..300,
        ) {
            let subject = chances(p, part * (1.0 - p));
            let u = |x: u32| subject.unveiled(u64::from(x));
            let sum: f64 = (2..=n).map(|x| f64::from(x) * (u(x) - u(x - 1))).sum();
            let expected = sum + f64::from(n) * (1.0 - u(n));
            prop_assert!((subject.expected_runs(u64::from(n)) - expected).abs() < 1e-9);
        }

        #[test]
        fn the_runs_needed_suffice_and_one_less_does_not(
            p in 0.001_f64..0.999, part in 0.001_f64..1.0, c in 0.01_f64..0.999,
        ) {
            let subject = chances(p, part * (1.0 - p));
            let n = subject.runs_needed(Confidence::new(c).unwrap()).unwrap();
            prop_assert!(c * (1.0 - 1e-12) <= subject.unveiled(n));
            prop_assert!(subject.unveiled(n - 1) < c);
        }
    }
}
