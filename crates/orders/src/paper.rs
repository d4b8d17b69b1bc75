//! Algorithm 3.1 of the literature: cover every pair in class-compatible orders, at random.
//!
//! First the pairs within classes: each order takes one unused row of the Tuscan square of every
//! class that has one left. Then the pairs between classes: start with any uncovered pair, and as
//! long as an uncovered pair leads from the last test into a class not yet in the order, follow one
//! of them (detection spec 2.6). Every choice is uniformly random, from the seed.
//!
//! It serves as a comparison ([`crate::pairs`] needs fewer orders), so it is kept faithful.
//! The set of pairs takes n^2 bits by nature; a choice scans one row of it, O(n/64) words, and
//! there are about n^2 choices, so the whole costs O(n^3 / 64): seconds for 5,000 tests.

use unflake_model::random::Random;
use unflake_model::{Suite, TestIndex};

use crate::layout::Layout;
use crate::pair_set::{PairSet, fill};
use crate::tuscan::Tuscan;

const LABEL: u64 = 0x0070_6170_6572;

/// The orders of Algorithm 3.1, one at a time.
#[derive(Clone, Debug)]
pub struct PaperPairs {
    layout: Layout,
    random: Random,
    /// For each class, the numbers of the rows not used yet.
    rows_left: Vec<Vec<usize>>,
    uncovered: PairSet,
    /// How many uncovered pairs start with each test.
    n_uncovered: Fenwick,
    /// The tests of classes that are not in the current order, as a row of bits.
    allowed: Vec<u64>,
}

impl PaperPairs {
    /// Starts with nothing covered. The suite must not be larger than
    /// [`crate::coverage::TESTS_MAX`].
    pub fn new(suite: &Suite, seed: u64) -> Self {
        let layout = Layout::original(suite);
        let n = layout.n_tests();
        let mut uncovered = PairSet::new(n);
        let mut n_uncovered = Fenwick::new(n);
        for class in (0..layout.n_classes()).map(|class| layout.class(class)) {
            let n_others = i64::try_from(n - class.len()).expect("a suite holds fewer than 2^32");
            for test in class.clone() {
                fill(uncovered.row_mut(test), 0..class.start, true);
                fill(uncovered.row_mut(test), class.end..n, true);
                n_uncovered.add(test, n_others);
            }
        }
        let sizes = (0..layout.n_classes()).map(|class| layout.class(class).len());
        let mut allowed = vec![0; n.div_ceil(64)];
        fill(&mut allowed, 0..n, true);
        Self {
            random: Random::labelled(seed, &[LABEL]),
            rows_left: sizes.map(|size| (0..Tuscan::new(size).n_rows()).collect()).collect(),
            uncovered,
            n_uncovered,
            allowed,
            layout,
        }
    }

    /// Replaces the contents of `order` by the next one; `false` when every pair is covered.
    pub fn next_into(&mut self, order: &mut Vec<TestIndex>) -> bool {
        let mut positions = self.intra_order();
        if positions.is_empty() {
            positions = self.inter_order();
        }
        order.clear();
        order.extend(positions.iter().map(|position| self.layout.test(*position)));
        !order.is_empty()
    }

    /// A random unused row of each class that has one left.
    fn intra_order(&mut self) -> Vec<usize> {
        let mut order = Vec::new();
        let mut row = Vec::new();
        for class in 0..self.layout.n_classes() {
            let rows_left = &mut self.rows_left[class];
            if rows_left.is_empty() {
                continue;
            }
            let number = rows_left.swap_remove(self.random.below(rows_left.len()));
            let members = self.layout.class(class);
            Tuscan::new(members.len()).row_into(number, &mut row);
            let entry = members.start + row[0] as usize;
            if let Some(exit) = order.last() {
                self.cover(*exit, entry);
            }
            order.extend(row.iter().map(|member| members.start + *member as usize));
        }
        order
    }

    /// Uncovered pairs, joined as long as they lead into new classes.
    fn inter_order(&mut self) -> Vec<usize> {
        let n_pairs = self.n_uncovered.total();
        if n_pairs == 0 {
            return Vec::new();
        }
        let mut last = self.n_uncovered.find(self.random.below(n_pairs));
        let mut order = vec![last];
        self.set_allowed(&order, false);
        while let Some(next) = self.pick_successor(last) {
            self.cover(last, next);
            order.push(next);
            self.set_allowed(&[next], false);
            last = next;
        }
        self.set_allowed(&order, true);
        order
    }

    /// A random test that does not directly follow `last` in any order yet, in a new class.
    fn pick_successor(&mut self, last: usize) -> Option<usize> {
        let row = self.uncovered.row(last);
        let candidates = || row.iter().zip(&self.allowed).map(|(a, b)| a & b);
        let n_candidates: usize = candidates().map(|word| word.count_ones() as usize).sum();
        if n_candidates == 0 {
            return None;
        }
        let mut rank = self.random.below(n_candidates);
        for (index, word) in candidates().enumerate() {
            let n_here = word.count_ones() as usize;
            if rank < n_here {
                return Some(index * 64 + nth_one(word, rank));
            }
            rank -= n_here;
        }
        None
    }

    fn cover(&mut self, from: usize, to: usize) {
        if self.uncovered.remove(from, to) {
            self.n_uncovered.add(from, -1);
        }
    }

    fn set_allowed(&mut self, order: &[usize], present: bool) {
        for position in order {
            let class = self.layout.class(self.layout.class_of(*position));
            fill(&mut self.allowed, class, present);
        }
    }
}

/// The position of the set bit with this rank (from 0), counted from the lowest bit.
fn nth_one(word: u64, rank: usize) -> usize {
    let mut rest = word;
    for _ in 0..rank {
        rest &= rest - 1;
    }
    rest.trailing_zeros() as usize
}

/// Counts with fast prefix sums (Fenwick 1994), to pick one of many weighted items.
#[derive(Clone, Debug)]
struct Fenwick(Vec<i64>);

impl Fenwick {
    fn new(n: usize) -> Self {
        Self(vec![0; n.next_power_of_two() + 1])
    }

    fn add(&mut self, item: usize, change: i64) {
        let mut node = item + 1;
        while node < self.0.len() {
            self.0[node] += change;
            node += node & node.wrapping_neg();
        }
    }

    fn total(&self) -> usize {
        usize::try_from(self.0[self.0.len() - 1]).expect("counts are not negative")
    }

    /// The item whose share contains the number `rank`.
    fn find(&self, rank: usize) -> usize {
        let mut rest = i64::try_from(rank).expect("a rank is below the total");
        let mut before = 0;
        let mut step = (self.0.len() - 1) / 2;
        while 0 < step {
            if self.0[before + step] <= rest {
                rest -= self.0[before + step];
                before += step;
            }
            step /= 2;
        }
        before
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_these_orders_for_ever() {
        let suite = Suite::of_sizes(&[2, 1, 1]).unwrap();
        let mut pairs = PaperPairs::new(&suite, 42);
        let mut order = Vec::new();
        let mut orders: Vec<Vec<usize>> = Vec::new();
        while pairs.next_into(&mut order) {
            orders.push(order.iter().map(|test| test.get()).collect());
        }
        let expected: [&[usize]; 7] =
            [&[0, 1, 2, 3], &[1, 0], &[1, 3, 2], &[2, 0, 3], &[3, 1], &[3, 0, 2], &[2, 1]];
        assert_eq!(orders, expected);
    }

    #[test]
    fn a_rank_falls_on_the_item_in_whose_share_it_lies() {
        let counts = [3, 0, 2, 0, 0, 4, 1];
        let mut fenwick = Fenwick::new(counts.len());
        for (item, count) in counts.iter().enumerate() {
            fenwick.add(item, *count + 1);
            fenwick.add(item, -1);
        }
        assert_eq!(fenwick.total(), 10);
        let items: Vec<usize> = (0..10).map(|rank| fenwick.find(rank)).collect();
        assert_eq!(items, [0, 0, 0, 2, 2, 5, 5, 5, 5, 6]);
    }

    #[test]
    fn ones_are_ranked_from_the_lowest_bit() {
        assert_eq!([0, 1, 2].map(|rank| nth_one(0b1001_0100, rank)), [2, 4, 7]);
    }
}
