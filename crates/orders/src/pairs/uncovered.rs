//! The pairs of tests of different classes that no order has covered yet, indexed from both ends.

use crate::layout::Layout;
use crate::pair_set::{PairSet, fill};

/// The direction in which to look from a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    /// At the tests that could follow it.
    After,
    /// At the tests that could precede it.
    Before,
}

impl Side {
    pub(super) const BOTH: [Self; 2] = [Self::After, Self::Before];
}

/// Uncovered pairs, with their number for each test and each class.
#[derive(Clone, Debug)]
pub(super) struct Uncovered {
    after: Half,
    before: Half,
    /// How many pairs lead from each class to each other one, row by row; empty with more than
    /// [`CLASSES_MAX`] classes.
    between: Vec<u32>,
    n_pairs: u64,
}

/// The most classes between which pairs are counted, which takes 256 MB. With more, all counts are
/// taken as zero, and chains are chosen with less foresight.
const CLASSES_MAX: usize = 8_000;

/// The pairs as seen from one side.
#[derive(Clone, Debug)]
struct Half {
    pairs: PairSet,
    of_test: Vec<u32>,
    of_class: Vec<u64>,
}

impl Uncovered {
    /// All pairs of tests of different classes.
    pub(super) fn new(layout: &Layout) -> Self {
        let n = layout.n_tests();
        let mut half = Half { pairs: PairSet::new(n), of_test: vec![0; n], of_class: Vec::new() };
        for class in (0..layout.n_classes()).map(|class| layout.class(class)) {
            let n_others = n - class.len();
            for test in class.clone() {
                fill(half.pairs.row_mut(test), 0..class.start, true);
                fill(half.pairs.row_mut(test), class.end..n, true);
                half.of_test[test] = u32::try_from(n_others).expect("below 2^32 tests");
            }
            half.of_class.push((class.len() * n_others) as u64);
        }
        let between = n_between(layout);
        Self { between, n_pairs: half.of_class.iter().sum(), before: half.clone(), after: half }
    }

    fn half(&self, side: Side) -> &Half {
        match side {
            Side::After => &self.after,
            Side::Before => &self.before,
        }
    }

    /// How many pairs there are.
    pub(super) fn n_pairs(&self) -> u64 {
        self.n_pairs
    }

    /// The tests that can be on this side of a test, as a row of bits.
    pub(super) fn row(&self, side: Side, test: usize) -> &[u64] {
        self.half(side).pairs.row(test)
    }

    /// How many pairs a test is part of.
    pub(super) fn of_test(&self, test: usize) -> u32 {
        self.after.of_test[test] + self.before.of_test[test]
    }

    /// How many pairs lead out of a class, or into it.
    pub(super) fn of_class(&self, side: Side, class: usize) -> u64 {
        self.half(side).of_class[class]
    }

    /// How many pairs lead out of a class or into it, in total.
    pub(super) fn n_of_class(&self, class: usize) -> u64 {
        self.after.of_class[class] + self.before.of_class[class]
    }

    /// How many pairs lead from a class to another one; with [`Side::Before`], back.
    pub(super) fn n_between(&self, side: Side, class: usize, other: usize) -> u32 {
        let n_classes = self.after.of_class.len();
        let (from, to) = match side {
            Side::After => (class, other),
            Side::Before => (other, class),
        };
        self.between.get(from * n_classes + to).copied().unwrap_or(0)
    }

    /// How many orders still have to visit the class: the larger of the pairs out of it and into
    /// it.
    pub(super) fn n_visits_min(&self, class: usize) -> u64 {
        self.after.of_class[class].max(self.before.of_class[class])
    }

    /// Removes the pair in which `second` directly follows `first`.
    pub(super) fn cover(&mut self, layout: &Layout, first: usize, second: usize) {
        if self.after.pairs.remove(first, second) {
            self.after.of_test[first] -= 1;
            self.after.of_class[layout.class_of(first)] -= 1;
            self.before.pairs.remove(second, first);
            self.before.of_test[second] -= 1;
            self.before.of_class[layout.class_of(second)] -= 1;
            self.n_pairs -= 1;
            let (from, to) = (layout.class_of(first), layout.class_of(second));
            if let Some(n) = self.between.get_mut(from * layout.n_classes() + to) {
                *n -= 1;
            }
        }
    }
}

fn n_between(layout: &Layout) -> Vec<u32> {
    let n_classes = layout.n_classes();
    if CLASSES_MAX < n_classes {
        return Vec::new();
    }
    let size = |class| layout.class(class).len();
    let counts = (0..n_classes * n_classes).map(|cell| {
        let (from, to) = (cell / n_classes, cell % n_classes);
        let n = if from == to { 0 } else { size(from) * size(to) };
        u32::try_from(n).expect("pairs of fewer than 2^16 tests")
    });
    counts.collect()
}
