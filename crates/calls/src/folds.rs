//! How good would a learned set be for tests it has not seen?
//!
//! The tests are dealt into folds; for each, a set is learned from all others and judged on it.
//! Tests of one project are alike, so whole projects are dealt where there are enough of them.
//! Where there are not, tests are, flaky ones and others apart, so that each fold has its share.

use std::collections::BTreeMap;

use unflake_model::random::Random;

use crate::learn::{Learned, Options, Score, evaluate_within, learn_within};
use crate::sample::{Bits, Sample};

/// One fold: the tests set aside, and how the set learned from the others does on them.
#[derive(Clone, Debug, PartialEq)]
pub struct Fold {
    /// How many tests were set aside.
    pub n_tests: usize,
    /// How many of them are flaky.
    pub n_flaky: usize,
    /// What was learned from the others.
    pub learned: Learned,
    /// How that set does on the tests set aside.
    pub score: Score,
}

/// Learns once for each fold.
pub fn cross_validate(sample: &Sample, options: &Options, n_folds: usize, seed: u64) -> Vec<Fold> {
    let dealt = deal(sample, n_folds, seed);
    let n = sample.tests.len();
    (0..n_folds)
        .map(|fold| {
            let aside = Bits::of(n, (0..n).filter(|test| dealt[*test] == fold));
            let rest = Bits::of(n, (0..n).filter(|test| dealt[*test] != fold));
            let learned = learn_within(sample, &rest, options);
            let score = evaluate_within(sample, &aside, &learned.set());
            let n_flaky = sample.flaky.n_in(&aside);
            Fold { n_tests: aside.n(), n_flaky, learned, score }
        })
        .collect()
}

/// The fold that each test is dealt into.
fn deal(sample: &Sample, n_folds: usize, seed: u64) -> Vec<usize> {
    let mut random = Random::new(seed);
    let mut flaky_projects: Vec<&str> =
        sample.tests.iter().filter(|it| it.is_flaky).map(|it| it.project.as_str()).collect();
    flaky_projects.sort_unstable();
    flaky_projects.dedup();
    let by_project = flaky_projects.len() >= n_folds;
    let mut piles: BTreeMap<(bool, &str), Vec<usize>> = BTreeMap::new();
    for (number, test) in sample.tests.iter().enumerate() {
        let project = test.project.as_str();
        let has_flaky = flaky_projects.binary_search(&project).is_ok();
        let key = if by_project { (has_flaky, project) } else { (test.is_flaky, "") };
        piles.entry(key).or_default().push(number);
    }
    let mut groups: Vec<(bool, Vec<usize>)> = Vec::new();
    for ((is_flaky, _), tests) in piles {
        if by_project {
            groups.push((is_flaky, tests));
        } else {
            groups.extend(tests.into_iter().map(|test| (is_flaky, vec![test])));
        }
    }
    random.shuffle(&mut groups);
    // Groups with flaky tests are dealt first, and evenly.
    groups.sort_by_key(|(is_flaky, _)| !is_flaky);
    let mut dealt = vec![0; sample.tests.len()];
    for (number, (_, tests)) in groups.into_iter().enumerate() {
        for test in tests {
            dealt[test] = number % n_folds;
        }
    }
    dealt
}
