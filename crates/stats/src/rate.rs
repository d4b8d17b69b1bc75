//! How often does a test fail, and between what limits?
//!
//! A share of failures without its interval misleads: 0 of 100 runs is no proof of 0 %, only of
//! "below 3 %". The interval is the exact one of Clopper and Pearson (1934): it holds all rates
//! under which counts at least as extreme as the observed ones would not be surprising. It covers
//! the true rate with at least the confidence asked for, for every rate and every number of
//! attempts, and pays for that by being somewhat wide.
//!
//! Limit: attempts must be independent. Bursts (see [`crate::burst`]) break that, and the interval
//! is then too narrow.

use unflake_model::{Confidence, Tally};

use crate::special::beta_cdf;

/// A share between 0 and 1, both included.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Rate(f64);

/// The value is not a share.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error("rate `{value}` is not between 0 and 1")]
pub struct InvalidRate {
    /// The rejected value.
    pub value: f64,
}

impl Rate {
    /// Checks that the value lies between 0 and 1.
    pub fn new(value: f64) -> Result<Self, InvalidRate> {
        if (0.0..=1.0).contains(&value) { Ok(Self(value)) } else { Err(InvalidRate { value }) }
    }

    /// The observed share of failures; `None` without attempts.
    pub fn of(tally: Tally) -> Option<Self> {
        (0 < tally.attempts).then(|| Self(tally.failures as f64 / tally.attempts as f64))
    }

    /// The share, between 0 and 1.
    pub fn get(self) -> f64 {
        self.0
    }
}

/// All values between two limits, both included.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// The smallest value.
    pub lower: f64,
    /// The largest value.
    pub upper: f64,
}

impl Interval {
    /// Whether the value lies within the limits.
    pub fn contains(self, value: f64) -> bool {
        self.lower <= value && value <= self.upper
    }
}

/// The exact interval for the failure rate, both limits together at this confidence.
///
/// Without attempts it is the whole range `[0, 1]`.
pub fn interval(tally: Tally, confidence: Confidence) -> Interval {
    let tail = confidence.error() / 2.0;
    Interval { lower: lower_limit(tally, tail), upper: upper_limit(tally, tail) }
}

/// The rate that the true one does not exceed, at this confidence (one-sided).
///
/// For no failure in `n` attempts it is `1 - (1 - c)^(1/n)`.
pub fn upper_bound(tally: Tally, confidence: Confidence) -> f64 {
    upper_limit(tally, confidence.error())
}

/// The rate that the true one does not fall below, at this confidence (one-sided).
pub fn lower_bound(tally: Tally, confidence: Confidence) -> f64 {
    lower_limit(tally, confidence.error())
}

/// The rate at which this few failures, or fewer, have exactly this probability.
///
/// P(X <= x) with X binomial(n, f) falls in f; it equals `1 - I_f(x + 1, n - x)`.
fn upper_limit(tally: Tally, tail: f64) -> f64 {
    let passes = tally.passes() as f64;
    if passes < 1.0 {
        1.0
    } else if tally.failures == 0 {
        -(tail.ln() / passes).exp_m1()
    } else {
        let failures = tally.failures as f64;
        root(|f| beta_cdf(failures + 1.0, passes, f) < 1.0 - tail)
    }
}

/// The mirror image of [`upper_limit`]: passes and failures change places.
fn lower_limit(tally: Tally, tail: f64) -> f64 {
    let failures = tally.failures as f64;
    if failures < 1.0 {
        0.0
    } else if tally.passes() == 0 {
        (tail.ln() / failures).exp()
    } else {
        let passes = tally.passes() as f64;
        root(|f| beta_cdf(failures, passes + 1.0, f) < tail)
    }
}

/// The number in `[0, 1]` at which a condition that holds at 0 stops holding, by bisection down to
/// neighbouring floating-point numbers: slower than Newton's method, but it cannot go astray.
fn root(is_below: impl Fn(f64) -> bool) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    loop {
        let middle = f64::midpoint(low, high);
        if middle <= low || high <= middle {
            return high;
        }
        if is_below(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::special::tests::near;
    use proptest::prelude::*;

    fn tally(failures: u64, attempts: u64) -> Tally {
        Tally { failures, attempts }
    }

    #[test]
    fn no_failure_in_n_runs_bounds_the_rate_as_in_example_e17() {
        for (n, percent) in [(100, 2.95), (500, 0.597), (4000, 0.0749)] {
            let bound = 100.0 * upper_bound(tally(0, n), Confidence::USUAL);
            assert!(near(bound, percent, 2e-3), "{n}: {bound}");
        }
    }

    #[test]
    fn the_fastjson_time_zones_fail_at_their_published_rate() {
        // Detection spec, example 10: 67 of 613 indices.
        assert!((Rate::of(tally(67, 613)).unwrap().get() - 0.109).abs() < 5e-4);
    }

    #[test]
    fn intervals_agree_with_scipy() {
        // scipy 1.17.1, binomtest(x, n).proportion_ci(0.95, "exact").
        for (failures, attempts, lower, upper) in EXACT {
            let found = interval(tally(failures, attempts), Confidence::USUAL);
            assert!(
                (found.lower - lower).abs() < 1e-10 && (found.upper - upper).abs() < 1e-10,
                "{failures} of {attempts}: {found:?}"
            );
        }
    }

    const EXACT: [(u64, u64, f64, f64); 7] = [
        (3, 40, 0.015_742_179_851_041_527, 0.203_864_748_732_898_98),
        (1, 100, 0.000_253_146_032_681_892_83, 0.054_459_385_392_080_666),
        (436, 4000, 0.099_505_564_613_461_97, 0.119_069_713_541_745_59),
        (39, 100, 0.294_010_414_853_417_1, 0.492_685_520_367_700_2),
        (99, 100, 0.945_540_614_607_919_4, 0.999_746_853_967_318_1),
        (5, 5, 0.478_176_249_895_018_56, 1.0),
        (100_000, 1_000_000, 0.099_412_669_866_020_21, 0.100_589_648_187_348_71),
    ];

    #[test]
    fn without_attempts_nothing_is_known() {
        let found = interval(tally(0, 0), Confidence::USUAL);
        assert_eq!(found, Interval { lower: 0.0, upper: 1.0 });
        assert_eq!(Rate::of(tally(0, 0)), None);
        assert_eq!(Rate::of(tally(1, 4)), Some(Rate(0.25)));
        assert_eq!(Rate::new(1.5).unwrap_err().to_string(), "rate `1.5` is not between 0 and 1");
    }

    #[test]
    fn the_interval_covers_every_rate_at_least_as_often_as_promised() {
        let n = 20;
        let intervals: Vec<Interval> =
            (0..=n).map(|x| interval(tally(x, n), Confidence::USUAL)).collect();
        for percent in 1..100 {
            let f = f64::from(percent) / 100.0;
            let covered: f64 = (0..=n)
                .filter(|x| intervals[usize::try_from(*x).unwrap()].contains(f))
                .map(|x| binomial(n, x, f))
                .sum();
            assert!(0.95 <= covered, "{f}: {covered}");
        }
    }

    fn binomial(n: u64, x: u64, f: f64) -> f64 {
        let ways = statrs::function::factorial::binomial(n, x);
        ways * f.powf(x as f64) * (1.0 - f).powf((n - x) as f64)
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None,
            ..ProptestConfig::default() })]

        #[test]
        fn limits_enclose_the_observed_rate_and_mirror_each_other(
            failures in 0_u64..200, passes in 0_u64..200, c in 0.5_f64..0.999,
        ) {
            prop_assume!(0 < failures + passes);
            let c = Confidence::new(c).unwrap();
            let found = interval(tally(failures, failures + passes), c);
            let mirrored = interval(tally(passes, failures + passes), c);
            let observed = Rate::of(tally(failures, failures + passes)).unwrap();
            prop_assert!(found.contains(observed.get()));
            prop_assert!((found.lower + mirrored.upper - 1.0).abs() < 1e-12);
            prop_assert!(upper_bound(tally(failures, failures + passes), c) <= found.upper);
            prop_assert!(found.lower <= lower_bound(tally(failures, failures + passes), c));
        }
    }
}
