//! By how much can two failure rates differ?
//!
//! The interval is Newcombe's (1998, "method 10"): Wilson's score limits of each rate, combined as
//! the legs of a right triangle. It stays within `[-1, 1]`, works where nothing failed, and covers
//! close to what it promises for the counts that reruns produce. It is not exact: its mean coverage
//! is the nominal one, and single pairs of rates may fall a little short.
//!
//! [`influence`] uses it for many orders: each is compared with all the others together, at a
//! confidence that holds for all comparisons at once (Bonferroni).

use unflake_model::{Confidence, Tally};

use crate::rate::{Interval, Rate};
use crate::special::normal_quantile_above;

/// The interval for the failure rate of `a` minus that of `b`.
pub fn difference(a: Tally, b: Tally, confidence: Confidence) -> Interval {
    newcombe(a, b, normal_quantile_above(confidence.error() / 2.0))
}

/// How far, at most, the failure rate in any one order is from the rate in all others.
///
/// `None` with fewer than two orders: nothing was compared. Two orders can then differ by at most
/// twice this number.
pub fn influence(tallies: &[Tally], confidence: Confidence) -> Option<f64> {
    let seen: Vec<Tally> = tallies.iter().copied().filter(|t| 0 < t.attempts).collect();
    if seen.len() < 2 {
        return None;
    }
    let z = normal_quantile_above(confidence.error() / (2.0 * seen.len() as f64));
    let all = seen.iter().fold(Tally::default(), |sum, t| Tally {
        failures: sum.failures + t.failures,
        attempts: sum.attempts + t.attempts,
    });
    let farthest = seen.iter().map(|t| {
        let others =
            Tally { failures: all.failures - t.failures, attempts: all.attempts - t.attempts };
        let found = newcombe(*t, others, z);
        found.upper.max(-found.lower)
    });
    Some(farthest.fold(0.0, f64::max))
}

fn newcombe(a: Tally, b: Tally, z: f64) -> Interval {
    let (Some(f_a), Some(f_b)) = (Rate::of(a), Rate::of(b)) else {
        return Interval { lower: -1.0, upper: 1.0 };
    };
    let (f_a, f_b) = (f_a.get(), f_b.get());
    let (of_a, of_b) = (wilson(a, z), wilson(b, z));
    Interval {
        lower: f_a - f_b - (f_a - of_a.lower).hypot(of_b.upper - f_b),
        upper: f_a - f_b + (of_a.upper - f_a).hypot(f_b - of_b.lower),
    }
}

/// Wilson's (1927) score interval: the rates `p` with `|f - p| <= z sqrt(p(1-p)/n)`.
fn wilson(tally: Tally, z: f64) -> Interval {
    let n = tally.attempts as f64;
    let f = tally.failures as f64 / n;
    let shrink = 1.0 + z * z / n;
    let centre = (f + z * z / (2.0 * n)) / shrink;
    let reach = z * (f * (1.0 - f) / n + z * z / (4.0 * n * n)).sqrt() / shrink;
    Interval { lower: (centre - reach).max(0.0), upper: (centre + reach).min(1.0) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::chi_square::tests::{e16, tally};

    #[test]
    fn the_examples_of_newcombes_paper() {
        // Newcombe 1998, Statistics in Medicine 17:873, table II, method 10.
        let table = [
            (tally(56, 70), tally(48, 80), 0.0524, 0.3339),
            (tally(9, 10), tally(3, 10), 0.1705, 0.8090),
            (tally(6, 7), tally(2, 7), 0.0582, 0.8062),
            (tally(5, 56), tally(0, 29), -0.0381, 0.1926),
            (tally(0, 10), tally(0, 20), -0.1611, 0.2775),
            (tally(0, 10), tally(0, 10), -0.2775, 0.2775),
            (tally(10, 10), tally(0, 20), 0.6791, 1.0),
            (tally(10, 10), tally(0, 10), 0.6075, 1.0),
        ];
        for (a, b, lower, upper) in table {
            let found = difference(a, b, Confidence::USUAL);
            assert!((found.lower - lower).abs() < 5e-5, "{a:?} {b:?} {found:?}");
            assert!((found.upper - upper).abs() < 5e-5, "{a:?} {b:?} {found:?}");
        }
    }

    #[test]
    fn suite_and_isolation_differ_in_examples_e12_and_e13() {
        // Of 4000 runs each: 57.1 % alone and 0.6 % in the suite; 58.6 and 0.3; 68.2 and 0.8.
        for (alone, in_suite) in [(2284, 24), (2344, 12), (2728, 32)] {
            let found = difference(tally(alone, 4000), tally(in_suite, 4000), Confidence::USUAL);
            assert!(0.5 < found.lower, "{found:?}");
        }
    }

    #[test]
    fn swapping_the_conditions_changes_the_sign() {
        let (a, b) = (tally(3, 40), tally(11, 50));
        let there = difference(a, b, Confidence::USUAL);
        let back = difference(b, a, Confidence::USUAL);
        assert!((there.lower + back.upper).abs() < 1e-15);
        assert!((there.upper + back.lower).abs() < 1e-15);
    }

    #[test]
    fn influence_falls_with_the_runs_made_and_needs_two_orders() {
        let few = influence(&[tally(1, 100), tally(1, 100)], Confidence::USUAL).unwrap();
        let many = influence(&[tally(100, 10_000), tally(100, 10_000)], Confidence::USUAL);
        assert!(many.unwrap() < 0.01 && 0.03 < few);
        assert_eq!(influence(&[tally(1, 100), tally(0, 0)], Confidence::USUAL), None);
        // 100 runs bound an order that never failed no better than to some percent.
        assert!((0.05..0.15).contains(&influence(&e16(2, 0), Confidence::USUAL).unwrap()));
    }
}
