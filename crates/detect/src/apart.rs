//! Asks about every single test in few runs.
//!
//! Asking "does it pollute?" of each of `n` tests takes `n` processes, and `n` more for the
//! cleaners of each polluter. Here one process answers for all of them: a test runs, the target
//! runs after it, whatever they changed is put back, and the next test has its turn
//! ([`Repetition::Apart`]). As far as watched state can be put back, each test is alone with the
//! target.
//!
//! State that cannot be put back makes such a pass wrong, so it only gives hints. If all tests from
//! some point on seem to have a role, the pass is repeated behind that point. A test that seems to
//! have a role, or that no pass says anything about, is asked about in its own process; all that
//! seem to have none are asked about together, forwards and backwards, with the known cleaners left
//! out. If the target then ends differently than alone, the search finds out behind which of them.
//! So a pass only misses a role if tests that it also considers innocent hide it in both
//! directions.

use std::collections::{BTreeMap, BTreeSet};

use futures_util::future::try_join_all;
use unflake_model::{Group, Order, OrderControl, Repetition, TestIndex};

use crate::oracle::{Answer, Oracle, Stop};
use crate::roles::{Roles, others, those_with_effect, universes};
use crate::search::{GROUPS_MAX, all_cleaners, all_groups};

/// A pass over fewer tests than this is not worth a process of its own.
const PASS_MIN: usize = 32;

/// How often a pass is repeated for tests that come after one that ended the process, or that left
/// something behind for good.
const PASSES_MAX: usize = 16;

/// If this many tests in a row, up to the last, seem to have a role, something probably stays
/// behind. With fewer, asking about each is cheaper than another pass.
const TAIL_MIN: usize = 8;

/// Whether passes mean anything: the target is not noisy, and may run between any two tests.
pub(crate) fn is_possible(oracle: &Oracle) -> bool {
    let control = oracle.lab().suite().control();
    oracle.is_deterministic() && control.orders == OrderControl::Exact && control.restores
}

/// Finds single tests that have the effect.
pub(crate) async fn find_singles(oracle: &Oracle, roles: &mut Roles) -> Result<(), Stop> {
    let tests = others(oracle);
    let innocent = innocent(oracle, &Search { common: &[], role_has_effect: true }, &tests).await?;
    let suspects = tests.into_iter().filter(|test| !innocent.contains(test));
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
    let innocent =
        innocent(oracle, &Search { common: group, role_has_effect: false }, &tests).await?;
    let (innocent, suspects): (Vec<TestIndex>, Vec<TestIndex>) =
        tests.into_iter().partition(|test| innocent.contains(test));
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

/// Which role is searched for.
struct Search<'a> {
    /// The tests that precede each candidate.
    common: &'a [TestIndex],
    /// Whether the target shows the effect after a test that has the role.
    role_has_effect: bool,
}

/// The tests that seem not to have the role.
async fn innocent(
    oracle: &Oracle,
    search: &Search<'_>,
    tests: &[TestIndex],
) -> Result<BTreeSet<TestIndex>, Stop> {
    let mut has_role: BTreeMap<TestIndex, bool> = BTreeMap::new();
    let mut open = tests.to_vec();
    for _ in 0..PASSES_MAX {
        let n_parts = oracle.lab().width().min(open.len() / PASS_MIN).max(1);
        let parts = open.chunks(open.len().div_ceil(n_parts).max(1));
        let passes = try_join_all(parts.map(|part| pass(oracle, search, part))).await?;
        has_role.extend(passes.into_iter().flatten());
        let n_open = open.len();
        let enders = oracle.lab().ledger().process_enders().clone();
        open.retain(|test| !has_role.contains_key(test) && !enders.contains(test));
        if open.is_empty() || n_open == open.len() {
            break;
        }
    }
    Ok(has_role.into_iter().filter(|(_, has_role)| !has_role).map(|(test, _)| test).collect())
}

/// Whether each of these tests seems to have the role; `None` for those that the pass did not
/// reach, or reached with something in the way.
async fn pass(
    oracle: &Oracle,
    &Search { common, role_has_effect }: &Search<'_>,
    tests: &[TestIndex],
) -> Result<Vec<(TestIndex, bool)>, Stop> {
    let lab = oracle.lab();
    lab.count_question();
    let order = Order::from_distinct([common, tests].concat());
    let repetition = Repetition::Apart { n_common: common.len(), target: oracle.target() };
    let run = lab.run_repeated(order, repetition).await?;
    let ends = run.outcomes.chunks(common.len() + 2).map(|stretch| stretch.last());
    let effects = ends.map(|outcome| outcome.and_then(|outcome| oracle.is_effect(*outcome)));
    let role = |(test, effect): (&TestIndex, Option<bool>)| {
        effect.map(|has_effect| (*test, has_effect == role_has_effect))
    };
    let mut roles: Vec<(TestIndex, bool)> = tests.iter().zip(effects).filter_map(role).collect();
    let n_last = roles.iter().rev().take_while(|(_, has_role)| *has_role).count();
    if TAIL_MIN <= n_last {
        roles.truncate(roles.len() - n_last + 1);
    }
    Ok(roles)
}
