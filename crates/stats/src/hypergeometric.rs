//! Draws without replacement, which all exact tests here condition on.
//!
//! `marked` of `total` runs failed; of any `drawn` runs fixed beforehand, how many failed?

use statrs::function::factorial::ln_binomial;

/// The possible numbers of marked ones among the drawn.
pub(crate) fn support(total: u64, marked: u64, drawn: u64) -> std::ops::RangeInclusive<u64> {
    (marked + drawn).saturating_sub(total)..=marked.min(drawn)
}

/// The probability that exactly `hits` of the drawn are marked.
pub(crate) fn probability(total: u64, marked: u64, drawn: u64, hits: u64) -> f64 {
    if !support(total, marked, drawn).contains(&hits) {
        return 0.0;
    }
    (ln_binomial(marked, hits) + ln_binomial(total - marked, drawn - hits)
        - ln_binomial(total, drawn))
    .exp()
}

/// The probability that `hits` or more of the drawn are marked.
pub(crate) fn tail(total: u64, marked: u64, drawn: u64, hits: u64) -> f64 {
    let support = support(total, marked, drawn);
    let sum: f64 = (hits.max(*support.start())..=*support.end())
        .map(|x| probability(total, marked, drawn, x))
        .sum();
    sum.min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drawing_two_of_five_with_two_marked() {
        // 10 ways: both marked 1, one marked 6, none 3.
        for (hits, expected) in [(0, 0.3), (1, 0.6), (2, 0.1), (3, 0.0)] {
            assert!((probability(5, 2, 2, hits) - expected).abs() < 1e-14);
        }
        assert!((tail(5, 2, 2, 1) - 0.7).abs() < 1e-14);
        assert!((tail(5, 2, 2, 0) - 1.0).abs() < 1e-14);
        assert_eq!(support(5, 4, 3), 2..=3);
    }
}
