//! Order-dependent tests, what they depend on, and their outcome in any order.

use std::collections::{BTreeMap, BTreeSet};

use unflake_model::{Order, Suite, TestIndex};

use super::counted::count;
use super::sample::{self, Sample};
use super::shared::{ClassCounts, SharedCleaners, brittle};
use super::{FlakeRate, OrderSpace, Share};

/// A test that makes a victim fail, and the tests that undo it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Polluter {
    /// The test that pollutes.
    pub test: TestIndex,
    /// The victim passes if any of these runs between the polluter and itself.
    pub cleaners: Vec<TestIndex>,
}

/// Why tests cannot depend on each other like this.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidRole {
    /// The test is among those it depends on.
    #[error("test `{test}` cannot depend on itself")]
    DependsOnItself {
        /// The position of the test in its suite.
        test: TestIndex,
    },
    /// The same polluter is given twice.
    #[error("polluter `{test}` is given twice")]
    Repeated {
        /// The position of the polluter in its suite.
        test: TestIndex,
    },
    /// A polluter is among its own cleaners.
    #[error("polluter `{test}` cannot clean up after itself")]
    CleansItself {
        /// The position of the polluter in its suite.
        test: TestIndex,
    },
}

/// A set of polluters, each of which represents all polluters with the same cleaners.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Undone(Box<[u64]>);

impl Undone {
    fn none(n_groups: usize) -> Self {
        Self(vec![0; n_groups.div_ceil(64)].into())
    }

    fn insert(&mut self, group: usize) {
        self.0[group / 64] |= 1 << (group % 64);
    }

    fn contains(&self, group: usize) -> bool {
        self.0[group / 64] >> (group % 64) & 1 == 1
    }

    fn is_subset(&self, other: &Self) -> bool {
        self.0.iter().zip(&other.0).all(|(own, other)| own & !other == 0)
    }

    pub(super) fn unite(&mut self, other: &Self) {
        for (own, other) in self.0.iter_mut().zip(&other.0) {
            *own |= other;
        }
    }
}

/// The effect of a relevant test on the victim; tests of one kind are interchangeable.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Kind {
    /// The group it belongs to, if it is a polluter.
    pub(super) pollutes_as: Option<usize>,
    /// The groups it undoes.
    pub(super) undoes: Undone,
}

impl Kind {
    /// Whether the victim fails because of it, when it is met on the way from the victim to the
    /// start.
    pub(super) fn spoils(&self, undone: &Undone) -> bool {
        self.pollutes_as.is_some_and(|group| !undone.contains(group))
    }

    /// Whether meeting it now makes any difference. Once it does not, it never will.
    pub(super) fn matters(&self, undone: &Undone) -> bool {
        self.spoils(undone) || !self.undoes.is_subset(undone)
    }
}

/// A victim with its polluters and their cleaners.
#[derive(Clone, Debug)]
pub struct Victim {
    test: TestIndex,
    kinds: BTreeMap<TestIndex, Kind>,
    /// The relevant tests without the victim: those of its own class, then those of each other
    /// class.
    own: Vec<TestIndex>,
    others: Vec<Vec<TestIndex>>,
    n_groups: usize,
}

impl Victim {
    /// Checks that no test depends on itself, and groups the polluters by their cleaners.
    pub fn new(
        suite: &Suite,
        test: TestIndex,
        polluters: &[Polluter],
    ) -> Result<Self, InvalidRole> {
        let mut cleaners_of = BTreeMap::new();
        for polluter in polluters {
            let cleaners: BTreeSet<TestIndex> = polluter.cleaners.iter().copied().collect();
            if polluter.test == test || cleaners.contains(&test) {
                return Err(InvalidRole::DependsOnItself { test });
            }
            if cleaners.contains(&polluter.test) {
                return Err(InvalidRole::CleansItself { test: polluter.test });
            }
            if cleaners_of.insert(polluter.test, cleaners).is_some() {
                return Err(InvalidRole::Repeated { test: polluter.test });
            }
        }
        let (kinds, n_groups) = kinds(&cleaners_of);
        let (own, others) = by_class(suite, test, kinds.keys().copied());
        Ok(Self { test, kinds, own, others, n_groups })
    }

    /// Whether the victim fails in this order; `None` if it does not run there.
    pub fn fails(&self, order: &Order) -> Option<bool> {
        let position = order.position(self.test)?;
        let before = order.tests()[..position].iter().rev();
        Some(self.fails_after(before.filter_map(|test| self.kinds.get(test))))
    }

    /// Whether the victim fails after these tests, nearest first.
    pub(super) fn fails_after<'a>(&self, nearest_first: impl Iterator<Item = &'a Kind>) -> bool {
        let mut undone = self.nothing_undone();
        for kind in nearest_first {
            if kind.spoils(&undone) {
                return true;
            }
            undone.unite(&kind.undoes);
        }
        false
    }

    pub(super) fn nothing_undone(&self) -> Undone {
        Undone::none(self.n_groups)
    }

    /// The share of orders in which the victim fails: by closed form or counting; only if that
    /// takes too long, by drawing `n_samples` orders from this seed.
    pub fn flake_rate(&self, space: OrderSpace, n_samples: u64, seed: u64) -> FlakeRate {
        if let Some(shared) = self.shared_cleaners() {
            return shared.flake_rate(space);
        }
        let (own, others) = self.pools(space);
        let counted = count(&own, &others, &self.nothing_undone());
        let (fails, only_reverse_fails) = (counted.fails, counted.only_reverse_fails);
        if let (Some(fails), Some(only_reverse_fails)) = (&fails, only_reverse_fails) {
            return FlakeRate::exact(fails.clone(), only_reverse_fails);
        }
        let sample = self.sample(space, n_samples, seed);
        FlakeRate {
            fails: fails.map_or_else(|| sample.fails(), Share::Exact),
            reverse_fails: sample.reverse_fails(),
        }
    }

    /// The flake rate as estimated from randomly drawn orders.
    pub(super) fn sample(&self, space: OrderSpace, n_samples: u64, seed: u64) -> Sample {
        let (own, others) = self.pools(space);
        sample::draw(self, own, others, n_samples, seed)
    }

    /// The relevant tests of the victim's class, and of the others. Over all orders, there is only
    /// one class.
    pub(super) fn pools(&self, space: OrderSpace) -> (Vec<&Kind>, Vec<Vec<&Kind>>) {
        let kinds = |tests: &[TestIndex]| tests.iter().map(|test| &self.kinds[test]).collect();
        match space {
            OrderSpace::All => (self.kinds.values().collect(), Vec::new()),
            OrderSpace::ClassCompatible => {
                (kinds(&self.own), self.others.iter().map(|tests| kinds(tests)).collect())
            }
        }
    }

    /// The counts of the closed forms, if all polluters have the same cleaners.
    fn shared_cleaners(&self) -> Option<SharedCleaners> {
        let counts = |tests: &Vec<TestIndex>| {
            let is_polluter = |test: &&TestIndex| self.kinds[test].pollutes_as.is_some();
            let polluters = tests.iter().filter(is_polluter).count() as u64;
            ClassCounts { polluters, cleaners: tests.len() as u64 - polluters }
        };
        (self.n_groups <= 1)
            .then(|| SharedCleaners::new(counts(&self.own), self.others.iter().map(counts)))
    }
}

/// What each relevant test does, and how many different sets of cleaners there are.
fn kinds(
    cleaners_of: &BTreeMap<TestIndex, BTreeSet<TestIndex>>,
) -> (BTreeMap<TestIndex, Kind>, usize) {
    let distinct: BTreeSet<&BTreeSet<TestIndex>> = cleaners_of.values().collect();
    let group_of: BTreeMap<&BTreeSet<TestIndex>, usize> =
        distinct.into_iter().enumerate().map(|(group, set)| (set, group)).collect();
    let n_groups = group_of.len();
    let mut kinds: BTreeMap<TestIndex, Kind> = BTreeMap::new();
    let harmless = || Kind { pollutes_as: None, undoes: Undone::none(n_groups) };
    for (polluter, cleaners) in cleaners_of {
        let group = group_of[cleaners];
        kinds.entry(*polluter).or_insert_with(harmless).pollutes_as = Some(group);
        for cleaner in cleaners {
            kinds.entry(*cleaner).or_insert_with(harmless).undoes.insert(group);
        }
    }
    (kinds, n_groups)
}

/// The tests in the class of the target, and those of each other class.
fn by_class(
    suite: &Suite,
    target: TestIndex,
    tests: impl Iterator<Item = TestIndex>,
) -> (Vec<TestIndex>, Vec<Vec<TestIndex>>) {
    let mut classes = BTreeMap::from([(suite.class_of(target), Vec::new())]);
    for test in tests {
        classes.entry(suite.class_of(test)).or_default().push(test);
    }
    let own = classes.remove(&suite.class_of(target)).unwrap_or_default();
    (own, classes.into_values().collect())
}

/// A brittle with its state-setters.
#[derive(Clone, Debug)]
pub struct Brittle {
    test: TestIndex,
    setters: BTreeSet<TestIndex>,
    n_own: u64,
    n_others: Vec<u64>,
}

impl Brittle {
    /// Checks that the test does not depend on itself.
    pub fn new(suite: &Suite, test: TestIndex, setters: &[TestIndex]) -> Result<Self, InvalidRole> {
        let setters: BTreeSet<TestIndex> = setters.iter().copied().collect();
        if setters.contains(&test) {
            return Err(InvalidRole::DependsOnItself { test });
        }
        let (own, others) = by_class(suite, test, setters.iter().copied());
        Ok(Self {
            test,
            setters,
            n_own: own.len() as u64,
            n_others: others.iter().map(|tests| tests.len() as u64).collect(),
        })
    }

    /// Whether the brittle fails in this order; `None` if it does not run there.
    pub fn fails(&self, order: &Order) -> Option<bool> {
        let position = order.position(self.test)?;
        Some(!order.tests()[..position].iter().any(|test| self.setters.contains(test)))
    }

    /// The share of orders in which the brittle fails.
    pub fn flake_rate(&self, space: OrderSpace) -> FlakeRate {
        brittle(self.n_own, &self.n_others, space)
    }
}
