//! How often does the whole suite fail, and do its tests fail together?
//!
//! A suite run fails if any of its flaky tests does. From the tests' own failures alone, the number
//! of failed suite runs is known only between limits (root-cause spec 1.2): at least the most any
//! test failed (all failures coincide), at most their sum (no two ever coincide). Where the truth
//! lies tells whether the tests share a cause.
//!
//! Three words must not be confused. *Related* tests fail together. Tests that *never coincide*
//! exclude each other, which the literature calls independent. *Statistical* independence lies in
//! between and predicts `1 - prod(1 - f_i)` ([`if_independent`]).
//!
//! Counts are compared, never rounded percentages: 11 and 13 of 4000 are both "0.3 %".

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

use unflake_model::Confidence;

use crate::hypergeometric;
use crate::rate::{Interval, Rate};

/// How many of `n_runs` suite runs failed, going by how often each test did.
pub fn failed_runs(failures: &[u64], n_runs: u64) -> RangeInclusive<u64> {
    let most = failures.iter().copied().max().unwrap_or(0);
    most..=failures.iter().sum::<u64>().min(n_runs)
}

/// How the failures of several tests are related.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relatedness {
    /// Wherever any test failed, the one that failed most did too.
    Related,
    /// No two failed in the same run.
    NeverCoincident,
    /// Some failures coincide, but not all.
    Mixed,
}

/// Compares failed suite runs with the failures of each test.
///
/// `None` if fewer than two tests failed: there is nothing to relate.
pub fn relatedness(failures: &[u64], n_failed_runs: u64) -> Option<Relatedness> {
    if failures.iter().filter(|n| 0 < **n).count() < 2 {
        return None;
    }
    let (most, sum) = (failures.iter().max()?, failures.iter().sum::<u64>());
    Some(if n_failed_runs == *most {
        Relatedness::Related
    } else if n_failed_runs == sum {
        Relatedness::NeverCoincident
    } else {
        Relatedness::Mixed
    })
}

/// The share of failing suite runs if the tests fail independently: `1 - prod(1 - f_i)`.
pub fn if_independent(rates: &[Rate]) -> f64 {
    -rates.iter().map(|f| (-f.get()).ln_1p()).sum::<f64>().exp_m1()
}

/// The limits of the probability that *all* events happen, whatever their dependence (Fréchet
/// 1935): `max(0, sum - (k-1))` to `min`.
pub fn all_of(rates: &[Rate]) -> Interval {
    let missing: f64 = rates.iter().map(|f| 1.0 - f.get()).sum();
    Interval {
        lower: (1.0 - missing).max(0.0),
        upper: rates.iter().map(|f| f.get()).fold(1.0, f64::min),
    }
}

/// The limits of the probability that *any* event happens, whatever their dependence (Fréchet
/// 1935): `max` to `min(1, sum)`.
pub fn any_of(rates: &[Rate]) -> Interval {
    Interval {
        lower: rates.iter().map(|f| f.get()).fold(0.0, f64::max),
        upper: rates.iter().map(|f| f.get()).sum::<f64>().min(1.0),
    }
}

/// Tests that fail together more often than chance explains, to be shown and fixed together.
///
/// For each test the numbers of the runs in which it failed are given, of `n_runs` in all. Two
/// tests are linked if this many common failures would be as rare as the confidence demands, were
/// they independent (hypergeometric tail, divided among all pairs of failing tests); a group is
/// what is linked through any chain. Groups are given by position, each sorted, in order of their
/// first test; a test that is linked to none is in no group.
pub fn co_failing(
    failed_in: &[BTreeSet<u64>],
    n_runs: u64,
    confidence: Confidence,
) -> Vec<Vec<usize>> {
    let n_failing = failed_in.iter().filter(|runs| !runs.is_empty()).count() as f64;
    let rarity = confidence.error() / (n_failing * (n_failing - 1.0) / 2.0).max(1.0);
    let mut group_of: Vec<usize> = (0..failed_in.len()).collect();
    for ((a, b), n_common) in common_failures(failed_in) {
        let (of_a, of_b) = (failed_in[a].len() as u64, failed_in[b].len() as u64);
        if hypergeometric::tail(n_runs, of_a, of_b, n_common) <= rarity {
            let (first, second) = (root(&mut group_of, a), root(&mut group_of, b));
            group_of[first.max(second)] = first.min(second);
        }
    }
    let mut groups: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for test in 0..failed_in.len() {
        groups.entry(root(&mut group_of, test)).or_default().push(test);
    }
    groups.into_values().filter(|group| 1 < group.len()).collect()
}

/// For each pair of tests with a common failed run, how many there are. Pairs without are never
/// looked at, so that the work is bounded by what failed together, not by the size of the suite.
fn common_failures(failed_in: &[BTreeSet<u64>]) -> BTreeMap<(usize, usize), u64> {
    let mut failing: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
    for (test, runs) in failed_in.iter().enumerate() {
        for run in runs {
            failing.entry(*run).or_default().push(test);
        }
    }
    let mut counts = BTreeMap::new();
    for tests in failing.values() {
        for (index, &a) in tests.iter().enumerate() {
            for &b in &tests[index + 1..] {
                *counts.entry((a, b)).or_insert(0) += 1;
            }
        }
    }
    counts
}

/// The first test of the group; halves the path to it for later calls.
fn root(group_of: &mut [usize], mut test: usize) -> usize {
    while group_of[test] != test {
        group_of[test] = group_of[group_of[test]];
        test = group_of[test];
    }
    test
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn rates(values: &[f64]) -> Vec<Rate> {
        values.iter().map(|value| Rate::new(*value).unwrap()).collect()
    }

    #[test]
    fn two_tests_with_20_failures_each_fail_20_to_40_suite_runs() {
        // Example E7.
        assert_eq!(failed_runs(&[20, 20], 4000), 20..=40);
        assert_eq!(failed_runs(&[], 4000), 0..=0);
    }

    #[test]
    fn port_exhaustion_is_related_and_its_sum_is_capped() {
        // Example E8, per batch of 100: 49, 49, 50 failures, 50 failed runs.
        assert_eq!(failed_runs(&[49, 49, 50], 100), 50..=100);
        assert_eq!(relatedness(&[49, 49, 50], 50), Some(Relatedness::Related));
    }

    #[test]
    fn equal_after_rounding_is_not_equal() {
        // Spec 4, module M14: suite 0.3 %, max 0.3 %, sum 1.1 % of 4000 runs. Counts decide.
        let failures = [11, 11, 11, 11];
        assert_eq!(relatedness(&failures, 13), Some(Relatedness::Mixed));
        assert_eq!(relatedness(&failures, 11), Some(Relatedness::Related));
        assert_eq!(relatedness(&failures, 44), Some(Relatedness::NeverCoincident));
        assert_eq!(relatedness(&[11, 0], 11), None);
    }

    #[test]
    fn a_sum_that_is_capped_is_not_reached() {
        assert_eq!(relatedness(&[60, 60], 100), Some(Relatedness::Mixed));
    }

    #[test]
    fn independence_and_the_bounds_of_frechet() {
        let f = rates(&[0.1, 0.2, 0.5]);
        assert!((if_independent(&f) - (1.0 - 0.9 * 0.8 * 0.5)).abs() < 1e-15);
        let all = all_of(&f);
        assert!(all.lower.abs() < 1e-15 && (all.upper - 0.1).abs() < 1e-15);
        let any = any_of(&f);
        assert!((any.lower - 0.5).abs() < 1e-15 && (any.upper - 0.8).abs() < 1e-15);
        assert!((all_of(&rates(&[0.9, 0.8])).lower - 0.7).abs() < 1e-15);
        assert!((any_of(&rates(&[0.9, 0.8])).upper - 1.0).abs() < 1e-15);
    }

    #[test]
    fn tests_that_fail_together_are_grouped_and_one_coincidence_is_not_enough() {
        let runs = |numbers: &[u64]| numbers.iter().copied().collect::<BTreeSet<u64>>();
        let failed_in = [
            runs(&[1, 2, 3, 4]),
            runs(&[50, 60]),
            runs(&[2, 3, 4, 5]),
            runs(&[3, 4, 5, 99]),
            runs(&[60, 70, 80, 90, 95]),
            runs(&[]),
        ];
        // 0-2 and 2-3 share three of four; 1-4 share one run.
        let groups = co_failing(&failed_in, 100, Confidence::USUAL);
        assert_eq!(groups, [vec![0, 2, 3]]);
        assert_eq!(co_failing(&[], 100, Confidence::USUAL), [[0; 0]; 0]);
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None,
            ..ProptestConfig::default() })]

        #[test]
        fn every_suite_stays_within_the_bounds(
            runs in proptest::collection::vec(proptest::collection::vec(any::<bool>(), 4), 1..30),
        ) {
            let count = |test: usize| runs.iter().filter(|run| run[test]).count() as u64;
            let failures: Vec<u64> = (0..4).map(count).collect();
            let n_failed = runs.iter().filter(|run| run.contains(&true)).count() as u64;
            let n_runs = runs.len() as u64;
            prop_assert!(failed_runs(&failures, n_runs).contains(&n_failed));
            let f: Vec<Rate> =
                failures.iter().map(|n| Rate::new(*n as f64 / n_runs as f64).unwrap()).collect();
            let share = n_failed as f64 / n_runs as f64;
            let slack = 1e-12;
            prop_assert!(any_of(&f).lower - slack <= share && share <= any_of(&f).upper + slack);
            let any = any_of(&f);
            let independent = if_independent(&f);
            prop_assert!(any.lower - slack <= independent && independent <= any.upper + slack);
        }
    }
}
