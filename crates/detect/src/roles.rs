//! Which roles do tests have around a target: all groups with the effect, and all cleaners.
//!
//! There are two ways. [`Roles::search`] asks few questions and may miss a group that cleaners hide
//! in every arrangement it looks at and in every run so far. [`Roles::sweep`] asks about every
//! single test in its own process, as the literature does; [`crate::apart`] does so in few
//! processes.

use std::collections::{BTreeMap, BTreeSet};

use unflake_model::random::Random;
use unflake_model::{CleanersOf, Dependencies, Evidence, Group, TestIndex};

use crate::lab::Lab;
use crate::ledger::Sighting;
use crate::oracle::{Answer, Oracle, Stop};
use crate::search::{all_cleaners, all_groups, groups_max, minimal_group};

/// How many random arrangements of all other tests are searched for further groups.
const N_SHUFFLED: usize = 4;

/// The arrangements tried before the random ones: forwards and backwards.
const N_UNSHUFFLED: usize = 2;

/// What is known about the tests that a target depends on.
#[derive(Clone, Debug, Default)]
pub(crate) struct Roles {
    /// Groups that have the effect: polluters of a victim, state-setters of a brittle.
    pub(crate) groups: Vec<Group>,
    /// The cleaners of each group, as far as they were searched for.
    pub(crate) cleaners: Vec<CleanersOf>,
    /// Whether the effect is that the target fails.
    pub(crate) effect_is_failing: bool,
    /// Groups whose members act together in any order.
    unordered: BTreeSet<Group>,
}

impl Roles {
    /// The dependencies in a canonical order, whatever the order of discovery.
    pub(crate) fn into_dependencies(mut self) -> Dependencies {
        self.groups.sort();
        self.cleaners.sort_by(|a, b| a.polluters.cmp(&b.polluters));
        if !self.effect_is_failing {
            return Dependencies { state_setters: self.groups, ..Dependencies::default() };
        }
        let Self { groups: polluters, cleaners, .. } = self;
        Dependencies { polluters, cleaners, state_setters: vec![] }
    }

    /// Adds a group, after finding out whether its members also act in the reverse order.
    pub(crate) async fn add_group(&mut self, oracle: &Oracle, group: Group) -> Result<(), Stop> {
        if 1 < group.len() {
            let reversed: Group = group.iter().rev().copied().collect();
            if oracle.ask(&reversed).await? == Answer::Yes {
                self.unordered.insert(group.clone());
            }
        }
        self.groups.push(group);
        Ok(())
    }

    /// Adds cleaners of a group; returns whether any of them is new.
    pub(crate) fn add_cleaners(&mut self, group: &Group, cleaners: &[TestIndex]) -> bool {
        let place = self.cleaners.iter().position(|c| c.polluters == *group);
        let place = place.unwrap_or_else(|| {
            self.cleaners.push(CleanersOf { polluters: group.clone(), cleaners: vec![] });
            self.cleaners.len() - 1
        });
        let known = &mut self.cleaners[place].cleaners;
        let n_known = known.len();
        known.extend(cleaners);
        known.sort_unstable();
        known.dedup();
        n_known < known.len()
    }

    /// The cleaners of all groups.
    pub(crate) fn all_cleaners(&self) -> BTreeSet<TestIndex> {
        self.cleaners.iter().flat_map(|c| c.cleaners.iter().copied()).collect()
    }

    /// The cleaners of one group.
    pub(crate) fn cleaners_of(&self, group: &Group) -> BTreeSet<TestIndex> {
        let of_group = self.cleaners.iter().filter(|c| c.polluters == *group);
        of_group.flat_map(|c| c.cleaners.iter().copied()).collect()
    }

    /// Before the first of these tests and after each of them: whether the group's effect is there,
    /// not yet undone by a cleaner.
    fn is_active(&self, group: &Group, tests: &[TestIndex]) -> Vec<bool> {
        let cleaners = self.cleaners_of(group);
        let is_unordered = self.unordered.contains(group);
        let mut missing: Vec<TestIndex> = group.iter().rev().copied().collect();
        let mut active = vec![false];
        let mut is_active = false;
        for test in tests {
            let place = missing.iter().rposition(|member| member == test);
            let is_last = place.is_some_and(|place| place + 1 == missing.len());
            match place {
                Some(place) if is_unordered || is_last => {
                    missing.remove(place);
                    is_active |= missing.is_empty();
                }
                _ => is_active &= !cleaners.contains(test),
            }
            active.push(is_active);
        }
        active
    }

    /// Before the first of these tests and after each of them: the number of the group whose effect
    /// is there, if any.
    pub(crate) fn predict(&self, tests: &[TestIndex]) -> Vec<Option<usize>> {
        let mut predicted = vec![None; tests.len() + 1];
        for (number, group) in self.groups.iter().enumerate() {
            for (place, is_active) in self.is_active(group, tests).into_iter().enumerate() {
                if is_active && predicted[place].is_none() {
                    predicted[place] = Some(number);
                }
            }
        }
        predicted
    }

    /// At the same places, whether only this group's effect is there.
    pub(crate) fn active_alone(&self, group: &Group, tests: &[TestIndex]) -> Vec<bool> {
        let mut alone = self.is_active(group, tests);
        for other in self.groups.iter().filter(|other| *other != group) {
            for (place, is_active) in self.is_active(other, tests).into_iter().enumerate() {
                alone[place] &= !is_active;
            }
        }
        alone
    }

    /// Whether the known groups and cleaners predict the effect after this prefix: it contains a
    /// group, with none of the group's cleaners after it.
    fn explains(&self, prefix: &[TestIndex]) -> bool {
        self.groups.iter().any(|group| self.is_active(group, prefix).pop() == Some(true))
    }

    /// Searches for groups, as far as cleaners do not hide them; for cleaners of known polluters;
    /// then, with all these cleaners left out, for groups again; until nothing new turns up.
    pub(crate) async fn search(&mut self, oracle: &Oracle) -> Result<(), Stop> {
        loop {
            let n_groups = self.groups.len();
            let n_enders = oracle.lab().ledger().process_enders().len();
            if oracle.is_deterministic() {
                self.explain_past_runs(oracle).await?;
            }
            let cleaners = self.all_cleaners();
            let mut universes = arrangements(oracle, &cleaners);
            if self.are_others_innocent(oracle, &cleaners) {
                universes.truncate(N_UNSHUFFLED);
            }
            for universe in universes {
                all_groups(oracle, &universe, &mut self.groups).await?;
            }
            // If a test turned out to end the process, arrangements without it are tried again.
            let is_stable = n_groups == self.groups.len()
                && n_enders == oracle.lab().ledger().process_enders().len();
            let has_cleaners = !self.effect_is_failing || n_groups == self.cleaners.len();
            if is_stable && has_cleaners {
                return Ok(());
            }
            if self.effect_is_failing {
                self.find_cleaners(oracle).await?;
            }
        }
    }

    /// Whether past runs have shown for every test without a role what shuffled arrangements would
    /// show: that the target ends after it as it does alone, with no known cleaner in between. If a
    /// target has many siblings, the arrangements made for them have shown it.
    fn are_others_innocent(&self, oracle: &Oracle, cleaners: &BTreeSet<TestIndex>) -> bool {
        if !oracle.is_deterministic() {
            return false;
        }
        let with_a_role: BTreeSet<TestIndex> =
            self.groups.iter().flatten().chain(cleaners).copied().collect();
        let [others, _] = universes(oracle.lab(), oracle.target(), &with_a_role);
        let alone = if self.effect_is_failing { Evidence::Pass } else { Evidence::Fail };
        let ledger = oracle.lab().ledger();
        let prefixes: BTreeSet<&[TestIndex]> = ledger
            .attempts(oracle.target())
            .filter(|attempt| attempt.evidence == alone)
            .map(Sighting::prefix)
            .collect();
        let mut n_seen: BTreeMap<TestIndex, usize> = BTreeMap::new();
        for prefix in prefixes {
            for test in prefix.iter().rev().take_while(|test| !cleaners.contains(test)) {
                *n_seen.entry(*test).or_default() += 1;
            }
        }
        others.iter().all(|test| n_seen.get(test).is_some_and(|n| N_SHUFFLED <= *n))
    }

    /// Past runs that showed the effect although no known group explains it contain another group.
    pub(crate) async fn explain_past_runs(&mut self, oracle: &Oracle) -> Result<(), Stop> {
        let effect = if self.effect_is_failing { Evidence::Fail } else { Evidence::Pass };
        while self.groups.len() < groups_max(oracle.is_deterministic()) {
            let riddle = {
                let ledger = oracle.lab().ledger();
                let environment = oracle.lab().environment();
                let is_effect =
                    |it: &&Sighting| it.evidence == effect && it.environment() == environment;
                let mut effects = ledger.attempts(oracle.target()).filter(is_effect);
                effects.find(|a| !self.explains(a.prefix())).map(|a| a.prefix().to_vec())
            };
            let Some(prefix) = riddle else {
                return Ok(());
            };
            match minimal_group(oracle, &prefix).await? {
                Some(group) if !self.groups.contains(&group) => {
                    self.add_group(oracle, group).await?;
                }
                // This is chance, or more than groups and cleaners can describe.
                _ => return Ok(()),
            }
        }
        Ok(())
    }

    /// Searches for the cleaners of every group, among all tests that are not known to pollute.
    async fn find_cleaners(&mut self, oracle: &Oracle) -> Result<(), Stop> {
        let polluters: BTreeSet<TestIndex> = self.groups.iter().flatten().copied().collect();
        let [candidates, _] = universes(oracle.lab(), oracle.target(), &polluters);
        self.cleaners.clear();
        for group in self.groups.clone() {
            let cleaners = all_cleaners(oracle, &group, &candidates).await?;
            self.add_cleaners(&group, &cleaners);
        }
        Ok(())
    }

    /// The one-by-one procedure of spec 2.3: tries every single test as polluter or state-setter,
    /// then, for each polluter, every other test as its cleaner.
    pub(crate) async fn sweep(&mut self, oracle: &Oracle) -> Result<(), Stop> {
        let others = others(oracle);
        for single in all_singles(oracle).await? {
            if !self.groups.contains(&single) {
                self.groups.push(single);
            }
        }
        if !self.effect_is_failing {
            return Ok(());
        }
        for group in self.groups.clone() {
            let between = others.iter().filter(|test| !group.contains(test));
            let triples: Vec<Vec<TestIndex>> =
                between.map(|test| [group.as_slice(), &[*test]].concat()).collect();
            let answers = oracle.ask_all(&triples).await?;
            let cleaners = triples.iter().zip(answers).filter(|(_, answer)| *answer == Answer::No);
            let cleaners: Vec<TestIndex> =
                cleaners.filter_map(|(triple, _)| triple.last().copied()).collect();
            self.add_cleaners(&group, &cleaners);
        }
        Ok(())
    }
}

/// Every single test that has the effect.
pub(crate) async fn all_singles(oracle: &Oracle) -> Result<Vec<Group>, Stop> {
    those_with_effect(oracle, others(oracle).into_iter().map(|test| vec![test]).collect()).await
}

/// The groups, among these, that have the effect.
pub(crate) async fn those_with_effect(
    oracle: &Oracle,
    groups: Vec<Group>,
) -> Result<Vec<Group>, Stop> {
    let answers = oracle.ask_all(&groups).await?;
    let has_effect = |(group, answer)| (answer == Answer::Yes).then_some(group);
    Ok(groups.into_iter().zip(answers).filter_map(has_effect).collect())
}

pub(crate) fn others(oracle: &Oracle) -> Vec<TestIndex> {
    oracle.lab().suite().tests().filter(|test| *test != oracle.target()).collect()
}

/// All other tests except some, in several arrangements: a polluter that a cleaner hides in one of
/// them is unlikely to be hidden in all.
pub(crate) fn arrangements(oracle: &Oracle, left_out: &BTreeSet<TestIndex>) -> Vec<Vec<TestIndex>> {
    let [forwards, backwards] = universes(oracle.lab(), oracle.target(), left_out);
    if oracle.lab().suite().keeps_order() {
        return vec![forwards];
    }
    let shuffled = |number| {
        let mut tests = forwards.clone();
        Random::labelled(oracle.target().get() as u64, &[number as u64]).shuffle(&mut tests);
        tests
    };
    let shuffled: Vec<Vec<TestIndex>> = (0..N_SHUFFLED).map(shuffled).collect();
    [vec![forwards, backwards], shuffled].concat()
}

/// All other tests in their original order, and reversed; except those that end the process, since
/// nothing would be learnt after them. If the runner imposes its own order, both are the tests that
/// it runs before the target, in that order.
pub(crate) fn universes(
    lab: &Lab,
    target: TestIndex,
    left_out: &BTreeSet<TestIndex>,
) -> [Vec<TestIndex>; 2] {
    let ledger = lab.ledger();
    let enders = ledger.process_enders();
    let is_wanted =
        |test: &TestIndex| *test != target && !left_out.contains(test) && !enders.contains(test);
    let wanted: Vec<TestIndex> = lab.suite().tests().filter(is_wanted).collect();
    if lab.suite().keeps_order() {
        let before = lab.suite().arranged(&wanted, target);
        return [before.clone(), before];
    }
    let backwards = wanted.iter().rev().copied().collect();
    [wanted, backwards]
}
