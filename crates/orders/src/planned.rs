//! Full class-compatible orders, spread evenly over the possibilities instead of drawn by chance.
//!
//! Twenty independent shuffles leave gaps: a class of ten tests has, after them, on average 1.2
//! tests that were never first (10 * 0.9^20), and in a suite of many classes most have never
//! directly followed a given other one. Whether a victim shows depends on just these things (which
//! tests come before it in its class, and which class ends before its own begins), so we deal them
//! out like cards:
//!
//! - Orders come in twos: order 2i+1 is the reverse of order 2i. After two orders every test has
//!   run both before and after every other one; a victim without cleaners cannot hide any longer.
//! - Order 2i takes for each class the next row of a Tuscan square of its tests, and arranges the
//!   classes by the next row of a square of the classes. So within a cycle no two tests are
//!   adjacent twice, and every test is first, and last, in its class equally often.
//! - Elements are given to tests at random, rows are taken in random sequence, and both are drawn
//!   anew when a square is used up; each class and each cycle for itself. So no order is favoured:
//!   any single order is distributed exactly as random-class-method would have it.
//!
//! A square of even size has the reverse of every row as another row, so half of it is a cycle; of
//! odd size, all rows are, and every pair is adjacent once forward and once in a reverse. Sizes 3
//! and 5 have no square: there the n shifts of the zigzag, with their reverses, make every pair
//! adjacent exactly twice and every test first exactly twice.
//!
//! Order j is a pure function of the suite, the seed and j, made in O(n).

use unflake_model::random::Random;
use unflake_model::{Order, Suite, TestIndex};

use crate::tuscan::{Tuscan, zigzag_row};

/// Separates this strategy's random numbers from those of the shuffles.
const LABEL: u64 = 0x0070_6c61_6e6e_6564;

/// The planned orders of one suite and seed.
#[derive(Clone, Copy, Debug)]
pub struct Planned<'s> {
    suite: &'s Suite,
    seed: u64,
}

impl<'s> Planned<'s> {
    /// The orders of this seed.
    pub fn new(suite: &'s Suite, seed: u64) -> Self {
        Self { suite, seed }
    }

    /// Order `number`, where each forward order is followed by its reverse.
    pub fn order(&self, number: u64) -> Order {
        let forward = self.forward(number / 2);
        if number.is_multiple_of(2) { forward } else { forward.reversed() }
    }

    /// Forward order `number`, for callers that decide themselves when to reverse.
    pub fn forward(&self, number: u64) -> Order {
        let classes = self.suite.classes();
        let mut tests: Vec<TestIndex> = Vec::with_capacity(self.suite.n_tests());
        for class in self.arrangement(0, classes.len(), number) {
            let members = &classes[class as usize];
            let arrangement = self.arrangement(u64::from(class) + 1, members.len(), number);
            tests.extend(arrangement.into_iter().map(|member| members[member as usize]));
        }
        Order::from_distinct(tests)
    }

    /// The arrangement of `n` things that forward order `number` uses for this stratum.
    fn arrangement(&self, stratum: u64, n: usize, number: u64) -> Vec<u32> {
        let n_rows = n_rows_per_cycle(n);
        let (cycle, turn) = (number / n_rows as u64, number % n_rows as u64);
        let mut random = Random::labelled(self.seed, &[LABEL, stratum, cycle]);
        let mut rows: Vec<usize> = (0..n_rows).collect();
        random.shuffle(&mut rows);
        let size = u32::try_from(n).expect("a suite holds fewer than 2^32 tests");
        let mut labels: Vec<u32> = (0..size).collect();
        random.shuffle(&mut labels);

        let row = rows[usize::try_from(turn).expect("a turn is below the number of rows")];
        let mut arrangement = Vec::with_capacity(n);
        if n == 3 || n == 5 {
            let shift = u32::try_from(row).expect("below 5");
            zigzag_row(size, shift, &mut arrangement);
        } else {
            Tuscan::new(n).row_into(row, &mut arrangement);
        }
        for element in &mut arrangement {
            *element = labels[*element as usize];
        }
        arrangement
    }
}

/// How many rows there are such that none is the reverse of another.
fn n_rows_per_cycle(n: usize) -> usize {
    if n.is_multiple_of(2) { n / 2 } else { n }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn counts<T: Ord>(items: impl IntoIterator<Item = T>) -> BTreeMap<T, usize> {
        let mut counts = BTreeMap::new();
        for item in items {
            *counts.entry(item).or_insert(0) += 1;
        }
        counts
    }

    fn first_orders(suite: &Suite, n_orders: usize) -> Vec<Order> {
        let planned = Planned::new(suite, 7);
        (0..n_orders as u64).map(|j| planned.order(j)).collect()
    }

    #[test]
    fn the_same_seed_and_number_give_these_orders_for_ever() {
        let suite = Suite::of_sizes(&[3, 2, 4]).unwrap();
        let order = Planned::new(&suite, 42).order(6);
        let positions: Vec<usize> = order.tests().iter().map(|t| t.get()).collect();
        assert_eq!(positions, [2, 0, 1, 4, 3, 8, 5, 7, 6]);
    }

    #[test]
    fn in_one_cycle_every_pair_of_a_class_is_adjacent_equally_often() {
        // (tests, orders in a cycle with reverses, times each pair is adjacent in it)
        for (n, n_orders, times) in [(2, 2, 1), (3, 6, 2), (5, 10, 2), (8, 8, 1), (9, 18, 2)] {
            let suite = Suite::of_sizes(&[n]).unwrap();
            let orders = first_orders(&suite, n_orders);
            let pairs = orders.iter().flat_map(|order| order.tests().windows(2));
            let counts = counts(pairs.map(|pair| (pair[0], pair[1])));
            assert_eq!(counts.len(), n * (n - 1), "size {n}");
            assert!(counts.values().all(|count| *count == times), "size {n}");
        }
    }

    #[test]
    fn in_one_cycle_every_test_is_first_and_last_equally_often() {
        for n in [3, 4, 5, 7, 10] {
            let suite = Suite::of_sizes(&[n]).unwrap();
            let orders = first_orders(&suite, 2 * n);
            let firsts = counts(orders.iter().map(|order| order.tests()[0]));
            let lasts = counts(orders.iter().map(|order| order.tests()[n - 1]));
            assert_eq!(firsts.len(), n);
            assert!(firsts.values().chain(lasts.values()).all(|count| *count == 2));
        }
    }

    #[test]
    fn classes_follow_each_other_equally_often() {
        let suite = Suite::of_sizes(&[2, 3, 1, 4]).unwrap();
        let mut transitions = Vec::new();
        for order in first_orders(&suite, 4) {
            let classes: Vec<_> = order.tests().iter().map(|t| suite.class_of(*t)).collect();
            let changes = classes.windows(2).filter(|pair| pair[0] != pair[1]);
            transitions.extend(changes.map(|pair| (pair[0], pair[1])));
        }
        let counts = counts(transitions);
        assert_eq!(counts.len(), 12);
        assert!(counts.values().all(|count| *count == 1));
    }

    #[test]
    fn a_single_order_is_as_random_as_a_shuffle() {
        // 2! * 2! * 1! = 4 class-compatible orders; ten standard deviations of a binomial with
        // n = 4000, p = 1/4 are 274.
        let suite = Suite::of_sizes(&[2, 1]).unwrap();
        for number in [0, 1, 2, 5] {
            let orders = (0..4000).map(|seed| {
                let order = Planned::new(&suite, seed).order(number);
                order.tests().to_vec()
            });
            let counts = counts(orders);
            assert_eq!(counts.len(), 4);
            assert!(counts.values().all(|count| count.abs_diff(1000) < 274), "{counts:?}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig {
            cases: 60,
            failure_persistence: None,
            ..ProptestConfig::default()
        })]

        #[test]
        fn orders_are_full_class_compatible_and_come_with_their_reverse(
            sizes in prop::collection::vec(1_usize..12, 1..9),
            seed: u64,
            number in 0_u64..1000,
        ) {
            let suite = Suite::of_sizes(&sizes).unwrap();
            let planned = Planned::new(&suite, seed);
            let order = planned.order(2 * number);
            prop_assert_eq!(order.len(), suite.n_tests());
            prop_assert!(order.is_class_compatible(&suite));
            prop_assert_eq!(planned.order(2 * number + 1), order.reversed());
            prop_assert_eq!(planned.forward(number), order);
        }
    }
}
