//! Two conditions tried in pairs: which of the two fails more often?
//!
//! Pairs that agree say nothing. Of those that disagree, without a difference between the
//! conditions, either half is as likely; the number of one kind is binomial with probability 1/2.

use crate::special::beta_cdf;

/// The probability, two-sided, of disagreements at least as uneven if the conditions are alike.
pub fn sign_test(n_only_first: u64, n_only_second: u64) -> f64 {
    let (few, many) = (n_only_first.min(n_only_second), n_only_first.max(n_only_second));
    if few == many {
        return 1.0;
    }
    // P(X <= few) for X binomial with n = few + many and p = 1/2.
    let tail = beta_cdf(many as f64, few as f64 + 1.0, 0.5);
    (2.0 * tail).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_counting_all_ways_to_disagree() {
        for n in 0_u32..=12 {
            for first in 0..=n {
                let uneven = |k: u32| k.abs_diff(n - k) >= first.abs_diff(n - first);
                let n_uneven = (0_u32..1 << n).filter(|ways| uneven(ways.count_ones())).count();
                let expected = n_uneven as f64 / f64::from(1_u32 << n);
                let p_value = sign_test(u64::from(first), u64::from(n - first));
                assert!((p_value - expected).abs() < 1e-12, "{first} of {n}");
            }
        }
    }

    #[test]
    fn no_disagreement_proves_nothing() {
        assert!((sign_test(0, 0) - 1.0).abs() < f64::EPSILON);
    }
}
