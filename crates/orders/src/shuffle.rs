//! The simple orders: shuffled and reversed, by class and by test.
//!
//! Order i of a seed is a pure function of the suite's original order, the seed and i. So any
//! worker makes any order without the ones before it, and a report needs to name only seed and
//! number to be replayed.

use unflake_model::random::Random;
use unflake_model::{Order, Suite, TestIndex};

/// What is shuffled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shuffle {
    /// Classes; the tests within a class stay in their original order.
    Classes = 1,
    /// Classes, and the tests within each.
    ClassesAndTests = 2,
    /// All tests, whatever their class.
    Interleaved = 3,
}

impl Shuffle {
    /// Order `number` of this seed.
    pub fn order(self, suite: &Suite, seed: u64, number: u64) -> Order {
        // The kind is a label, which keeps the three independent under one seed.
        let mut random = Random::labelled(seed, &[self as u64, number]);
        if self == Self::Interleaved {
            let mut tests: Vec<TestIndex> = suite.tests().collect();
            random.shuffle(&mut tests);
            return Order::from_distinct(tests);
        }
        let mut classes: Vec<&Vec<TestIndex>> = suite.classes().iter().collect();
        random.shuffle(&mut classes);
        let mut tests = Vec::with_capacity(suite.n_tests());
        for class in classes {
            let start = tests.len();
            tests.extend_from_slice(class);
            if self == Self::ClassesAndTests {
                random.shuffle(&mut tests[start..]);
            }
        }
        Order::from_distinct(tests)
    }
}

/// Classes last to first, the tests within each in their original order.
pub fn reverse_class(suite: &Suite) -> Order {
    let classes = suite.classes().iter().rev();
    Order::from_distinct(classes.flatten().copied().collect::<Vec<_>>())
}

/// The original order, last to first.
pub fn reverse_class_method(suite: &Suite) -> Order {
    Order::original(suite).reversed()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    const ALL: [Shuffle; 3] = [Shuffle::Classes, Shuffle::ClassesAndTests, Shuffle::Interleaved];

    fn positions(order: &Order) -> Vec<usize> {
        order.tests().iter().map(|t| t.get()).collect()
    }

    #[test]
    fn the_same_seed_and_number_give_these_orders_for_ever() {
        let suite = Suite::of_sizes(&[3, 2, 2]).unwrap();
        let order = |kind: Shuffle| positions(&kind.order(&suite, 42, 1));
        assert_eq!(order(Shuffle::Classes), [5, 6, 0, 1, 2, 3, 4]);
        assert_eq!(order(Shuffle::ClassesAndTests), [2, 0, 1, 3, 4, 6, 5]);
        assert_eq!(order(Shuffle::Interleaved), [5, 6, 0, 3, 4, 2, 1]);
    }

    #[test]
    fn every_order_has_every_test_and_only_interleaving_tears_classes() {
        let suite = Suite::of_sizes(&[5, 1, 4, 3]).unwrap();
        for kind in ALL {
            let orders: Vec<Order> = (0..50).map(|i| kind.order(&suite, 3, i)).collect();
            assert!(orders.iter().all(|o| o.len() == suite.n_tests()));
            let compatible = orders.iter().all(|o| o.is_class_compatible(&suite));
            assert_eq!(compatible, kind != Shuffle::Interleaved, "{kind:?}");
        }
    }

    #[test]
    fn all_orders_of_a_kind_are_reached() {
        // Spec 1.3: k! * prod n_i! class-compatible orders, k! if tests stay, n! in all.
        let suite = Suite::of_sizes(&[2, 1, 2]).unwrap();
        for (kind, n_orders) in ALL.into_iter().zip([6, 24, 120]) {
            let orders: BTreeSet<Vec<usize>> =
                (0..2000).map(|i| positions(&kind.order(&suite, 0, i))).collect();
            assert_eq!(orders.len(), n_orders, "{kind:?}");
        }
    }

    #[test]
    fn reversing_classes_keeps_tests_and_reversing_both_is_the_exact_reverse() {
        let suite = Suite::of_sizes(&[2, 3]).unwrap();
        assert_eq!(positions(&reverse_class(&suite)), [2, 3, 4, 0, 1]);
        assert_eq!(positions(&reverse_class_method(&suite)), [4, 3, 2, 1, 0]);
    }
}
