//! Fisher's exact test: do two conditions have different failure rates?
//!
//! Given how many attempts failed in both conditions together, the number among the first is
//! hypergeometric if the conditions do not differ. Two-sided, the p-value sums all numbers that are
//! no more probable than the one observed, as R's `fisher.test` does, with its tolerance of 1e-7
//! for what counts as equally probable.

use unflake_model::Tally;

use crate::hypergeometric::{probability, support, tail};

/// The p-value of "the same failure rate in both" against "different" (two-sided).
pub fn fisher(a: Tally, b: Tally) -> f64 {
    let (total, marked) = (a.attempts + b.attempts, a.failures + b.failures);
    let seen = probability(total, marked, a.attempts, a.failures);
    let sum: f64 = support(total, marked, a.attempts)
        .map(|x| probability(total, marked, a.attempts, x))
        .filter(|p| *p <= seen * (1.0 + 1e-7))
        .sum();
    sum.min(1.0)
}

/// The p-value of "`a` fails no more often than `b`", against "more often" (one-sided).
pub fn fisher_more_failures(a: Tally, b: Tally) -> f64 {
    let (total, marked) = (a.attempts + b.attempts, a.failures + b.failures);
    tail(total, marked, a.attempts, a.failures)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::chi_square::tests::tally;
    use crate::special::tests::near;

    #[test]
    fn the_lady_tasting_tea() {
        // Fisher 1935: 3 of 4 cups right; 17/70 one-sided, 34/70 two-sided.
        let (a, b) = (tally(3, 4), tally(1, 4));
        assert!(near(fisher_more_failures(a, b), 17.0 / 70.0, 1e-12));
        assert!(near(fisher(a, b), 34.0 / 70.0, 1e-12));
    }

    #[test]
    fn p_values_agree_with_scipy() {
        // scipy 1.17.1, fisher_exact, two-sided and alternative="greater". The third is example
        // E11: 10.9 % in the suite, 39.1 % alone.
        for (x, n, y, m, two_sided, more) in FISHER {
            let (a, b) = (tally(x, n), tally(y, m));
            assert!(near(fisher(a, b), two_sided, 1e-9), "{x} {n} {y} {m}");
            assert!(near(fisher_more_failures(a, b), more, 1e-9), "{x} {n} {y} {m}");
        }
    }

    const FISHER: [(u64, u64, u64, u64, f64, f64); 5] = [
        (0, 10, 10, 10, 1.082_508_822_446_903e-05, 1.0),
        (3, 40, 11, 50, 0.080_418_828_997_905_38, 0.987_849_473_045_411_7),
        (436, 4000, 1564, 4000, 7.425_775_480_892_262e-195, 1.0),
        (1, 100, 0, 2000, 0.047_619_047_619_047_616, 0.047_619_047_619_047_616),
        (7, 9, 2, 30, 7.517_632_105_667_659e-05, 7.517_632_105_667_658e-05),
    ];

    #[test]
    fn nothing_seen_is_no_difference() {
        assert!(near(fisher(tally(0, 0), tally(3, 9)), 1.0, 1e-12));
        assert!(near(fisher(tally(0, 5), tally(0, 9)), 1.0, 1e-12));
    }
}
