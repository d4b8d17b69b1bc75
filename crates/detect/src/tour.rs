//! Where along a way through the suite does something happen to the target?
//!
//! A *tour* runs all other tests in one process and tries the target in between, after every few
//! tests ([`Repetition::Between`]). Two of them, forwards and backwards, usually contain the whole
//! answer. Suppose there is one polluter. Forwards the target passes until the stretch that
//! contains it and fails from there on; likewise backwards. The stretch is a few tests long; the
//! tests before it, on either tour, do not pollute; those after it do not clean. That is all there
//! is to know, for the price of two runs and the search of one short stretch. For a pair that acts
//! together, one tour shows the second test and the other tour the first.
//!
//! What a tour shows is a hint and not evidence: the target itself runs many times in it, and may
//! spoil or repair things. So groups and cleaners are named only after plain runs have shown them.
//! The known roles must then predict what every stop of every tour saw; a stop they do not predict
//! leads to the next role; and tests that no tour could judge (those behind a polluter on both) are
//! toured again without the known roles. If that does not come to an end, the tours are given up,
//! and the slow search ([`Roles::search`]) takes over.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::time::Duration;

use futures_util::future::try_join;
use unflake_model::{Group, Order, OrderControl, OutcomeKind, Repetition, TestIndex};

use crate::depth::Depth;
use crate::in_turn::confirm;
use crate::oracle::{Answer, Oracle, Stop};
use crate::roles::{Roles, universes};
use crate::search::{GROUPS_MAX, all_cleaners, all_groups, group_of, minimal_group};

/// Each round finds another role or ends the search.
const ROUNDS_MAX: usize = 2 * GROUPS_MAX;

/// The shortest stretch: with fewer tests, starting a process costs more than they do.
const STRIDE_MIN: usize = 4;

/// Trying the target may take up to this fraction of the time of a tour.
const TARGET_SHARE: u32 = 4;

/// A tour with fewer stops says too little.
const STOPS_MIN: usize = 16;

/// How long the target may take if nothing is known about the other tests.
const TARGET_TIME_MAX: Duration = Duration::from_millis(250);

/// Trying the target after each test of a stretch may always take this long: about as long as
/// starting a few processes.
const GLANCE_MAX: Duration = Duration::from_millis(30);

/// Whether tours found everything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Toured {
    /// What is known explains everything seen, and the first group is confirmed.
    Complete,
    /// The first group was found, and no other was wanted.
    Found,
    /// Something remains that groups and cleaners do not explain.
    Puzzled,
    /// No tours could be made, or they were not worth it.
    NotMade,
}

/// A way through tests, and what happened to the target along it.
#[derive(Clone, Debug)]
struct Tour {
    tests: Vec<TestIndex>,
    stops: Vec<Halt>,
}

/// A stop at which the target was tried.
#[derive(Clone, Copy, Debug)]
struct Halt {
    /// How many tests had run at the stop before.
    begin: usize,
    /// How many tests had run at this stop.
    end: usize,
    /// Whether the target ended differently than alone.
    has_effect: bool,
}

impl Tour {
    /// The test at which the effect was first seen, if the target was tried after each test.
    fn first_effect(&self) -> Option<TestIndex> {
        let halt = self.stops.iter().find(|halt| halt.has_effect)?;
        self.tests.get(halt.begin).copied()
    }

    fn stretch(&self, halt: Halt) -> &[TestIndex] {
        &self.tests[halt.begin..halt.end]
    }
}

/// Finds groups and cleaners by tours: all of them, or only the first group.
pub(crate) async fn search_by_tours(
    oracle: &Oracle,
    depth: Depth,
    roles: &mut Roles,
) -> Result<Toured, Stop> {
    let control = oracle.lab().suite().control();
    if control.orders != OrderControl::Exact || !control.repeats {
        // On a tour, the target runs between all other tests, and many times.
        return Ok(Toured::NotMade);
    }
    let [forwards, backwards] = universes(oracle.lab(), oracle.target(), &BTreeSet::new());
    let Some(stride) = stride(oracle, &forwards) else {
        return Ok(Toured::NotMade);
    };
    let both = try_join(tour(oracle, forwards, stride), tour(oracle, backwards, stride)).await?;
    let (Some(first), Some(second)) = both else {
        return Ok(Toured::NotMade);
    };
    let known = vec![first, second];
    let mut tours = Tours { oracle, stride, known, heals: false, is_confirmed: Cell::new(false) };
    if depth == Depth::Kind {
        let Some(riddle) = tours.riddle(roles) else {
            return Ok(Toured::NotMade);
        };
        let is_solved = tours.solve(riddle, roles).await?;
        return Ok(if is_solved { Toured::Found } else { Toured::Puzzled });
    }
    tours.search(roles).await
}

/// After how many tests to try the target: about the fourth root of their number, because what a
/// longer stretch saves on the way is lost in searching it; and less often if the target takes
/// long. `None` if tours are not worthwhile.
fn stride(oracle: &Oracle, tests: &[TestIndex]) -> Option<usize> {
    let suite = oracle.lab().suite();
    let stride = (tests.len().isqrt() / 4).max(STRIDE_MIN);
    let others: Duration = tests.iter().map(|test| suite.duration(*test)).sum();
    let target = suite.duration(oracle.target());
    if others.is_zero() {
        let took = oracle.lab().ledger().took_alone(oracle.target()).unwrap_or_default();
        return (took < TARGET_TIME_MAX && stride < tests.len()).then_some(stride);
    }
    let n_affordable = |share: Duration| {
        let n = share.as_nanos() / target.as_nanos().max(1);
        usize::try_from(n).unwrap_or(usize::MAX)
    };
    let n_stops = n_affordable(others / TARGET_SHARE).max(STOPS_MIN);
    let stride = stride.max(tests.len().div_ceil(n_stops));
    let is_worth_it = STOPS_MIN <= n_affordable(others) && stride < tests.len();
    is_worth_it.then_some(stride)
}

/// Makes a tour; `None` if it was cut short, or the target gave no evidence at some stop.
async fn tour(oracle: &Oracle, tests: Vec<TestIndex>, stride: usize) -> Result<Option<Tour>, Stop> {
    let order = Order::from_distinct(tests.as_slice());
    let repetition = Repetition::Between { test: oracle.target(), stride };
    let run = oracle.lab().run_repeated(order, repetition).await?;
    let is_whole = run.outcomes().all(|(_, outcome)| outcome != OutcomeKind::NotRun);
    let ends = run.outcomes().filter(|(test, _)| *test == oracle.target());
    let effects: Option<Vec<bool>> = ends.map(|(_, outcome)| oracle.is_effect(outcome)).collect();
    let Some(effects) = effects.filter(|_| is_whole) else {
        return Ok(None);
    };
    let n_tests = tests.len();
    let halt = |(number, has_effect): (usize, bool)| {
        let begin = number * stride;
        Halt { begin, end: (begin + stride).min(n_tests), has_effect }
    };
    let stops = effects.into_iter().enumerate().map(halt).collect();
    Ok(Some(Tour { tests, stops }))
}

/// Something that the known roles do not predict.
enum Riddle {
    /// The effect, without a known group to cause it.
    Effect { prefix: Vec<TestIndex>, stretch: Vec<TestIndex> },
    /// No effect, despite this group.
    Relief { group: Group, stretch: Vec<TestIndex> },
}

struct Tours<'o> {
    oracle: &'o Oracle,
    stride: usize,
    known: Vec<Tour>,
    /// Whether running the target itself undoes the effect.
    heals: bool,
    /// Whether the first group was tested again.
    is_confirmed: Cell<bool>,
}

impl Tours<'_> {
    async fn search(&mut self, roles: &mut Roles) -> Result<Toured, Stop> {
        for _ in 0..ROUNDS_MAX {
            if let Some(riddle) = self.riddle(roles) {
                // Where there are many roles, the verdict does not wait until the last of them is
                // found.
                self.confirm_first(roles).await?;
                if !self.solve(riddle, roles).await? {
                    return Ok(Toured::Puzzled);
                }
                continue;
            }
            let unseen = self.not_seen_to_be_innocent(roles);
            if !unseen.is_empty() {
                let Some(tour) = tour(self.oracle, unseen, self.stride).await? else {
                    return Ok(Toured::Puzzled);
                };
                self.known.push(tour);
                continue;
            }
            let n_groups = roles.groups.len();
            self.confirm_and_ask_the_rest(roles).await?;
            if n_groups == roles.groups.len() && self.riddle(roles).is_none() {
                return Ok(Toured::Complete);
            }
        }
        Ok(Toured::Puzzled)
    }

    /// For each stop of a tour, the number of the group that should have the effect there.
    fn predicted(&self, roles: &Roles, tour: &Tour) -> Vec<Option<usize>> {
        if self.heals {
            let afresh = |halt: &Halt| roles.predict(tour.stretch(*halt)).pop().flatten();
            return tour.stops.iter().map(afresh).collect();
        }
        let along = roles.predict(&tour.tests);
        tour.stops.iter().map(|halt| along[halt.end]).collect()
    }

    /// The first stop of a tour that has the effect although the known roles do not predict it, or
    /// lacks it although they do.
    fn first_riddle(&self, roles: &Roles, tour: &Tour) -> Option<(Halt, Option<usize>)> {
        let stops = tour.stops.iter().copied().zip(self.predicted(roles, tour));
        stops.into_iter().find(|(halt, predicted)| halt.has_effect != predicted.is_some())
    }

    fn riddle(&self, roles: &Roles) -> Option<Riddle> {
        self.known.iter().find_map(|tour| {
            let (halt, predicted) = self.first_riddle(roles, tour)?;
            let stretch = tour.stretch(halt).to_vec();
            Some(match predicted {
                None => Riddle::Effect { prefix: tour.tests[..halt.end].to_vec(), stretch },
                Some(group) => Riddle::Relief { group: roles.groups[group].clone(), stretch },
            })
        })
    }

    /// Whether another role was found that explains the riddle.
    async fn solve(&mut self, riddle: Riddle, roles: &mut Roles) -> Result<bool, Stop> {
        match riddle {
            Riddle::Effect { prefix, stretch } => {
                let mut group = self.group_at_a_glance(roles, &stretch).await?;
                if group.is_none() {
                    let Some(context) = self.context(roles, prefix, stretch).await? else {
                        return Ok(false);
                    };
                    group = minimal_group(self.oracle, &context).await?;
                }
                let group = group.filter(|group| !roles.groups.contains(group));
                let is_new = group.is_some();
                if let Some(group) = group {
                    roles.add_group(self.oracle, group).await?;
                }
                Ok(is_new)
            }
            Riddle::Relief { group, mut stretch } => {
                stretch.retain(|test| roles.groups.iter().flatten().all(|member| member != test));
                let cleaners = all_cleaners(self.oracle, &group, &stretch).await?;
                let is_news = roles.add_cleaners(&group, &cleaners);
                if !is_news && !self.heals {
                    self.heals = true;
                    return Ok(true);
                }
                Ok(is_news)
            }
        }
    }

    /// The one or two tests at which the effect begins if the target is tried after every test of a
    /// stretch, and of another tour's stretch, from either end; if they are a group. This takes two
    /// processes, where searching the stretch takes many.
    async fn group_at_a_glance(
        &self,
        roles: &Roles,
        stretch: &[TestIndex],
    ) -> Result<Option<Group>, Stop> {
        let tests = self.unions(roles, stretch).into_iter().max_by_key(Vec::len);
        let Some(tests) = tests.filter(|tests| self.is_quick(tests)) else { return Ok(None) };
        let backwards = tests.iter().rev().copied().collect();
        let both = try_join(tour(self.oracle, tests, 1), tour(self.oracle, backwards, 1)).await?;
        let (Some(one), Some(other)) = both else { return Ok(None) };
        let (Some(last), Some(first)) = (one.first_effect(), other.first_effect()) else {
            return Ok(None);
        };
        let group = if first == last { vec![first] } else { vec![first, last] };
        group_of(self.oracle, group).await
    }

    /// Whether trying the target after each of these takes little time compared with a tour.
    fn is_quick(&self, tests: &[TestIndex]) -> bool {
        let (lab, target) = (self.oracle.lab(), self.oracle.target());
        let known = lab.suite().duration(target);
        let took = || lab.ledger().took_alone(target).unwrap_or_default();
        let target = if known.is_zero() { took() } else { known };
        let on_tour: Duration =
            self.known[0].tests.iter().map(|test| lab.suite().duration(*test)).sum();
        let n_tests = u32::try_from(tests.len()).unwrap_or(u32::MAX);
        target.saturating_mul(n_tests) <= GLANCE_MAX.max(on_tour / TARGET_SHARE)
    }

    /// A short prefix with the effect: the stretch; or the stretch together with one of another
    /// tour where the effect came unexpectedly; or part of what came before it.
    async fn context(
        &self,
        roles: &Roles,
        prefix: Vec<TestIndex>,
        stretch: Vec<TestIndex>,
    ) -> Result<Option<Vec<TestIndex>>, Stop> {
        let unions = self.unions(roles, &stretch);
        // A single test is in a stretch of both tours. If these have no test in common, two tests
        // may act together, or each by itself: both are asked at once.
        let is_apart = |union: &&Vec<TestIndex>| union.len() == 2 * stretch.len();
        let ahead = unions.iter().filter(is_apart).take(self.oracle.lab().width() - 1).cloned();
        self.oracle
            .ask_all(&[stretch.clone()].into_iter().chain(ahead).collect::<Vec<_>>())
            .await?;
        for candidate in [stretch.clone()].into_iter().chain(unions) {
            if self.oracle.ask(&candidate).await? == Answer::Yes {
                return Ok(Some(candidate));
            }
        }
        if self.oracle.ask(&prefix).await? != Answer::Yes {
            return Ok(None);
        }
        let before = &prefix[..prefix.len() - stretch.len()];
        self.halved(before, &stretch).await.map(Some)
    }

    /// The stretch, united with that of each other tour at which the effect came unexpectedly.
    fn unions(&self, roles: &Roles, stretch: &[TestIndex]) -> Vec<Vec<TestIndex>> {
        let union = |other: &Tour| {
            let (halt, None) = self.first_riddle(roles, other)? else { return None };
            let mut union = [stretch, other.stretch(halt)].concat();
            union.sort_unstable();
            union.dedup();
            Some(union)
        };
        self.known.iter().filter_map(union).collect()
    }

    /// Halves the tests before the stretch as long as one half is enough.
    async fn halved(
        &self,
        before: &[TestIndex],
        stretch: &[TestIndex],
    ) -> Result<Vec<TestIndex>, Stop> {
        let mut kept = before;
        while self.stride < kept.len() {
            let (left, right) = kept.split_at(kept.len() / 2);
            let halves = [[left, stretch].concat(), [right, stretch].concat()];
            let answers = self.oracle.ask_all(&halves).await?;
            kept = match answers.iter().position(|answer| *answer == Answer::Yes) {
                Some(0) => left,
                Some(_) => right,
                None => break,
            };
        }
        Ok([kept, stretch].concat())
    }

    /// Does both at once: a few long runs, and many short ones to fill the gaps.
    async fn confirm_and_ask_the_rest(&self, roles: &mut Roles) -> Result<(), Stop> {
        let before = roles.clone();
        try_join(self.ask_the_rest(roles), self.confirm_first(&before)).await.map(|_| ())
    }

    /// Tests the first group again, once.
    async fn confirm_first(&self, roles: &Roles) -> Result<(), Stop> {
        match roles.groups.first() {
            Some(group) if !self.is_confirmed.replace(true) => confirm(self.oracle, group).await,
            _ => Ok(()),
        }
    }

    /// Asks what tours leave open: cleaners among tests about which no tour says; groups that only
    /// past runs show; and groups that enclose another one on both tours and so never acted alone.
    async fn ask_the_rest(&self, roles: &mut Roles) -> Result<(), Stop> {
        if roles.effect_is_failing {
            for group in roles.groups.clone() {
                let candidates = self.not_seen_to_leave_it(roles, &group);
                let cleaners = all_cleaners(self.oracle, &group, &candidates).await?;
                roles.add_cleaners(&group, &cleaners);
            }
        }
        roles.explain_past_runs(self.oracle).await?;
        let cleaners = roles.all_cleaners();
        let [forwards, _] = universes(self.oracle.lab(), self.oracle.target(), &cleaners);
        all_groups(self.oracle, &forwards, &mut roles.groups).await
    }

    /// Tests without a role that no tour has shown to be innocent, by the target ending after them
    /// as it does alone, with no cleaner in between.
    fn not_seen_to_be_innocent(&self, roles: &Roles) -> Vec<TestIndex> {
        let cleaners = roles.all_cleaners();
        let mut open: BTreeSet<TestIndex> = self.known[0].tests.iter().copied().collect();
        for tour in &self.known {
            for halt in tour.stops.iter().filter(|halt| !halt.has_effect) {
                let stretch = tour.stretch(*halt).iter().rev();
                for test in stretch.take_while(|test| !cleaners.contains(test)) {
                    open.remove(test);
                }
            }
        }
        let has_role = |test: &TestIndex| {
            cleaners.contains(test) || roles.groups.iter().flatten().any(|member| member == test)
        };
        open.into_iter().filter(|test| !has_role(test)).collect()
    }

    /// Tests that may clean up after a group: no tour has shown the effect, explained by this group
    /// only, both before and after them.
    fn not_seen_to_leave_it(&self, roles: &Roles, group: &Group) -> Vec<TestIndex> {
        let mut open: BTreeSet<TestIndex> = self.known[0].tests.iter().copied().collect();
        for tour in self.known.iter().filter(|_| !self.heals) {
            let active = roles.active_alone(group, &tour.tests);
            let mut had_effect = false;
            for halt in &tour.stops {
                if had_effect && halt.has_effect && active[halt.begin] && active[halt.end] {
                    for test in tour.stretch(*halt) {
                        open.remove(test);
                    }
                }
                had_effect = halt.has_effect;
            }
        }
        for test in roles.groups.iter().flatten() {
            open.remove(test);
        }
        for test in roles.cleaners_of(group) {
            open.remove(&test);
        }
        open.into_iter().collect()
    }
}
