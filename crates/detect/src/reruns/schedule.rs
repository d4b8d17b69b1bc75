//! Which tests are worth running again, and together with which?
//!
//! A run of several tests in one process costs the start of the process and the time of its tests.
//! For each test the belief gives the chance that its next run unveils it. The batch with the most
//! expected detections per second is found by taking tests in the order of chance over time, for as
//! long as each raises the detections per second: that is the best of all subsets, the whole suite
//! included. So no batch is expected to find less for its time than rerunning everything would;
//! where everything is equally promising, the batch *is* everything.
//!
//! Beliefs come from other projects and may be wrong here. Tests are grouped (by what they are
//! exposed to and how long they take), and what was found in each group is compared with what was
//! expected: the group's chances are multiplied by `(S + found) / (S + expected)`. A group that was
//! overrated moves back, one that was underrated moves up.
//!
//! A suite that takes only a moment is run whole for the first few seconds ([`Terms::opening`]):
//! the groups of a small suite are too small to teach anything, and the random test may well be the
//! one that takes as long as all others together. It would be left for last, to save a second.
//!
//! What a test is exposed to may become known at any time ([`Schedule::expose`]). It need not be
//! known before the first rerun: tracing costs time too, and is best spent on the second run of a
//! test, when it is known that there is one.
//!
//! Choosing costs `log n` for each test chosen: each group has a heap. Entries that have become
//! void are left in and skipped when they come up.
//!
//! Limits: a test is assumed to cost the same in each run, and shared fixtures to cost nothing.
//! Runs are assumed to be independent; failures in bursts take longer to be seen.

use std::collections::{BTreeMap, BinaryHeap};
use std::time::Duration;

use unflake_model::{Evidence, OutcomeKind, Tally, TestIndex};

use super::belief::{Belief, Prior, Streak};

/// Detections, both found and expected, that each group starts with before its own are counted.
const STRENGTH: f64 = 1.0;

/// No test is taken to be shorter: below this, measurements are noise of the clock.
const SECONDS_MIN: f64 = 1e-4;

/// The boundaries between classes of run times, in seconds.
const DURATION_CLASSES: [f64; 3] = [0.004, 0.1, 1.0];

/// Published shares (characteristic-functions spec): 543 of 10,511 tests fail at random; 92.27 % of
/// those, and 43.82 % of all, call a characteristic function.
const FLAKY: f64 = 543.0 / 10_511.0;
const FLAKY_IF_EXPOSED: f64 = FLAKY * 0.9227 / 0.4382;
const FLAKY_IF_NOT: f64 = FLAKY * (1.0 - 0.9227) / (1.0 - 0.4382);

/// The share among tests that passed and failed in earlier campaigns.
const FLAKY_IF_SEEN: f64 = 0.5;

/// The share of tests that always fail. A green suite has none, which makes a failure in the first
/// run all the more interesting.
const BROKEN: f64 = 0.01;

/// Whether a test calls functions that can make it fail at random.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Exposure {
    /// The test was not traced.
    #[default]
    Unknown,
    /// It calls no such function.
    Nothing,
    /// It calls a function with this root cause.
    Cause(String),
}

/// What is known about a test before it is rerun.
#[derive(Clone, Debug, Default)]
pub struct Candidate {
    /// The time it takes.
    pub duration: Duration,
    /// The functions it is exposed to.
    pub exposure: Exposure,
    /// How it fared in earlier campaigns, whatever the code was.
    pub history: Tally,
}

impl Candidate {
    fn prior(&self) -> Prior {
        let flaky = match &self.exposure {
            _ if self.history.is_mixed() => FLAKY_IF_SEEN,
            Exposure::Unknown => FLAKY,
            Exposure::Nothing => FLAKY_IF_NOT,
            Exposure::Cause(_) => FLAKY_IF_EXPOSED,
        };
        Prior { flaky, broken: BROKEN }
    }

    /// Passes in earlier campaigns count half: the code may have been different.
    fn streak(&self) -> Streak {
        let passes = if self.history.failures == 0 { self.history.attempts / 2 } else { 0 };
        let length = u32::try_from(passes).unwrap_or(u32::MAX);
        Streak { shown: (0 < length).then_some(Evidence::Pass), length }
    }

    fn seconds(&self) -> f64 {
        self.duration.as_secs_f64().max(SECONDS_MIN)
    }

    fn kind(&self) -> Kind {
        let class = DURATION_CLASSES.iter().filter(|end| **end <= self.seconds()).count();
        (self.exposure.clone(), class, self.history.is_mixed())
    }
}

/// The cost of a run, and when to stop.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Terms {
    /// The time it takes to start a process.
    pub overhead: Duration,
    /// For at most this long, each batch runs everything, before anything is chosen.
    pub opening: Duration,
    /// Stop when a detection is expected to take longer than this; `None` sets no limit.
    pub price: Option<Duration>,
    /// Stop when at most this share of the random tests is expected to be still hidden; `None` sets
    /// no limit.
    pub missed: Option<f64>,
}

impl Terms {
    /// Runs in a forked process, without a limit.
    pub const FORKED: Self = Self {
        overhead: Duration::from_millis(10),
        opening: Duration::from_secs(2),
        price: None,
        missed: None,
    };
}

/// Why no further test is rerun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Done {
    /// Every test is unveiled.
    AllFound,
    /// The next detection is expected to exceed the price.
    TooDear,
    /// Few enough tests are expected to be hidden.
    FewHidden,
}

/// What tests of one group have in common: exposure, class of run time, and whether they were seen
/// to fail at random before.
type Kind = (Exposure, usize, bool);

/// What is known about a test so far.
#[derive(Clone, Debug)]
struct Standing {
    candidate: Candidate,
    prior: Prior,
    streak: Streak,
    /// How it ended before; `None` as long as it was skipped.
    seen: Option<Evidence>,
    seconds: f64,
    group: usize,
    /// Runs that were asked for and not told yet.
    n_pending: u32,
    is_found: bool,
    /// Changes with every entry put into the heap; entries with an older version are void.
    version: u32,
}

/// A test in the heap: the chance to unveil it with its next run, divided by its time.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Entry {
    promise: f64,
    chance: f64,
    test: usize,
    version: u32,
}

impl Eq for Entry {}

impl Ord for Entry {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.promise.total_cmp(&other.promise).then(other.test.cmp(&self.test))
    }
}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

/// Similar tests, so that findings in some say something about the others.
#[derive(Clone, Debug, Default)]
struct Group {
    heap: BinaryHeap<Entry>,
    n_found: f64,
    n_expected: f64,
    /// How many random tests were expected among those not unveiled, before anything was learnt.
    n_hidden: f64,
}

impl Group {
    /// The ratio by which its chances are better than believed.
    fn factor(&self) -> f64 {
        (STRENGTH + self.n_found) / (STRENGTH + self.n_expected)
    }
}

/// All tests, with what is known about them and the next batch.
#[derive(Clone, Debug)]
pub struct Schedule {
    belief: Belief,
    terms: Terms,
    tests: Vec<Standing>,
    groups: Vec<Group>,
    kinds: BTreeMap<Kind, usize>,
    n_found: usize,
    /// The seconds left of the opening.
    opening: f64,
}

impl Schedule {
    /// A schedule for tests by their position in the suite, none of them run yet.
    pub fn new(candidates: &[Candidate], belief: Belief, terms: Terms) -> Self {
        let standing = |candidate: &Candidate| Standing {
            candidate: candidate.clone(),
            prior: candidate.prior(),
            streak: candidate.streak(),
            seen: None,
            seconds: candidate.seconds(),
            group: 0,
            n_pending: 0,
            is_found: false,
            version: 0,
        };
        let tests = candidates.iter().map(standing).collect();
        let (groups, kinds) = (Vec::new(), BTreeMap::new());
        let opening = terms.opening.as_secs_f64();
        let mut schedule = Self { belief, terms, tests, groups, kinds, n_found: 0, opening };
        (0..candidates.len()).for_each(|test| schedule.join(test));
        schedule
    }

    /// Puts a test into the group of its kind.
    fn join(&mut self, test: usize) {
        let n_groups = self.groups.len();
        let group = *self.kinds.entry(self.tests[test].candidate.kind()).or_insert(n_groups);
        if group == n_groups {
            self.groups.push(Group::default());
        }
        self.tests[test].group = group;
        self.groups[group].n_hidden += self.flaky(test);
        self.enter(test);
    }

    /// Takes what a test turns out to be exposed to, at any time.
    pub fn expose(&mut self, test: TestIndex, exposure: Exposure) {
        let test = test.get();
        let hidden = self.flaky(test);
        let standing = &mut self.tests[test];
        if standing.is_found {
            return;
        }
        self.groups[standing.group].n_hidden -= hidden;
        standing.candidate.exposure = exposure;
        standing.prior = standing.candidate.prior();
        self.join(test);
    }

    /// The tests to run together next, most promising first.
    pub fn next_batch(&mut self) -> Result<Vec<TestIndex>, Done> {
        if self.n_found == self.tests.len() {
            return Err(Done::AllFound);
        }
        if self.terms.missed.is_some_and(|share| self.missed() <= share) {
            return Err(Done::FewHidden);
        }
        let is_opening = self.opens();
        let (chosen, gain, seconds) = self.choose(is_opening);
        let is_dear = |price: Duration| gain * price.as_secs_f64() < seconds;
        if !is_opening && self.terms.price.is_some_and(is_dear) {
            for test in chosen {
                self.enter(test);
            }
            return Err(Done::TooDear);
        }
        for test in &chosen {
            self.tests[*test].n_pending += 1;
            // Until told otherwise it is assumed to end as before, so that it can be asked for
            // again.
            self.enter(*test);
        }
        Ok(chosen.into_iter().map(TestIndex::new).collect())
    }

    /// Whether everything is to be run; if so, takes the time for it off the opening.
    fn opens(&mut self) -> bool {
        if self.opening <= 0.0 {
            return false;
        }
        let open = self.tests.iter().filter(|standing| !standing.is_found);
        let seconds: f64 = open.map(|standing| standing.seconds).sum();
        // A run that does not fit is not tried again: the opening is over.
        self.opening -= self.terms.overhead.as_secs_f64() + seconds;
        0.0 <= self.opening
    }

    /// Takes the tests of the best batch, or all tests, out of their heaps; returns them with the
    /// detections expected of them, and their time.
    fn choose(&mut self, is_opening: bool) -> (Vec<usize>, f64, f64) {
        let (mut chosen, mut gain) = (Vec::new(), 0.0);
        let mut seconds = self.terms.overhead.as_secs_f64();
        while let Some((group, factor, entry)) = self.best() {
            if !is_opening && factor * entry.promise * seconds < gain {
                break;
            }
            self.groups[group].heap.pop();
            gain += factor * entry.chance;
            seconds += self.tests[entry.test].seconds;
            chosen.push(entry.test);
        }
        (chosen, gain, seconds)
    }

    /// The most promising test: its group, the factor for that group's chances, and its entry.
    fn best(&mut self) -> Option<(usize, f64, Entry)> {
        let mut best: Option<(usize, f64, Entry)> = None;
        for (index, group) in self.groups.iter_mut().enumerate() {
            let is_void = |entry: &Entry| self.tests[entry.test].version != entry.version;
            while group.heap.peek().is_some_and(is_void) {
                group.heap.pop();
            }
            let (factor, Some(entry)) = (group.factor(), group.heap.peek()) else { continue };
            if best.is_none_or(|(_, its, best)| its * best.promise < factor * entry.promise) {
                best = Some((index, factor, *entry));
            }
        }
        best
    }

    /// Puts a test into its heap anew; its earlier entries become void.
    fn enter(&mut self, test: usize) {
        let standing = &mut self.tests[test];
        standing.version += 1;
        if standing.is_found {
            return;
        }
        let &mut Standing { prior, streak, seconds, group, n_pending, version, .. } = standing;
        let ahead = Streak { length: streak.length.saturating_add(n_pending), ..streak };
        let chance = self.belief.flaky(prior, ahead) * self.belief.unveiling(ahead);
        self.groups[group].heap.push(Entry { promise: chance / seconds, chance, test, version });
    }

    fn flaky(&self, test: usize) -> f64 {
        let Standing { prior, streak, .. } = &self.tests[test];
        self.belief.flaky(*prior, *streak)
    }

    /// Takes how a test ended, even if it was not asked for. Returns whether that unveils it: it
    /// was seen both to pass and to fail.
    pub fn tell(&mut self, test: TestIndex, outcome: OutcomeKind) -> bool {
        let test = test.get();
        let standing = &mut self.tests[test];
        standing.n_pending = standing.n_pending.saturating_sub(1);
        if standing.is_found {
            return false;
        }
        if outcome == OutcomeKind::NotRun {
            self.enter(test);
            return false;
        }
        let before = self.flaky(test);
        let &Standing { streak, seen, group, .. } = &self.tests[test];
        if streak.shown.is_some() {
            self.groups[group].n_expected += before * self.belief.unveiling(streak);
        }
        let evidence = outcome.evidence();
        let is_found = seen.zip(evidence).is_some_and(|(seen, now)| seen != now);
        let standing = &mut self.tests[test];
        standing.is_found = is_found;
        standing.seen = evidence.or(seen);
        // A test that was skipped has shown nothing, but will most likely be skipped again.
        let shown = evidence.or(streak.shown).or(Some(Evidence::Pass));
        let is_same = streak.shown.is_none_or(|before| Some(before) == shown);
        let length = if is_same { streak.length.saturating_add(1) } else { 1 };
        standing.streak = Streak { shown, length };
        let after = if is_found { 0.0 } else { self.flaky(test) };
        let group = &mut self.groups[group];
        group.n_hidden += after - before;
        group.n_found += f64::from(u8::from(is_found));
        self.n_found += usize::from(is_found);
        self.enter(test);
        is_found
    }

    /// How many tests were unveiled.
    pub fn n_found(&self) -> usize {
        self.n_found
    }

    /// The fewest runs of any test that was not unveiled; `None` if all were.
    pub fn fewest_runs(&self) -> Option<u64> {
        let open = self.tests.iter().filter(|standing| !standing.is_found);
        open.map(|standing| u64::from(standing.streak.length)).min()
    }

    /// How many random tests are expected to be still hidden.
    pub fn hidden(&self) -> f64 {
        self.groups.iter().map(|group| group.factor() * group.n_hidden).sum::<f64>().max(0.0)
    }

    /// The share of random tests that is expected to be still hidden.
    pub fn missed(&self) -> f64 {
        let hidden = self.hidden();
        hidden / (hidden + self.n_found as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reruns::belief::Rates;
    use proptest::prelude::*;
    use unflake_model::random::Random;

    /// Terms without an opening.
    const CHOOSING: Terms = Terms { opening: Duration::ZERO, ..Terms::FORKED };

    fn candidate(ms: u64, exposure: Exposure) -> Candidate {
        Candidate { duration: Duration::from_millis(ms), exposure, ..Candidate::default() }
    }

    fn schedule(candidates: &[Candidate], terms: Terms) -> Schedule {
        Schedule::new(candidates, Belief::new(&Rates::PUBLISHED), terms)
    }

    fn pass(schedule: &mut Schedule, batch: &[TestIndex]) {
        for test in batch {
            schedule.tell(*test, OutcomeKind::Passed);
        }
    }

    fn positions(batch: &[TestIndex]) -> Vec<usize> {
        let mut tests: Vec<usize> = batch.iter().map(|test| test.get()).collect();
        tests.sort_unstable();
        tests
    }

    #[test]
    fn where_all_are_alike_the_batch_is_everything() {
        let mut schedule = schedule(&vec![candidate(50, Exposure::Unknown); 30], CHOOSING);
        for _ in 0..3 {
            let batch = schedule.next_batch().unwrap();
            assert_eq!(positions(&batch), (0..30).collect::<Vec<_>>());
            for test in batch {
                assert!(!schedule.tell(test, OutcomeKind::Passed));
            }
        }
    }

    #[test]
    fn the_quick_and_the_exposed_come_first_and_the_slow_in_their_time() {
        let mut candidates = vec![candidate(5, Exposure::Unknown); 20];
        candidates.push(candidate(60_000, Exposure::Unknown));
        let mut schedule = schedule(&candidates, CHOOSING);
        let mut first_with_slow = None;
        for n_batch in 0..2000 {
            let batch = schedule.next_batch().unwrap();
            if batch.contains(&TestIndex::new(20)) {
                first_with_slow = Some(n_batch);
                break;
            }
            pass(&mut schedule, &batch);
        }
        let n_batches = first_with_slow.expect("the slow one is run when the others are tired");
        assert!(10 < n_batches, "{n_batches}");
    }

    #[test]
    fn a_quick_suite_is_run_whole_for_a_moment_and_a_long_one_is_not() {
        let mut candidates = vec![candidate(1, Exposure::Unknown); 40];
        candidates.push(candidate(45, Exposure::Nothing));
        let is_whole = |batch: &[TestIndex]| batch.len() == 41;
        let mut quick = schedule(&candidates, Terms::FORKED);
        // Runs of the whole suite take 95 ms each.
        let mut n_whole = 0;
        loop {
            let batch = quick.next_batch().unwrap();
            if !is_whole(&batch) {
                break;
            }
            n_whole += 1;
            pass(&mut quick, &batch);
        }
        assert_eq!(n_whole, 21);
        let chosen = schedule(&candidates, CHOOSING).next_batch().unwrap();
        assert!(!is_whole(&chosen), "it is not what would be chosen");
        candidates.push(candidate(2000, Exposure::Nothing));
        assert!(schedule(&candidates, Terms::FORKED).next_batch().unwrap().len() < 41);
    }

    #[test]
    fn a_test_that_was_seen_to_do_both_is_not_run_again() {
        let mut schedule = schedule(&vec![candidate(5, Exposure::Unknown); 2], CHOOSING);
        let (a, b) = (TestIndex::new(0), TestIndex::new(1));
        assert!(!schedule.tell(a, OutcomeKind::Passed));
        assert!(schedule.tell(a, OutcomeKind::TimedOut), "a timeout is a failure");
        assert!(!schedule.tell(a, OutcomeKind::Passed), "it is unveiled once");
        assert_eq!(schedule.next_batch().unwrap(), [b]);
        assert!(!schedule.tell(b, OutcomeKind::Skipped));
        assert!(!schedule.tell(b, OutcomeKind::Failed), "a skip is not a pass");
        assert!(schedule.tell(b, OutcomeKind::Passed));
        assert_eq!(schedule.next_batch(), Err(Done::AllFound));
    }

    #[test]
    fn a_test_that_was_never_started_has_shown_nothing() {
        let mut schedule = schedule(&[candidate(5, Exposure::Unknown)], CHOOSING);
        let hidden = schedule.hidden();
        let test = schedule.next_batch().unwrap()[0];
        assert!(!schedule.tell(test, OutcomeKind::NotRun));
        assert!((schedule.hidden() - hidden).abs() < 1e-12);
        assert_eq!(schedule.next_batch().unwrap(), [test]);
    }

    #[test]
    fn a_failure_makes_its_test_the_most_interesting() {
        let mut schedule = schedule(&vec![candidate(20, Exposure::Unknown); 50], CHOOSING);
        for test in (0..50).map(TestIndex::new) {
            let outcome = if test.get() == 7 { OutcomeKind::Failed } else { OutcomeKind::Passed };
            schedule.tell(test, outcome);
        }
        assert_eq!(schedule.next_batch().unwrap(), [TestIndex::new(7)]);
    }

    #[test]
    fn a_test_found_to_be_exposed_to_nothing_falls_behind() {
        let mut schedule = schedule(&vec![candidate(2000, Exposure::Unknown); 20], CHOOSING);
        pass(&mut schedule, &(0..20).map(TestIndex::new).collect::<Vec<_>>());
        let before = schedule.hidden();
        for test in 0..15 {
            schedule.expose(TestIndex::new(test), Exposure::Nothing);
        }
        assert!(schedule.hidden() < before / 2.0, "{before} {}", schedule.hidden());
        let batch = positions(&schedule.next_batch().unwrap());
        assert_eq!(batch, (15..20).collect::<Vec<_>>());
    }

    #[test]
    fn what_is_under_way_counts_as_made() {
        let mut schedule = schedule(&vec![candidate(5, Exposure::Unknown); 4], CHOOSING);
        // Four were asked for and none told: no test is asked for twice as often as another.
        let asked: Vec<usize> =
            (0..4).flat_map(|_| positions(&schedule.next_batch().unwrap())).collect();
        let counts: Vec<usize> =
            (0..4).map(|test| asked.iter().filter(|t| **t == test).count()).collect();
        assert_eq!(counts, [4; 4]);
    }

    #[test]
    fn it_ends_at_the_price_and_at_the_share_missed() {
        let candidates = vec![candidate(100, Exposure::Nothing); 40];
        let price = Some(Duration::from_mins(10));
        let by_price = Terms { price, ..CHOOSING };
        let by_share = Terms { missed: Some(0.5), ..CHOOSING };
        for (terms, done) in [(by_price, Done::TooDear), (by_share, Done::FewHidden)] {
            let mut schedule = schedule(&candidates, terms);
            // One is found, so that a share can be missed at all.
            schedule.tell(TestIndex::new(0), OutcomeKind::Passed);
            schedule.tell(TestIndex::new(0), OutcomeKind::Failed);
            let mut n_batches = 0;
            let end = loop {
                match schedule.next_batch() {
                    Err(end) => break end,
                    Ok(batch) => pass(&mut schedule, &batch),
                }
                n_batches += 1;
                assert!(n_batches < 5000, "{done:?}");
            };
            assert_eq!(end, done);
        }
    }

    #[test]
    fn a_group_that_disappoints_loses_to_one_that_was_underrated() {
        let exposed = candidate(50, Exposure::Cause("Time".into()));
        let plain = candidate(50, Exposure::Nothing);
        let candidates: Vec<Candidate> =
            (0..200).map(|i| if i < 100 { &exposed } else { &plain }.clone()).collect();
        let mut schedule = schedule(&candidates, CHOOSING);
        let before: Vec<f64> = schedule.groups.iter().map(Group::factor).collect();
        for round in 0..6 {
            for test in 0..200 {
                // A third of those considered unpromising fail now and then.
                let fails = 100 <= test && test % 3 == 0 && round == 3;
                let outcome = if fails { OutcomeKind::Failed } else { OutcomeKind::Passed };
                schedule.tell(TestIndex::new(test), outcome);
            }
        }
        let group = |test: usize| schedule.groups[schedule.tests[test].group].factor();
        assert!(before.iter().all(|factor| (factor - 1.0).abs() < 1e-12));
        assert!(group(0) < 0.8 && 4.0 < group(150), "{} {}", group(0), group(150));
    }

    /// Expected detections per second.
    fn worth(schedule: &Schedule, tests: &[usize]) -> f64 {
        let overhead = schedule.terms.overhead.as_secs_f64();
        let (mut gain, mut seconds) = (0.0, overhead);
        for test in tests {
            let &Standing { prior, streak, .. } = &schedule.tests[*test];
            let factor = schedule.groups[schedule.tests[*test].group].factor();
            gain +=
                factor * schedule.belief.flaky(prior, streak) * schedule.belief.unveiling(streak);
            seconds += schedule.tests[*test].seconds;
        }
        gain / seconds
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None,
            ..ProptestConfig::default() })]

        #[test]
        fn no_set_of_tests_is_worth_more_than_the_batch(seed in any::<u64>(), n in 1_usize..9) {
            let mut random = Random::new(seed);
            let exposures = [Exposure::Unknown, Exposure::Nothing, Exposure::Cause("IO".into())];
            let candidates: Vec<Candidate> = (0..n)
                .map(|_| {
                    let exposure = random.pick(&exposures).cloned().unwrap_or_default();
                    candidate(1 << random.below(14), exposure)
                })
                .collect();
            let mut schedule = schedule(&candidates, CHOOSING);
            for test in 0..n {
                for _ in 0..random.below(40) {
                    schedule.tell(TestIndex::new(test), OutcomeKind::Passed);
                }
            }
            let before = schedule.clone();
            let batch = positions(&schedule.next_batch().unwrap());
            let chosen = worth(&before, &batch);
            for set in 1_usize..1 << n {
                let tests: Vec<usize> = (0..n).filter(|test| set >> test & 1 == 1).collect();
                prop_assert!(worth(&before, &tests) <= chosen * (1.0 + 1e-9));
            }
        }
    }
}
