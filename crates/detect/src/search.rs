//! From "this prefix has the effect" to "these tests have it".
//!
//! **One group.** Cut the prefix from the front as long as the effect remains: the first test that
//! cannot be cut is needed. Keep it, and search the tests after it for the next, until the kept
//! tests have the effect by themselves. Each needed test costs about `log n` questions, however
//! many others there are, without assuming, as halving tools do, that there is only one. The cut is
//! searched from the target outwards (1, 4, 16 … tests), because culprits tend to be near and short
//! prefixes are quick to run. Cutting from the front never separates a polluter from the tests
//! between it and the target, so a cleaner in between cannot be hidden or revealed half-way.
//!
//! **All groups.** A known group is disabled by leaving out any one of its members; if the effect
//! remains, another group is at work. Following each choice of the member left out (Reiter's
//! hitting-set tree) also finds groups that overlap. Bounded by [`GROUPS_MAX`].
//!
//! **All cleaners.** A set of tests between polluters and victim that makes the effect go away
//! contains a cleaner; halve such sets until single tests remain. Every test that is named is
//! verified by its own question. Cleaners of other targets are asked about first, separately from
//! the rest.
//!
//! Limits: tests that only matter together with others that were cut may be missed; what is
//! reported was verified. The answer [`Answer::Unsure`] never clears a suspect.

use std::collections::BTreeSet;

use futures_util::future::try_join;
use unflake_model::{Group, TestIndex};

use crate::oracle::{Answer, Oracle, Stop};

/// Larger groups of tests acting together are not searched for.
pub const GROUP_SIZE_MAX: usize = 12;

/// No further groups are searched for once a target has this many.
pub const GROUPS_MAX: usize = 256;

/// The same for a target that fails at random: if there are more, what changes its rate is hardly a
/// group of tests, and each takes hundreds of runs.
const GROUPS_IN_NOISE_MAX: usize = 16;

/// The number of groups to search for.
pub(crate) fn groups_max(is_deterministic: bool) -> usize {
    if is_deterministic { GROUPS_MAX } else { GROUPS_IN_NOISE_MAX }
}

/// Past runs are only consulted for at most this many of the last tests.
const LOOKED_UP_MAX: usize = 256;

/// Each cut to try is this many times as far from the target as the last.
const STRIDE: usize = 4;

/// A minimal group of the prefix that has the effect, in order; `None` if the effect could not be
/// traced to a group of at most [`GROUP_SIZE_MAX`] tests.
pub async fn minimal_group(oracle: &Oracle, prefix: &[TestIndex]) -> Result<Option<Group>, Stop> {
    let mut kept = Group::new();
    let mut rest = prefix;
    while !has_effect(oracle, &kept).await? {
        let Some(start) = last_start(oracle, &kept, rest).await? else {
            return Ok(None);
        };
        if kept.len() == GROUP_SIZE_MAX {
            return Ok(None);
        }
        kept.push(rest[start]);
        rest = &rest[start + 1..];
    }
    reduced(oracle, kept).await.map(Some)
}

/// The same for suspects in any order; `None` if they do not have the effect.
pub(crate) async fn group_of(oracle: &Oracle, suspects: Group) -> Result<Option<Group>, Stop> {
    if has_effect(oracle, &suspects).await? {
        reduced(oracle, suspects).await.map(Some)
    } else {
        Ok(None)
    }
}

/// Leaves out what is not needed of tests that have the effect together, which gives a minimal
/// group.
async fn reduced(oracle: &Oracle, kept: Group) -> Result<Group, Stop> {
    let group = oracle.arranged(&without_needless(oracle, kept).await?);
    in_original_order(oracle, group).await
}

/// Whether these tests have the effect by themselves. Several of them mostly do, and then each is
/// checked for being needed: both are asked at once.
async fn has_effect(oracle: &Oracle, kept: &[TestIndex]) -> Result<bool, Stop> {
    let mut prefixes = vec![kept.to_vec()];
    if 1 < kept.len() && 1 < oracle.lab().width() {
        prefixes.extend((0..kept.len()).map(|place| without(kept, place)));
    }
    Ok(oracle.ask_all(&prefixes).await?.first() == Some(&Answer::Yes))
}

/// All tests but the one at this position.
fn without(group: &[TestIndex], place: usize) -> Group {
    [&group[..place], &group[place + 1..]].concat()
}

/// The group in the suite's own order, if it has the effect in that order too: if two orders do,
/// every machine names the same.
async fn in_original_order(oracle: &Oracle, group: Group) -> Result<Group, Stop> {
    let mut sorted = group.clone();
    sorted.sort_unstable();
    let has_effect = sorted != group && oracle.ask(&sorted).await? == Answer::Yes;
    Ok(if has_effect { sorted } else { group })
}

/// The last position of `rest` such that the tests from there on, after `kept`, have the effect.
async fn last_start(
    oracle: &Oracle,
    kept: &[TestIndex],
    rest: &[TestIndex],
) -> Result<Option<usize>, Stop> {
    let with_last = |n: usize| [kept, &rest[rest.len() - n..]].concat();
    // Invariant: the last `low` tests do not have the effect, the last `high` do.
    let (mut low, mut high) = (seen_without(oracle, &with_last, rest.len()), None);
    let mut reach = 1;
    while reach <= low {
        reach *= STRIDE;
    }
    while high.is_none() && low < rest.len() {
        let mut sizes = Vec::new();
        while sizes.len() < oracle.lab().width() && reach < rest.len() {
            sizes.push(reach);
            reach *= STRIDE;
        }
        if sizes.is_empty() {
            // The whole prefix may have shown the effect only once, by chance: ask again, and go on
            // meanwhile.
            let whole = with_last(rest.len());
            let again = oracle.ask_at_least(&whole, 2);
            let (again, n) = try_join(again, bisect(oracle, with_last, low, rest.len())).await?;
            return Ok((again == Answer::Yes).then_some(rest.len() - n));
        }
        (low, high) = narrow(oracle, &with_last, &sizes, low).await?;
    }
    match high {
        Some(high) => bisect(oracle, with_last, low, high).await.map(|n| Some(rest.len() - n)),
        None => Ok(None),
    }
}

/// The largest number of last tests that past runs have shown not to have the effect.
fn seen_without(
    oracle: &Oracle,
    with_last: &impl Fn(usize) -> Vec<TestIndex>,
    n_rest: usize,
) -> usize {
    let mut sizes = (1..n_rest).rev().filter(|_| n_rest <= LOOKED_UP_MAX);
    sizes.find(|n| oracle.has_shown_no_effect(&with_last(*n))).unwrap_or(0)
}

/// The smallest size above `low` that has the effect, given that `high` has it.
async fn bisect(
    oracle: &Oracle,
    with_last: impl Fn(usize) -> Vec<TestIndex>,
    mut low: usize,
    mut high: usize,
) -> Result<usize, Stop> {
    while low + 1 < high {
        let n_cuts = oracle.lab().width().min(high - low - 1);
        let sizes: Vec<usize> =
            (1..=n_cuts).map(|i| low + (high - low) * i / (n_cuts + 1)).collect();
        let (new_low, new_high) = narrow(oracle, &with_last, &sizes, low).await?;
        (low, high) = (new_low, new_high.unwrap_or(high));
    }
    Ok(high)
}

/// Asks about ascending sizes at once; returns the last without and the first with the effect.
async fn narrow(
    oracle: &Oracle,
    with_last: &impl Fn(usize) -> Vec<TestIndex>,
    sizes: &[usize],
    low: usize,
) -> Result<(usize, Option<usize>), Stop> {
    let prefixes: Vec<Vec<TestIndex>> = sizes.iter().map(|n| with_last(*n)).collect();
    let answers = oracle.ask_all(&prefixes).await?;
    let first_yes = answers.iter().position(|answer| *answer == Answer::Yes);
    let n_no = first_yes.unwrap_or(sizes.len());
    Ok((sizes[..n_no].last().copied().unwrap_or(low), first_yes.map(|i| sizes[i])))
}

/// Leaves out every test that is not needed for the effect.
async fn without_needless(oracle: &Oracle, mut group: Group) -> Result<Group, Stop> {
    let mut position = 0;
    while 1 < group.len() && position < group.len() {
        let smaller = without(&group, position);
        if oracle.ask(&smaller).await? == Answer::Yes {
            group = smaller;
        } else {
            position += 1;
        }
    }
    Ok(group)
}

/// Adds to `groups` every further minimal group of the universe that has the effect.
pub async fn all_groups(
    oracle: &Oracle,
    universe: &[TestIndex],
    groups: &mut Vec<Group>,
) -> Result<(), Stop> {
    let mut open: Vec<BTreeSet<TestIndex>> = vec![BTreeSet::new()];
    let mut seen: BTreeSet<BTreeSet<TestIndex>> = BTreeSet::new();
    let n_max = groups_max(oracle.is_deterministic());
    while let Some(left_out) = open.pop() {
        ask_together(oracle, universe, [&left_out].into_iter().chain(open.iter().rev()), groups)
            .await?;
        if !seen.insert(left_out.clone()) || n_max <= seen.len() {
            continue;
        }
        let Some(group) = group_left(oracle, universe, &left_out, groups).await? else {
            continue;
        };
        for member in group {
            let mut more = left_out.clone();
            more.insert(member);
            open.push(more);
        }
    }
    Ok(())
}

/// Asks at once what would be asked one after the other if there is no further group: those are
/// long runs, which are best made side by side.
async fn ask_together(
    oracle: &Oracle,
    universe: &[TestIndex],
    left_out: impl Iterator<Item = &BTreeSet<TestIndex>>,
    known: &[Group],
) -> Result<(), Stop> {
    if oracle.is_deterministic() {
        let unexplained = left_out.filter(|left_out| untouched(known, left_out).is_none());
        let prefixes: Vec<Vec<TestIndex>> = unexplained
            .take(oracle.lab().width())
            .map(|left_out| without_all(universe, left_out))
            .collect();
        oracle.ask_all(&prefixes).await?;
    }
    Ok(())
}

/// A known group that contains none of the tests left out.
fn untouched<'g>(known: &'g [Group], left_out: &BTreeSet<TestIndex>) -> Option<&'g Group> {
    known.iter().find(|group| group.iter().all(|test| !left_out.contains(test)))
}

fn without_all(universe: &[TestIndex], left_out: &BTreeSet<TestIndex>) -> Vec<TestIndex> {
    universe.iter().copied().filter(|test| !left_out.contains(test)).collect()
}

/// A group that has the effect when some tests are left out: a known one that contains none of
/// them, or else a new one, which is added to the known ones.
async fn group_left(
    oracle: &Oracle,
    universe: &[TestIndex],
    left_out: &BTreeSet<TestIndex>,
    known: &mut Vec<Group>,
) -> Result<Option<Group>, Stop> {
    if let Some(group) = untouched(known, left_out) {
        return Ok(Some(group.clone()));
    }
    let left = without_all(universe, left_out);
    if oracle.ask(&left).await? != Answer::Yes {
        return Ok(None);
    }
    let group = minimal_group(oracle, &left).await?;
    known.extend(group.clone());
    Ok(group)
}

/// All tests of `candidates` that, run between the group and the target, make the effect go away.
pub async fn all_cleaners(
    oracle: &Oracle,
    group: &[TestIndex],
    candidates: &[TestIndex],
) -> Result<Vec<TestIndex>, Stop> {
    let mut cleaners = Vec::new();
    // Cleaners of other targets first, one by one: usually there are no others.
    let known = oracle.lab().cleaners();
    let (likely, rest): (Vec<TestIndex>, Vec<TestIndex>) =
        candidates.iter().partition(|test| known.contains(test));
    let mut suspected: Vec<&[TestIndex]> = likely.chunks(1).collect();
    suspected.extend((!rest.is_empty()).then_some(&rest[..]));
    while !suspected.is_empty() {
        let prefixes: Vec<Vec<TestIndex>> =
            suspected.iter().map(|between| [group, between].concat()).collect();
        let answers = oracle.ask_all(&prefixes).await?;
        let mut halves = Vec::new();
        for (between, answer) in suspected.into_iter().zip(answers) {
            match (answer, between) {
                // A single test after which the target gives no evidence is no cleaner either.
                (Answer::Yes, _) | (Answer::Unsure, [_]) => (),
                (Answer::No, [cleaner]) => cleaners.push(*cleaner),
                (Answer::No | Answer::Unsure, _) => {
                    let (left, right) = between.split_at(between.len() / 2);
                    halves.extend([left, right]);
                }
            }
        }
        suspected = halves;
    }
    cleaners.sort_unstable();
    oracle.lab().add_cleaners(&cleaners);
    Ok(cleaners)
}
