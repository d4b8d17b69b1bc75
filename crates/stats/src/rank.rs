//! Do two conditions differ over many tests?
//!
//! Two classical tests that assume no distribution, as the rerun study used them to compare the
//! failure rates of tests in the suite and in isolation (root-cause spec 2.3, step 6).
//! [`signed_rank`] looks at each test's own difference: is it as often up as down, and by as much?
//! [`kolmogorov_smirnov`] forgets which value belongs to which test and compares the two
//! distributions. Both follow R (`wilcox.test(paired = TRUE)`, `ks.test`), so that published
//! numbers can be reproduced: exact where the sample is small, by the limit distribution where it
//! is not.
//!
//! All values must be finite.

use crate::special::normal_tail;

/// How a p-value was computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// From the exact distribution.
    Exact,
    /// From the limit distribution for large samples.
    Limit,
}

/// The outcome of a test.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RankTest {
    /// For signed ranks, the rank sum of the positive differences; for Kolmogorov and Smirnov, the
    /// greatest distance between the two distribution functions.
    pub statistic: f64,
    /// The probability of a statistic at least as far from what is expected, on either side.
    pub p_value: f64,
    /// How the p-value was computed.
    pub method: Method,
}

/// Wilcoxon's signed-rank test on paired values. `None` if no pair differs.
///
/// Pairs without difference are dropped, equal differences share their mean rank. Exact below 50
/// pairs if neither occurs; otherwise the normal limit, corrected for ties and for continuity.
pub fn signed_rank(pairs: &[(f64, f64)]) -> Option<RankTest> {
    let mut differences: Vec<f64> = pairs.iter().map(|(a, b)| a - b).collect();
    differences.retain(|difference| difference.abs() > 0.0);
    if differences.is_empty() {
        return None;
    }
    differences.sort_unstable_by(|a, b| a.abs().total_cmp(&b.abs()));
    let ranked = ranked(&differences);
    let no_ties = ranked.len() == differences.len();
    let is_exact = no_ties && differences.len() == pairs.len() && pairs.len() < 50;
    let twice_sum: u64 = ranked.iter().map(|tied| tied.n_positive * tied.twice_rank).sum();
    let n = differences.len() as u64;
    Some(RankTest {
        statistic: twice_sum as f64 / 2.0,
        p_value: if is_exact {
            signed_rank_exact(twice_sum / 2, n)
        } else {
            signed_rank_limit(twice_sum as f64 / 2.0, n, &ranked)
        },
        method: if is_exact { Method::Exact } else { Method::Limit },
    })
}

/// Differences of equal size.
struct Tied {
    n: u64,
    n_positive: u64,
    /// Their mean rank, doubled to stay whole.
    twice_rank: u64,
}

fn ranked(sorted_by_size: &[f64]) -> Vec<Tied> {
    let mut n_before = 0;
    sorted_by_size
        .chunk_by(|a, b| a.abs().total_cmp(&b.abs()).is_eq())
        .map(|tied| {
            let n = tied.len() as u64;
            // Ranks n_before + 1 to n_before + n.
            let twice_rank = 2 * n_before + n + 1;
            n_before += n;
            Tied {
                n,
                n_positive: tied.iter().filter(|difference| 0.0 < **difference).count() as u64,
                twice_rank,
            }
        })
        .collect()
}

/// All 2^n signs are equally likely; counts the subsets of 1..n by their sum.
fn signed_rank_exact(sum: u64, n: u64) -> f64 {
    let total = n * (n + 1) / 2;
    let as_index = |value: u64| usize::try_from(value).expect("rank sums of 50 are small");
    let mut n_subsets = vec![0_u64; as_index(total) + 1];
    n_subsets[0] = 1;
    for rank in 1..=as_index(n) {
        for sum in (rank..n_subsets.len()).rev() {
            n_subsets[sum] += n_subsets[sum - rank];
        }
    }
    // The distribution is symmetric, so the nearer end suffices.
    let n_beyond: u64 = n_subsets[..=as_index(sum.min(total - sum))].iter().sum();
    let one_sided = n_beyond as f64 / (1_u64 << n) as f64;
    (2.0 * one_sided).min(1.0)
}

fn signed_rank_limit(sum: f64, n: u64, ranked: &[Tied]) -> f64 {
    let n = n as f64;
    let ties: f64 = ranked.iter().map(|tied| (tied.n as f64).powi(3) - tied.n as f64).sum();
    let variance = n * (n + 1.0) * (2.0 * n + 1.0) / 24.0 - ties / 48.0;
    let distance = (sum - n * (n + 1.0) / 4.0).abs();
    // Half a step towards the middle; at the middle itself there is none to take.
    let z = (distance - 0.5).max(0.0) / variance.sqrt();
    (2.0 * normal_tail(z)).min(1.0)
}

/// The two-sample test of Kolmogorov and Smirnov. `None` if a sample is empty.
///
/// Exact while the product of the sizes is below 10,000, also with ties; otherwise the limit.
pub fn kolmogorov_smirnov(a: &[f64], b: &[f64]) -> Option<RankTest> {
    if a.is_empty() || b.is_empty() {
        return None;
    }
    let pooled = Pooled::of(a, b);
    let n_product = a.len() * b.len();
    let statistic = pooled.distance as f64 / n_product as f64;
    let is_exact = n_product < 10_000;
    Some(RankTest {
        statistic,
        p_value: if is_exact {
            pooled.exceeds()
        } else {
            let effective = n_product as f64 / (a.len() + b.len()) as f64;
            kolmogorov_tail(effective.sqrt() * statistic)
        },
        method: if is_exact { Method::Exact } else { Method::Limit },
    })
}

/// Both samples in one sequence.
struct Pooled {
    n_a: usize,
    n_b: usize,
    /// Whether the value at this place differs from the next: only there are the distribution
    /// functions defined.
    is_end_of_tie: Vec<bool>,
    /// The greatest `|i n_b - j n_a|` over all ends of ties, with `i` values of `a` and `j` of `b`
    /// up to there.
    distance: u64,
}

impl Pooled {
    fn of(a: &[f64], b: &[f64]) -> Self {
        let of_a = a.iter().map(|value| (*value, true));
        let mut values: Vec<(f64, bool)> =
            of_a.chain(b.iter().map(|value| (*value, false))).collect();
        values.sort_unstable_by(|x, y| x.0.total_cmp(&y.0));
        let is_last = |place: usize| {
            values.get(place + 1).is_none_or(|next| next.0.total_cmp(&values[place].0).is_ne())
        };
        let is_end_of_tie: Vec<bool> = (0..values.len()).map(is_last).collect();
        let (mut i, mut j, mut distance) = (0, 0, 0);
        for ((_, is_a), is_end) in values.iter().zip(&is_end_of_tie) {
            i += u64::from(*is_a);
            j += u64::from(!is_a);
            if *is_end {
                distance = distance.max((i * b.len() as u64).abs_diff(j * a.len() as u64));
            }
        }
        Self { n_a: a.len(), n_b: b.len(), is_end_of_tie, distance }
    }

    /// The probability that a random arrangement of the pooled values gets as far apart.
    ///
    /// Arrangements are lattice paths from (0, 0) to (`n_a`, `n_b`). From the end backwards, the
    /// chance to get that far from each point on is the mean of the chances at the next points,
    /// weighed by how many values of each sample are left. Nothing is subtracted, so that tiny
    /// p-values keep their digits.
    fn exceeds(&self) -> f64 {
        let mut behind = vec![0.0; self.n_b + 1];
        for i in (0..=self.n_a).rev() {
            for j in (0..=self.n_b).rev() {
                let (left_a, left_b) = ((self.n_a - i) as f64, (self.n_b - j) as f64);
                behind[j] = if self.is_far(i, j) {
                    1.0
                } else if i == self.n_a && j == self.n_b {
                    0.0
                } else {
                    let via_b = if j < self.n_b { left_b * behind[j + 1] } else { 0.0 };
                    (left_a * behind[j] + via_b) / (left_a + left_b)
                };
            }
        }
        behind[0]
    }

    fn is_far(&self, i: usize, j: usize) -> bool {
        0 < i + j
            && self.is_end_of_tie[i + j - 1]
            && self.distance <= (i * self.n_b).abs_diff(j * self.n_a) as u64
    }
}

/// P(K >= x) for Kolmogorov's limit distribution.
fn kolmogorov_tail(x: f64) -> f64 {
    use std::f64::consts::PI;
    // Two series for the same function; each converges in a few terms on its side.
    if x < 1.0 {
        let term = |k: i32| (-f64::from((2 * k - 1).pow(2)) * PI * PI / (8.0 * x * x)).exp();
        1.0 - (2.0 * PI).sqrt() / x * (1..=20).map(term).sum::<f64>()
    } else {
        let term = |k: i32| {
            let sign = if k % 2 == 1 { 2.0 } else { -2.0 };
            sign * (-2.0 * f64::from(k * k) * x * x).exp()
        };
        (1..=20).map(term).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::special::tests::near;
    use proptest::prelude::*;

    fn signed(differences: &[f64]) -> RankTest {
        let pairs: Vec<(f64, f64)> = differences.iter().map(|d| (*d, 0.0)).collect();
        signed_rank(&pairs).unwrap()
    }

    #[test]
    fn three_increases_have_two_of_eight_signs_as_extreme() {
        let found = signed(&[1.0, 2.0, 3.0]);
        assert!(near(found.statistic, 6.0, 0.0));
        assert!(near(found.p_value, 0.25, 1e-15));
        assert_eq!(found.method, Method::Exact);
        // In the middle everything is as extreme.
        assert!(near(signed(&[1.0, 2.0, -3.0]).p_value, 1.0, 1e-15));
    }

    #[test]
    fn differences_of_zero_are_dropped_and_nothing_else_is_nothing() {
        assert_eq!(signed_rank(&[(1.0, 1.0), (0.5, 0.5)]), None);
        let found = signed(&[0.0, 1.0, 2.0, -3.0, 4.0]);
        assert_eq!(found.method, Method::Limit);
        assert!(near(found.statistic, 7.0, 0.0));
    }

    #[test]
    fn signed_ranks_agree_with_scipy() {
        // scipy 1.17.1, wilcoxon: method="exact", and method="approx" with correction=True.
        let found = signed(&[3.1, -0.4, 2.2, 5.5, -1.7, 0.9, 4.3, 2.8, -0.2, 1.1]);
        assert!(
            near(found.statistic, 47.0, 1e-12) && near(found.p_value, 0.048_828_125, 1e-9),
            "{found:?}"
        );
        assert_eq!(found.method, Method::Exact);
        let found = signed(&[19.0, 3.0, -28.0, -7.4, -67.4, 0.6, 2.6, -10.5]);
        assert!(
            near(found.statistic, 12.0, 1e-12) && near(found.p_value, 0.460_937_5, 1e-9),
            "{found:?}"
        );
        assert_eq!(found.method, Method::Exact);
        let found = signed(&[1.0, 1.0, 2.0, -1.0, 3.0, 4.0, -2.0, 5.0, 5.0, 6.0, -7.0, 8.0]);
        assert!(
            near(found.statistic, 60.5, 1e-12)
                && near(found.p_value, 0.098_699_706_554_472_84, 1e-9),
            "{found:?}"
        );
        assert_eq!(found.method, Method::Limit);
        let found = signed(&[0.0, 0.0, 0.5, 1.5, -2.5, 3.5, 4.5, -0.5]);
        assert!(
            near(found.statistic, 15.5, 1e-12) && near(found.p_value, 0.344_118_496_135_312, 1e-9),
            "{found:?}"
        );
        assert_eq!(found.method, Method::Limit);
        let large: Vec<f64> =
            (0..60_i32).map(|i| f64::from((i * 37) % 61 - 25) + 0.5 * f64::from(i % 2)).collect();
        let found = signed(&large);
        assert!(
            near(found.statistic, 1168.0, 1e-12)
                && near(found.p_value, 0.032_971_948_255_725_23, 1e-9),
            "{found:?}"
        );
    }

    #[test]
    fn kolmogorov_smirnov_agrees_with_scipy() {
        // scipy 1.17.1, ks_2samp: method="exact".
        let found = kolmogorov_smirnov(
            &[0.61, 0.29, 0.06, 0.59, -1.73, -0.74, 0.51, -0.56, 0.39, 1.64],
            &[-0.22, -0.57, 1.3, 0.07, 2.44, 2.26],
        )
        .unwrap();
        assert!(
            near(found.statistic, 0.4, 1e-12) && near(found.p_value, 0.505_494_505_494_505_5, 1e-9),
            "{found:?}"
        );
        let found = kolmogorov_smirnov(&[1.0, 2.0, 3.0, 4.0, 5.0], &[6.0, 7.0, 8.0, 9.0]).unwrap();
        assert!(
            near(found.statistic, 1.0, 1e-12)
                && near(found.p_value, 0.015_873_015_873_015_872, 1e-9),
            "{found:?}"
        );
        let (a, b): (Vec<f64>, Vec<f64>) =
            (0..50).map(|i| (f64::from(i) * 0.01, 0.355 + f64::from(i) * 0.01)).unzip();
        let found = kolmogorov_smirnov(&a, &b).unwrap();
        assert!(
            near(found.statistic, 0.72, 1e-12)
                && near(found.p_value, 8.759_312_877_898_666e-13, 1e-9),
            "{found:?}"
        );
        // Large samples: the limit itself, scipy.special.kolmogorov.
        let a: Vec<f64> = (0..150).map(|i| f64::from(i) * 0.01).collect();
        let b: Vec<f64> = (0..120).map(|i| 0.155 + f64::from(i) * 0.01).collect();
        let found = kolmogorov_smirnov(&a, &b).unwrap();
        assert!(
            near(found.statistic, 0.106_666_666_666_666_67, 1e-12)
                && near(found.p_value, 0.434_093_204_174_891_2, 1e-9),
            "{found:?}"
        );
        assert_eq!(found.method, Method::Limit);
    }

    #[test]
    fn the_limit_has_one_value_where_its_two_series_meet() {
        // Kolmogorov's table: P(K >= 1) = 0.2700; at 1.36 the customary 0.05.
        assert!(near(kolmogorov_tail(1.0), 0.269_999_671, 1e-8));
        assert!(near(kolmogorov_tail(1.0 - 1e-12), kolmogorov_tail(1.0), 1e-9));
        assert!((kolmogorov_tail(1.358_1) - 0.05).abs() < 1e-5);
        assert!(near(kolmogorov_tail(0.05), 1.0, 1e-15));
    }

    #[test]
    fn an_empty_sample_cannot_be_compared() {
        assert_eq!(kolmogorov_smirnov(&[], &[1.0]), None);
    }

    fn distance(a: &[f64], b: &[f64]) -> u64 {
        Pooled::of(a, b).distance
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None,
            ..ProptestConfig::default() })]

        #[test]
        fn lattice_paths_agree_with_all_arrangements_also_with_ties(
            a in proptest::collection::vec(0_i8..6, 1..6),
            b in proptest::collection::vec(0_i8..6, 1..6),
        ) {
            let to_floats = |v: &[i8]| v.iter().map(|x| f64::from(*x)).collect::<Vec<f64>>();
            let (a, b) = (to_floats(&a), to_floats(&b));
            let pooled: Vec<f64> = a.iter().chain(&b).copied().collect();
            let seen = distance(&a, &b);
            let (mut all, mut far) = (0_u32, 0_u32);
            for choice in 0_u32..1 << pooled.len() {
                if choice.count_ones() as usize == a.len() {
                    let chosen = |side: u32| {
                        let indices = (0..pooled.len()).filter(|i| choice >> i & 1 == side);
                        indices.map(|i| pooled[i]).collect::<Vec<f64>>()
                    };
                    all += 1;
                    far += u32::from(seen <= distance(&chosen(1), &chosen(0)));
                }
            }
            let found = kolmogorov_smirnov(&a, &b).unwrap();
            prop_assert!(near(found.p_value, f64::from(far) / f64::from(all), 1e-12));
        }

        #[test]
        fn exact_signed_ranks_agree_with_all_signs(
            signs in proptest::collection::vec(any::<bool>(), 1..10),
        ) {
            let n = signs.len();
            let differences: Vec<f64> = signs
                .iter()
                .enumerate()
                .map(|(i, up)| if *up { i as f64 + 1.0 } else { -(i as f64) - 1.0 })
                .collect();
            let middle = (n * (n + 1)) as f64 / 4.0;
            let seen = (signed(&differences).statistic - middle).abs();
            let sum = |choice: u32| -> f64 {
                (0..n).filter(|i| choice >> i & 1 == 1).map(|i| i as f64 + 1.0).sum()
            };
            let far = (0..1_u32 << n).filter(|c| seen <= (sum(*c) - middle).abs() + 1e-9).count();
            let expected = far as f64 / f64::from(1_u32 << n);
            prop_assert!(near(signed(&differences).p_value, expected.min(1.0), 1e-12));
        }
    }
}
