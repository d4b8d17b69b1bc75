//! The search names a group that has the effect and from which nothing can be left out, with few
//! questions.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests are outside of test functions, where clippy.toml allows it"
)]

mod common;

use std::collections::BTreeSet;

use common::{at, drive, unlimited};
use proptest::prelude::*;
use unflake_detect::Lab;
use unflake_detect::oracle::{Manner, Oracle};
use unflake_detect::search::{GROUP_SIZE_MAX, all_cleaners, all_groups, minimal_group};
use unflake_model::random::Random;
use unflake_model::{Evidence, Group, Suite, TestIndex};
use unflake_sim::behaviour::{Behaviour, Chance, Condition, Ending, Rule, Variable, Write};
use unflake_sim::phenomenon::{Pollution, Sequence, Together};
use unflake_sim::{Phenomenon, SimSuite, Timing, Truth};

fn config(cases: u32) -> ProptestConfig {
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

/// The last test of a suite of `n + 1` is the victim of these groups, each with its cleaners.
fn victim_of(n: usize, pollutions: &[(Vec<usize>, Sequence, Vec<usize>)]) -> SimSuite {
    let pollutions = pollutions.iter().map(|(tests, sequence, cleaners)| Pollution {
        polluters: Together { tests: tests.iter().copied().map(at).collect(), sequence: *sequence },
        cleaners: cleaners.iter().copied().map(at).collect(),
    });
    let phenomenon = Phenomenon::Victims {
        victims: vec![at(n)],
        pollutions: pollutions.collect(),
        ending: Ending::Fail,
    };
    let suite = Suite::of_sizes(&[n + 1]).unwrap();
    SimSuite::planted(suite, &[phenomenon], Timing::USUAL, 0).unwrap()
}

/// The last test of a suite of `n + 1` fails after each of these groups, in whichever order; they
/// may overlap.
fn overlapping(n: usize, groups: &[Vec<usize>]) -> SimSuite {
    let ran = |test: usize| Variable(u32::try_from(test).unwrap());
    let leaves_its_mark =
        |test| Behaviour { writes: vec![Write::always(ran(test), 1)], ..Behaviour::default() };
    let after_all = |group: &Vec<usize>| Rule {
        when: group.iter().fold(Condition::always(), |all, test| all.and(ran(*test), 1)),
        chance: Chance::Certain,
        ending: Ending::Fail,
    };
    let mut behaviours: Vec<Behaviour> = (0..n).map(leaves_its_mark).collect();
    let rules = groups.iter().map(after_all).collect();
    behaviours.push(Behaviour { rules, ..Behaviour::default() });
    let suite = Suite::of_sizes(&[n + 1]).unwrap();
    SimSuite::new(suite, behaviours, Truth::default(), Timing::USUAL, 0).unwrap()
}

fn groups_found(sim: &SimSuite, n: usize, width: usize) -> Vec<Group> {
    let analysis = |lab| async move {
        let oracle = oracle(lab, at(n));
        let universe: Vec<TestIndex> = (0..n).map(at).collect();
        let mut groups = Vec::new();
        all_groups(&oracle, &universe, &mut groups).await.map(|()| groups)
    };
    let mut groups = drive(sim, unlimited(), width, analysis).0.unwrap();
    groups.sort_unstable();
    groups
}

fn oracle(lab: Lab, target: TestIndex) -> Oracle {
    Oracle::new(lab, target, Manner::Deterministic { alone: Evidence::Pass }, 0.01)
}

/// The group found in a prefix, and how many questions it took: a deterministic target answers each
/// with one run, and repeated questions cost nothing.
fn search(sim: &SimSuite, prefix: &[TestIndex], width: usize) -> (Option<Group>, u64) {
    let target = at(sim.suite().n_tests() - 1);
    let prefix = prefix.to_vec();
    let analysis = |lab| async move {
        let oracle = oracle(lab, target);
        minimal_group(&oracle, &prefix).await
    };
    let (group, spent) = drive(sim, unlimited(), width, analysis);
    (group.unwrap(), spent.runs)
}

fn fails_after(sim: &SimSuite, prefix: &[TestIndex]) -> bool {
    let target = at(sim.suite().n_tests() - 1);
    sim.outcome_without_noise(prefix, target).evidence() == Some(Evidence::Fail)
}

fn without(group: &[TestIndex], position: usize) -> Group {
    let mut smaller = group.to_vec();
    smaller.remove(position);
    smaller
}

/// For each of `k` tests: `log4 n` questions to reach beyond it, `log2 n + 1` to find it, one
/// whether that was all and one whether it is needed; then one more each for the start and for the
/// original order.
fn questions_max(n: usize, k: usize) -> f64 {
    k as f64 * (1.5 * (n as f64).log2() + 5.0) + 2.0
}

/// A suite of `n` tests in some order, 1 to 4 of which have the effect together; their places are
/// drawn from all.
fn planted() -> impl Strategy<Value = (usize, Vec<usize>, u64, bool)> {
    (4_usize..=200).prop_flat_map(|n| {
        let group = proptest::sample::subsequence((0..n).collect::<Vec<_>>(), 1..=4).prop_shuffle();
        (Just(n), group, any::<u64>(), any::<bool>())
    })
}

proptest! {
    #![proptest_config(config(400))]

    #[test]
    fn the_group_found_has_the_effect_and_none_of_it_can_be_left_out(
        (n, group, seed, in_one_order) in planted(), width in 1_usize..9,
    ) {
        let sequence = if in_one_order { Sequence::AsListed } else { Sequence::Any };
        let sim = victim_of(n, &[(group.clone(), sequence, vec![])]);
        let mut prefix: Vec<TestIndex> = (0..n).map(at).collect();
        Random::new(seed).shuffle(&mut prefix);
        if in_one_order {
            // The tests of the group swap places so that they are in the order listed.
            let mut places: Vec<usize> =
                (0..n).filter(|i| group.contains(&prefix[*i].get())).collect();
            places.sort_unstable();
            for (place, test) in places.into_iter().zip(&group) {
                prefix[place] = at(*test);
            }
        }
        let (found, n_questions) = search(&sim, &prefix, width);
        let found = found.expect("the prefix has the effect");
        prop_assert!(fails_after(&sim, &found));
        for position in 0..found.len() {
            prop_assert!(!fails_after(&sim, &without(&found, position)));
        }
        let names: BTreeSet<usize> = found.iter().map(|t| t.get()).collect();
        prop_assert_eq!(names, group.iter().copied().collect::<BTreeSet<usize>>());
        if in_one_order {
            prop_assert_eq!(found, group.iter().copied().map(at).collect::<Group>());
        }
        if width == 1 {
            let bound = questions_max(n, group.len());
            prop_assert!(n_questions as f64 <= bound, "{} of {}", n_questions, bound);
        }
    }

    #[test]
    fn a_prefix_without_the_effect_yields_no_group(
        (n, group, seed, _) in planted(), width in 1_usize..9,
    ) {
        let sim = victim_of(n, &[(group.clone(), Sequence::Any, vec![])]);
        let mut prefix: Vec<TestIndex> = (0..n).filter(|i| *i != group[0]).map(at).collect();
        Random::new(seed).shuffle(&mut prefix);
        let (found, _) = search(&sim, &prefix, width);
        prop_assert_eq!(found, None);
    }

    #[test]
    fn all_cleaners_and_only_these_are_found(
        cleaners in proptest::collection::btree_set(1_usize..120, 0..20), width in 1_usize..9,
    ) {
        let planted: Vec<usize> = cleaners.into_iter().collect();
        let sim = victim_of(120, &[(vec![0], Sequence::Any, planted.clone())]);
        let analysis = |lab| async move {
            let oracle = oracle(lab, at(120));
            let candidates: Vec<TestIndex> = (1..120).map(at).collect();
            all_cleaners(&oracle, &[at(0)], &candidates).await
        };
        let (found, _) = drive(&sim, unlimited(), width, analysis);
        prop_assert_eq!(found, Ok(planted.into_iter().map(at).collect::<Vec<_>>()));
    }

    #[test]
    fn all_groups_are_found_that_no_cleaner_hides(
        groups in proptest::collection::btree_set(
            proptest::collection::btree_set(0_usize..60, 1..=3), 1..=4),
        width in 1_usize..9,
    ) {
        let is_minimal = |group: &&BTreeSet<usize>| {
            !groups.iter().any(|other| other != *group && other.is_subset(group))
        };
        let groups: Vec<Vec<usize>> =
            groups.iter().filter(is_minimal).map(|g| g.iter().copied().collect()).collect();
        let found = groups_found(&overlapping(60, &groups), 60, width);
        let planted: Vec<Group> =
            groups.iter().map(|g| g.iter().copied().map(at).collect()).collect();
        prop_assert_eq!(found, planted);
    }
}

/// Reiter's tree leaves out `a`, then `b` and `c` in turn: halving that stops at the first group
/// would not see the second.
#[test]
fn two_groups_that_share_a_test_are_both_found() {
    let groups = [vec![10, 20], vec![10, 30]];
    for width in [1, 4] {
        let found = groups_found(&overlapping(40, &groups), 40, width);
        assert_eq!(found, [vec![at(10), at(20)], vec![at(10), at(30)]]);
    }
}

#[test]
fn twenty_polluters_that_each_suffice_are_all_found() {
    let groups: Vec<Vec<usize>> = (0..20).map(|i| vec![3 * i + 1]).collect();
    let found = groups_found(&overlapping(100, &groups), 100, 1);
    assert_eq!(found, groups.iter().map(|g| vec![at(g[0])]).collect::<Vec<Group>>());
}

/// A known search needs 72 questions for a pair among 1,000; halving gives a wrong answer.
#[test]
fn a_pair_among_1_000_tests_takes_fewer_questions_than_one_by_one_deletion_with_growing_steps() {
    let sim = overlapping(1_000, &[vec![137, 790]]);
    let prefix: Vec<TestIndex> = (0..1_000).map(at).collect();
    let (found, n_questions) = search(&sim, &prefix, 1);
    assert_eq!(found, Some(vec![at(137), at(790)]));
    assert!(n_questions < 72, "{n_questions} questions");
}

/// Cutting from the front never separates the polluter from the cleaner after it.
#[test]
fn a_cleaner_in_the_prefix_does_not_mislead_the_search() {
    // 20 is cleaned by 30; 60 is not cleaned.
    let cleaned = (vec![20], Sequence::Any, vec![30]);
    let sim = victim_of(90, &[cleaned, (vec![60], Sequence::Any, vec![])]);
    let prefix: Vec<TestIndex> = (0..90).map(at).collect();
    for width in [1, 4] {
        assert_eq!(search(&sim, &prefix, width).0, Some(vec![at(60)]));
        assert_eq!(search(&sim, &prefix[..30], width).0, Some(vec![at(20)]));
        assert_eq!(search(&sim, &prefix[..60], width).0, None);
    }
}

/// Test 1 keeps test 5 from cleaning up after test 3. With 5 in the prefix, 1 cannot be cut, but
/// only 3 pollutes.
#[test]
fn a_test_that_only_stops_a_cleaner_is_not_part_of_the_group() {
    let (stopped, polluted) = (Variable(0), Variable(1));
    let mut behaviours = vec![Behaviour::default(); 8];
    behaviours[1].writes = vec![Write::always(stopped, 1)];
    behaviours[3].writes = vec![Write::always(polluted, 1)];
    let cleans = Write { when: Condition::is(stopped, 0), ..Write::always(polluted, 0) };
    behaviours[5].writes = vec![cleans];
    let when = Condition::is(polluted, 1);
    behaviours[7].rules = vec![Rule { when, chance: Chance::Certain, ending: Ending::Fail }];
    let suite = Suite::of_sizes(&[8]).unwrap();
    let sim = SimSuite::new(suite, behaviours, Truth::default(), Timing::USUAL, 0).unwrap();
    let prefix: Vec<TestIndex> = (0..7).map(at).collect();
    assert!(fails_after(&sim, &prefix) && !fails_after(&sim, &prefix[2..]));
    for width in [1, 4] {
        assert_eq!(search(&sim, &prefix, width).0, Some(vec![at(3)]));
    }
}

/// If more than [`GROUP_SIZE_MAX`] tests act together, the search gives up and names no part of
/// them.
#[test]
fn a_group_is_found_whole_or_not_at_all() {
    let group = |size| vec![(0..size).map(|i| 5 * i).collect::<Vec<usize>>()];
    let prefix: Vec<TestIndex> = (0..100).map(at).collect();
    let found = |size| search(&overlapping(100, &group(size)), &prefix, 1).0;
    let whole: Group = (0..GROUP_SIZE_MAX).map(|i| at(5 * i)).collect();
    assert_eq!(found(GROUP_SIZE_MAX), Some(whole));
    assert_eq!(found(GROUP_SIZE_MAX + 1), None);
}
