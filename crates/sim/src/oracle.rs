//! Is the planted truth true? Try every short order of a small suite and see.
//!
//! The oracle knows nothing of phenomena. It applies the definitions (detection.md 1.1 and 1.2)
//! to what the suite does after every list of up to `group_len_max` other tests: failure rates,
//! computed exactly from the rules, give the verdict of Table 1.1; outcomes without noise give the
//! roles. A suite of n tests costs about n^(`group_len_max` + 1) short runs, so this is for tests.
//!
//! Two limits: effects of more than `group_len_max` tests are not seen, and tests before the target
//! run without their own noise.

use std::collections::BTreeSet;

use unflake_model::{
    CleanersOf, Dependencies, Environment, Evidence, Experiment, Group, Order, RunId, TestIndex,
    Verdict,
};

use crate::truth::TestTruth;
use crate::world::SimSuite;

/// Rates closer than this are considered equal, because they were computed in different ways.
const RATE_TOLERANCE: f64 = 1e-12;
/// With this many seeds, an open choice with a share of 5 % is missed once in 500,000 times.
const N_PERTURBATIONS: u64 = 256;

/// The truth about this test, by the definitions.
pub fn truth_of(sim: &SimSuite, test: TestIndex, group_len_max: usize) -> TestTruth {
    let prefixes = prefixes(sim, test, group_len_max);
    TestTruth {
        verdict: verdict(sim, test, &prefixes),
        dependencies: dependencies(sim, test, &prefixes),
    }
}

/// Lists of other tests, shortest first, in original order within a length.
fn prefixes(sim: &SimSuite, target: TestIndex, len_max: usize) -> Vec<Group> {
    let mut all: Vec<Group> = vec![Vec::new()];
    let mut longest_from = 0;
    for _ in 0..len_max {
        let longest = longest_from..all.len();
        longest_from = all.len();
        for position in longest {
            let prefix = all[position].clone();
            for test in sim.suite().tests() {
                if test != target && !prefix.contains(&test) {
                    all.push([prefix.as_slice(), &[test]].concat());
                }
            }
        }
    }
    all
}

/// The verdict by Table 1.1, or one of the two categories that only show in a special run.
fn verdict(sim: &SimSuite, test: TestIndex, prefixes: &[Group]) -> Verdict {
    let rate = |prefix: &Group| {
        sim.values_after(prefix).and_then(|values| values.failure_rate(sim.behaviour(test)))
    };
    let rates: Vec<f64> = prefixes.iter().filter_map(rate).collect();
    let is = |rate: f64, value: f64| (rate - value).abs() < RATE_TOLERANCE;
    let Some(first) = rates.first().copied() else {
        return Verdict::InsufficientEvidence;
    };
    let all_same = rates.iter().all(|rate| is(*rate, first));
    if rates.iter().any(|rate| !is(*rate, 0.0) && !is(*rate, 1.0)) {
        return if all_same { Verdict::Ndoi } else { Verdict::Ndod };
    }
    match rate(&Vec::new()) {
        Some(_) if all_same && is(first, 1.0) => Verdict::AlwaysFailing,
        Some(_) if all_same && depends_on_open_choice(sim, test) => Verdict::Id,
        Some(_) if all_same && fails_second_time(sim, test) => Verdict::Nio,
        _ if all_same => Verdict::NotFlaky,
        Some(alone) if is(alone, 0.0) => Verdict::OdVictim,
        Some(_) => Verdict::OdBrittle,
        None => Verdict::OdUnknownRole,
    }
}

fn fails_second_time(sim: &SimSuite, test: TestIndex) -> bool {
    evidence(sim, &[test], test) == Some(Evidence::Fail)
}

fn depends_on_open_choice(sim: &SimSuite, test: TestIndex) -> bool {
    (0..N_PERTURBATIONS).any(|seed| {
        let experiment = Experiment {
            environment: Environment::open_choices(seed),
            ..Experiment::new(RunId(0), Order::from_distinct([test]))
        };
        let attempts = sim.observe(&experiment).attempts;
        attempts[0].outcome.evidence() == Some(Evidence::Fail)
    })
}

fn dependencies(sim: &SimSuite, test: TestIndex, prefixes: &[Group]) -> Dependencies {
    match evidence(sim, &[], test) {
        Some(Evidence::Pass) => {
            let polluters = minimal_groups(sim, test, prefixes, Evidence::Fail);
            Dependencies {
                cleaners: polluters.iter().map(|group| cleaners_of(sim, test, group)).collect(),
                polluters,
                ..Dependencies::default()
            }
        }
        Some(Evidence::Fail) => Dependencies {
            state_setters: minimal_groups(sim, test, prefixes, Evidence::Pass),
            ..Dependencies::default()
        },
        None => Dependencies::default(),
    }
}

/// The lists after which the test shows this evidence, while it does not after any proper part of
/// them; each set of tests appears once.
fn minimal_groups(
    sim: &SimSuite,
    test: TestIndex,
    prefixes: &[Group],
    wanted: Evidence,
) -> Vec<Group> {
    let mut sets = BTreeSet::new();
    let mut groups: Vec<Group> = prefixes
        .iter()
        .filter(|prefix| evidence(sim, prefix, test) == Some(wanted))
        .filter(|prefix| parts(prefix).iter().all(|part| evidence(sim, part, test) != Some(wanted)))
        .filter(|prefix| sets.insert(prefix.iter().copied().collect::<BTreeSet<_>>()))
        .cloned()
        .collect();
    groups.sort_unstable();
    groups
}

/// All proper sub-lists.
fn parts(list: &[TestIndex]) -> Vec<Group> {
    (0..(1_usize << list.len()) - 1)
        .map(|mask| {
            let kept = (0..list.len()).filter(|i| mask >> i & 1 == 1);
            kept.map(|i| list[i]).collect()
        })
        .collect()
}

fn cleaners_of(sim: &SimSuite, test: TestIndex, group: &Group) -> CleanersOf {
    let cleans = |candidate: &TestIndex| {
        let prefix = [group.as_slice(), &[*candidate]].concat();
        evidence(sim, &prefix, test) == Some(Evidence::Pass)
    };
    let is_other = |candidate: &TestIndex| *candidate != test && !group.contains(candidate);
    CleanersOf {
        polluters: group.clone(),
        cleaners: sim.suite().tests().filter(is_other).filter(cleans).collect(),
    }
}

fn evidence(sim: &SimSuite, prefix: &[TestIndex], test: TestIndex) -> Option<Evidence> {
    sim.outcome_without_noise(prefix, test).evidence()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::generate;
    use crate::recipe::Recipe;
    use crate::scenario::{self, Case, Scenario, Setting};

    fn assert_planted_is_computed(sim: &SimSuite, group_len_max: usize, seed: u64) {
        for test in sim.suite().tests() {
            assert_eq!(
                *sim.truth().of(test),
                truth_of(sim, test, group_len_max),
                "seed {seed}, test {test}"
            );
        }
    }

    #[test]
    fn planted_truth_is_true_in_generated_suites() {
        for seed in 0..300 {
            let n_tests = 25 + usize::try_from(seed % 6).unwrap();
            let sim = generate(&Recipe::dense(n_tests), seed).unwrap();
            assert_planted_is_computed(&sim, 2, seed);
        }
    }

    #[test]
    fn no_third_test_makes_a_difference_that_was_not_planted() {
        for seed in 0..150 {
            let recipe = Recipe { chains: 1, ..Recipe::order_dependent(15) };
            assert_planted_is_computed(&generate(&recipe, seed).unwrap(), 3, seed);
        }
    }

    #[test]
    fn planted_truth_is_true_in_every_case_with_noise_and_without() {
        for seed in 0..20 {
            for case in Case::ALL {
                for noise in [0.0, 0.2] {
                    let Scenario { sim, targets } =
                        case.scenario(Setting { n_tests: 12, noise, seed });
                    assert_planted_is_computed(&sim, 3, seed);
                    let verdict = sim.truth().of(targets[0]).verdict;
                    assert_eq!(
                        verdict.is_non_deterministic(),
                        0.0 < noise || case == Case::RandomFailure,
                        "{case:?}: {verdict}"
                    );
                }
            }
        }
    }

    #[test]
    fn planted_truth_is_true_in_the_examples() {
        for Scenario { sim, .. } in
            [scenario::fig_2_1(0), scenario::elastic_job(0), scenario::dubbo(0)]
        {
            assert_planted_is_computed(&sim, 3, 0);
        }
        assert_planted_is_computed(&scenario::wildfly(0).sim, 1, 0);
        assert_planted_is_computed(&scenario::web(0).sim, 1, 0);
        let Scenario { sim, targets } = scenario::hadoop(0);
        assert_eq!(*sim.truth().of(targets[0]), truth_of(&sim, targets[0], 1));
    }
}
