//! Flake rates in the general case, by counting.
//!
//! **One side.** Walk from the victim towards the start of the order. What matters later is only
//! which polluters are undone by what was met. A test that makes no difference now never will, so
//! it can be left out; each of those left, and the start itself, is equally likely to be met next.
//! With `K` the undone polluters, and `n` of each kind that matters,
//!
//! ```text
//! passes(K) = (1 + sum_kinds n passes(K + what the kind undoes)) / (1 + sum_kinds n)
//! ```
//!
//! where a polluter that is not undone contributes to the denominator only. In class-compatible
//! orders the same walk goes test by test to the start of the victim's class, and from there class
//! by class, where a class is survived with the probability that the same walk without a start
//! gives, and undoes all that its tests undo.
//!
//! **Both sides.** An order and its reverse pass if the walks to both ends do. They share out the
//! tests: with `x` of the own class before the victim and the rest behind, each side is a walk
//! through a known set. The number of tests before the victim is uniform and their choice
//! hypergeometric, and likewise for whole classes.

use std::collections::BTreeMap;

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{One, Zero};

use super::fraction;
use super::role::{Kind, Undone};

/// How many states to visit before giving up: about a second of exact arithmetic.
const STATES_MAX: usize = 50_000;

/// How many ways to split the tests, or the classes, between both sides before giving up.
const SPLITS_MAX: usize = 20_000;

/// What could be counted within these limits.
pub(super) struct Counted {
    /// The probability that the victim fails.
    pub(super) fails: Option<BigRational>,
    /// The probability that it passes while the reverse fails.
    pub(super) only_reverse_fails: Option<BigRational>,
}

/// Counts for the relevant tests of the victim's class and of the other classes.
pub(super) fn count(own: &[&Kind], others: &[Vec<&Kind>], nothing: &Undone) -> Counted {
    let own = Pool::of(own.iter().copied().cloned());
    let classes = Classes::of(others, nothing);
    let passes = Walk::default().passes(&own, &classes, nothing);
    let passes_both = both_pass(&own, &classes, nothing);
    Counted {
        fails: passes.as_ref().map(|passes| BigRational::one() - passes),
        only_reverse_fails: passes.zip(passes_both).map(|(passes, both)| passes - both),
    }
}

/// Tests by kind, with how many there are of each.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Pool(Vec<(Kind, u64)>);

impl Pool {
    fn of(kinds: impl Iterator<Item = Kind>) -> Self {
        let mut counts = BTreeMap::new();
        for kind in kinds {
            *counts.entry(kind).or_insert(0) += 1;
        }
        Self(counts.into_iter().collect())
    }

    fn matters(&self, undone: &Undone) -> bool {
        self.0.iter().any(|(kind, n)| 0 < *n && kind.matters(undone))
    }

    /// Everything that its tests undo.
    fn undoes(&self, nothing: &Undone) -> Undone {
        let mut undone = nothing.clone();
        for (kind, _) in self.0.iter().filter(|(_, n)| 0 < *n) {
            undone.unite(&kind.undoes);
        }
        undone
    }

    /// The same kinds, with these numbers of tests.
    fn with_counts(&self, counts: &[u64]) -> Self {
        let kinds = self.0.iter().zip(counts);
        Self(kinds.map(|((kind, _), n)| (kind.clone(), *n)).collect())
    }
}

/// The classes other than the victim's, with equal ones together.
struct Classes {
    pools: Vec<Pool>,
    undo: Vec<Undone>,
    counts: Vec<u64>,
}

impl Classes {
    fn of(classes: &[Vec<&Kind>], nothing: &Undone) -> Self {
        let mut counts = BTreeMap::new();
        for class in classes {
            let mut pool = Pool::of(class.iter().copied().cloned());
            // Without polluters a class always survives: it is as good as one test that undoes
            // all that its tests undo.
            if pool.0.iter().all(|(kind, _)| kind.pollutes_as.is_none()) {
                pool = Pool::of(std::iter::once(Kind {
                    pollutes_as: None,
                    undoes: pool.undoes(nothing),
                }));
            }
            *counts.entry(pool).or_insert(0) += 1;
        }
        let (pools, counts): (Vec<Pool>, Vec<u64>) = counts.into_iter().unzip();
        Self { undo: pools.iter().map(|pool| pool.undoes(nothing)).collect(), pools, counts }
    }
}

type Memo = BTreeMap<Undone, BigRational>;

/// The walks from a victim to an end of the order, with memoised results.
#[derive(Default)]
struct Walk {
    in_class: Memo,
    beyond: Memo,
    through: BTreeMap<usize, Memo>,
}

impl Walk {
    /// The probability that the victim passes.
    fn passes(&mut self, own: &Pool, classes: &Classes, undone: &Undone) -> Option<BigRational> {
        if let Some(known) = self.in_class.get(undone) {
            return Some(known.clone());
        }
        let mut n_next = 1;
        let mut sum = self.passes_beyond(classes, undone)?;
        for (kind, n) in own.0.iter().filter(|(kind, _)| kind.matters(undone)) {
            n_next += n;
            if !kind.spoils(undone) {
                let after = self.passes(own, classes, &union(undone, &kind.undoes))?;
                sum += after * BigInt::from(*n);
            }
        }
        remember(&mut self.in_class, undone, sum / BigInt::from(n_next))
    }

    /// The probability that it passes, given that it has survived its own class.
    fn passes_beyond(&mut self, classes: &Classes, undone: &Undone) -> Option<BigRational> {
        if let Some(known) = self.beyond.get(undone) {
            return Some(known.clone());
        }
        let mut n_next = 1;
        let mut sum = BigRational::one();
        for (index, pool) in classes.pools.iter().enumerate() {
            if pool.matters(undone) {
                n_next += classes.counts[index];
                let survived = survives(pool, undone, self.through.entry(index).or_default())?;
                // A class that undoes nothing new cannot be survived: else it would not matter.
                if !survived.is_zero() {
                    let undone = union(undone, &classes.undo[index]);
                    let after = self.passes_beyond(classes, &undone)?;
                    sum += survived * after * BigInt::from(classes.counts[index]);
                }
            }
        }
        remember(&mut self.beyond, undone, sum / BigInt::from(n_next))
    }
}

fn union(a: &Undone, b: &Undone) -> Undone {
    let mut both = a.clone();
    both.unite(b);
    both
}

fn remember(memo: &mut Memo, undone: &Undone, value: BigRational) -> Option<BigRational> {
    within_bounds(memo.len())?;
    memo.insert(undone.clone(), value.clone());
    Some(value)
}

fn within_bounds(n_states: usize) -> Option<usize> {
    (n_states <= STATES_MAX).then_some(n_states)
}

/// The probability that a walk through all tests of a pool, in random order, meets no polluter
/// that is not undone.
fn survives(pool: &Pool, undone: &Undone, memo: &mut Memo) -> Option<BigRational> {
    if let Some(known) = memo.get(undone) {
        return Some(known.clone());
    }
    let mut n_next = 0;
    let mut sum = BigRational::zero();
    for (kind, n) in &pool.0 {
        if 0 < *n && kind.matters(undone) {
            n_next += n;
            if !kind.spoils(undone) {
                let after = survives(pool, &union(undone, &kind.undoes), memo)?;
                sum += after * BigInt::from(*n);
            }
        }
    }
    let value = if n_next == 0 { BigRational::one() } else { sum / BigInt::from(n_next) };
    remember(memo, undone, value)
}

/// The probability that the victim passes in an order and in its reverse.
fn both_pass(own: &Pool, classes: &Classes, nothing: &Undone) -> Option<BigRational> {
    let counts: Vec<u64> = own.0.iter().map(|(_, n)| *n).collect();
    let splits = Splits::of(&counts)?;
    let mut n_states = 0;
    let mut sides = Vec::with_capacity(splits.choices.len());
    for choice in &splits.choices {
        let pool = own.with_counts(choice);
        let mut memo = Memo::new();
        let survived = survives(&pool, nothing, &mut memo)?;
        n_states = within_bounds(n_states + memo.len())?;
        sides.push((survived, pool.undoes(nothing)));
    }
    let mut beyond = Beyond::new(classes)?;
    let mut sum = BigRational::zero();
    for (index, (before, undone_before)) in sides.iter().enumerate() {
        let (behind, undone_behind) = &sides[sides.len() - 1 - index];
        if !before.is_zero() && !behind.is_zero() {
            let rest = beyond.both_survive(undone_before, undone_behind)?;
            sum += splits.probability(index) * before * behind * rest;
        }
    }
    Some(sum)
}

/// The classes on both sides of the victim's.
struct Beyond<'a> {
    classes: &'a Classes,
    splits: Splits,
    /// By undone polluters: the probability that the classes of each split are survived.
    survived: BTreeMap<Undone, Vec<BigRational>>,
    both: BTreeMap<(Undone, Undone), BigRational>,
    through: BTreeMap<usize, Memo>,
    n_states: usize,
}

impl<'a> Beyond<'a> {
    fn new(classes: &'a Classes) -> Option<Self> {
        Some(Self {
            splits: Splits::of(&classes.counts)?,
            classes,
            survived: BTreeMap::new(),
            both: BTreeMap::new(),
            through: BTreeMap::new(),
            n_states: 0,
        })
    }

    /// The probability that both walks survive, given what each has undone in the own class.
    fn both_survive(&mut self, before: &Undone, behind: &Undone) -> Option<BigRational> {
        let key = (before.clone(), behind.clone());
        if let Some(known) = self.both.get(&key) {
            return Some(known.clone());
        }
        self.n_states = within_bounds(self.n_states + self.splits.choices.len())?;
        let (before, behind) = (self.survived(before)?, self.survived(behind)?);
        let sum = before
            .iter()
            .zip(behind.iter().rev())
            .enumerate()
            .map(|(index, (a, b))| self.splits.probability(index) * a * b)
            .sum::<BigRational>();
        self.both.insert(key, sum.clone());
        Some(sum)
    }

    fn survived(&mut self, undone: &Undone) -> Option<Vec<BigRational>> {
        if let Some(known) = self.survived.get(undone) {
            return Some(known.clone());
        }
        let mut all = Vec::with_capacity(self.splits.choices.len());
        for choice in &self.splits.choices {
            let mut walk = ThroughClasses {
                classes: self.classes,
                counts: choice,
                through: &mut self.through,
                memo: Memo::new(),
            };
            all.push(walk.survives(undone)?);
            self.n_states = within_bounds(self.n_states + walk.memo.len())?;
        }
        self.survived.insert(undone.clone(), all.clone());
        Some(all)
    }
}

/// A walk through a known number of classes of each sort.
struct ThroughClasses<'a> {
    classes: &'a Classes,
    counts: &'a [u64],
    through: &'a mut BTreeMap<usize, Memo>,
    memo: Memo,
}

impl ThroughClasses<'_> {
    fn survives(&mut self, undone: &Undone) -> Option<BigRational> {
        if let Some(known) = self.memo.get(undone) {
            return Some(known.clone());
        }
        let mut n_next = 0;
        let mut sum = BigRational::zero();
        for (index, pool) in self.classes.pools.iter().enumerate() {
            let n = self.counts[index];
            if 0 < n && pool.matters(undone) {
                n_next += n;
                let memo = self.through.entry(index).or_default();
                let survived = survives(pool, undone, memo)?;
                if !survived.is_zero() {
                    let after = self.survives(&union(undone, &self.classes.undo[index]))?;
                    sum += survived * after * BigInt::from(n);
                }
            }
        }
        let value = if n_next == 0 { BigRational::one() } else { sum / BigInt::from(n_next) };
        remember(&mut self.memo, undone, value)
    }
}

/// All ways to choose, from these numbers of each sort, the ones before the victim. The mirrored
/// choice is then what comes after it.
struct Splits {
    counts: Vec<u64>,
    choices: Vec<Vec<u64>>,
}

impl Splits {
    /// `None` if there are too many ways.
    fn of(counts: &[u64]) -> Option<Self> {
        let mut choices = vec![Vec::new()];
        for &n in counts {
            if SPLITS_MAX as u64 / (n + 1) < choices.len() as u64 {
                return None;
            }
            choices = choices
                .iter()
                .flat_map(|choice| {
                    (0..=n).map(move |x| choice.iter().copied().chain([x]).collect())
                })
                .collect();
        }
        Some(Self { counts: counts.to_vec(), choices })
    }

    /// The probability of a choice: how many stand before is uniform, and each set of that size
    /// equally likely.
    fn probability(&self, index: usize) -> BigRational {
        let choice = &self.choices[index];
        let ways: BigInt = self.counts.iter().zip(choice).map(|(n, x)| binomial(*n, *x)).product();
        let (total, before) = (self.counts.iter().sum(), choice.iter().sum());
        BigRational::new(ways, binomial(total, before)) * fraction(1, total + 1)
    }
}

fn binomial(n: u64, k: u64) -> BigInt {
    let k = k.min(n - k);
    (0..k).fold(BigInt::one(), |product, i| product * (n - i) / (i + 1))
}
