//! Every single test, asked about in few runs.
//!
//! "Does it pollute?", put to each of `n` tests by itself, takes `n` processes, and `n` more for
//! the cleaners of each polluter. Here one process answers for all of them: a test, the target
//! behind it, then whatever they changed is put back, and the next one has its turn
//! ([`Repetition::Apart`]). As much as what is watched can be put back, each test is alone with the
//! target.
//!
//! What cannot be put back makes such a pass wrong, so it only gives hints. A test that seems to
//! have a role, or of which the pass says nothing, is asked about in a process of its own; all that
//! seem to have none are asked about together, forwards and backwards, with the cleaners known left
//! out. If the target ends otherwise than alone, the search finds out behind which of them. What a
//! pass misses is thus missed only if tests that it takes for innocent, too, hide it in both
//! directions.

use std::collections::{BTreeMap, BTreeSet};

use futures_util::future::try_join_all;
use unflake_model::{Environment, Group, Order, Repetition, TestIndex};

use crate::oracle::{Answer, Oracle, Stop};
use crate::roles::{Roles, others, those_with_effect, universes};
use crate::search::{GROUPS_MAX, all_cleaners, all_groups};

/// A pass over fewer tests than this is not worth a process of its own.
const PASS_MIN: usize = 32;

/// So often a pass is made again for tests that stand behind one that ended the process.
const PASSES_MAX: usize = 8;

/// Whether passes mean anything: the target is not noisy, and may stand between any two tests.
pub(crate) fn is_possible(oracle: &Oracle) -> bool {
    oracle.is_deterministic() && !oracle.lab().suite().keeps_classes()
}

/// Finds single tests that have the effect.
pub(crate) async fn find_singles(oracle: &Oracle, roles: &mut Roles) -> Result<(), Stop> {
    let tests = others(oracle);
    let hints = hints(oracle, &[], &tests).await?;
    let suspects = tests.into_iter().filter(|test| hints.get(test) != Some(&false));
    let suspects = suspects.map(|test| vec![test]).collect();
    for single in those_with_effect(oracle, suspects).await? {
        if !roles.groups.contains(&single) {
            roles.groups.push(single);
        }
    }
    Ok(())
}

/// Finds the cleaners of all groups, and the groups that passes have missed.
pub(crate) async fn complete(oracle: &Oracle, roles: &mut Roles) -> Result<(), Stop> {
    let has_cleaners = roles.effect_is_failing;
    let mut n_cleaned = 0;
    while n_cleaned < roles.groups.len() && n_cleaned < GROUPS_MAX {
        let groups = roles.groups[n_cleaned..].to_vec();
        n_cleaned = roles.groups.len();
        for group in groups.iter().filter(|_| has_cleaners) {
            let cleaners = cleaners(oracle, group, roles).await?;
            roles.add_cleaners(group, &cleaners);
        }
        roles.explain_past_runs(oracle).await?;
        let cleaners = roles.all_cleaners();
        for universe in universes(oracle.lab(), oracle.target(), &cleaners) {
            all_groups(oracle, &universe, &mut roles.groups).await?;
        }
    }
    Ok(())
}

/// The tests that undo the effect of a group.
async fn cleaners(oracle: &Oracle, group: &Group, roles: &Roles) -> Result<Vec<TestIndex>, Stop> {
    let mut tests = others(oracle);
    tests.retain(|test| !group.contains(test));
    let hints = hints(oracle, group, &tests).await?;
    let (innocent, suspects): (Vec<TestIndex>, Vec<TestIndex>) =
        tests.into_iter().partition(|test| hints.get(test) == Some(&true));
    let triples: Vec<Group> =
        suspects.iter().map(|test| [group.as_slice(), &[*test]].concat()).collect();
    let answers = oracle.ask_all(&triples).await?;
    let asked = suspects.into_iter().zip(answers);
    let mut cleaners: Vec<TestIndex> =
        asked.filter(|(_, answer)| *answer == Answer::No).map(|(test, _)| test).collect();
    let polluters: BTreeSet<TestIndex> = roles.groups.iter().flatten().copied().collect();
    let rest: Vec<TestIndex> =
        innocent.into_iter().filter(|test| !polluters.contains(test)).collect();
    cleaners.extend(all_cleaners(oracle, group, &rest).await?);
    Ok(cleaners)
}

/// Whether the target seems to show the effect behind each of these tests, with others before it;
/// nothing about those that a pass did not get to.
async fn hints(
    oracle: &Oracle,
    common: &[TestIndex],
    tests: &[TestIndex],
) -> Result<BTreeMap<TestIndex, bool>, Stop> {
    let mut hints = BTreeMap::new();
    let mut open = tests.to_vec();
    for _ in 0..PASSES_MAX {
        let n_parts = oracle.lab().width().min(open.len() / PASS_MIN).max(1);
        let parts = open.chunks(open.len().div_ceil(n_parts).max(1));
        let passes = try_join_all(parts.map(|part| pass(oracle, common, part))).await?;
        hints.extend(passes.into_iter().flatten());
        let n_open = open.len();
        let enders = oracle.lab().ledger().process_enders().clone();
        open.retain(|test| !hints.contains_key(test) && !enders.contains(test));
        if open.is_empty() || n_open == open.len() {
            break;
        }
    }
    Ok(hints)
}

async fn pass(
    oracle: &Oracle,
    common: &[TestIndex],
    tests: &[TestIndex],
) -> Result<Vec<(TestIndex, bool)>, Stop> {
    let lab = oracle.lab();
    lab.count_question();
    let order = Order::from_distinct([common, tests].concat());
    let repetition = Repetition::Apart { n_common: common.len(), target: oracle.target() };
    let run = lab.run_with(order, Environment::Plain, repetition).await?;
    let ends = run.outcomes.chunks(common.len() + 2).map(|stretch| stretch.last());
    let effects = ends.map(|outcome| outcome.and_then(|outcome| oracle.is_effect(*outcome)));
    let hint = |(test, effect): (&TestIndex, Option<bool>)| Some((*test, effect?));
    Ok(tests.iter().zip(effects).filter_map(hint).collect())
}
