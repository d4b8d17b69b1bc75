//! Any strategy as a stream of orders, one at a time.

use unflake_model::{Order, Suite, TestIndex};

use crate::coverage::TooManyTests;
use crate::pairs::Pairs;
use crate::paper::PaperPairs;
use crate::sampler::Sampler;
use crate::shuffle::{reverse_class, reverse_class_method};
use crate::strategy::Strategy;
use crate::tuscan::Tuscan;

/// Why a strategy has no orders for a suite.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotApplicable {
    /// Rows of a Tuscan square would separate the tests of a class.
    #[error(
        "strategy `tuscan` knows no classes, and this suite has {n_classes} with up to {size_max} \
         tests in one: its rows would tear them apart"
    )]
    TornClasses {
        /// How many classes the suite has.
        n_classes: usize,
        /// How many tests the largest one has.
        size_max: usize,
    },
    /// The suite has more pairs than we want to track.
    #[error(transparent)]
    TooManyTests(#[from] TooManyTests),
}

impl NotApplicable {
    /// What to do instead.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::TornClasses { .. } => {
                "use strategy `pairs`, which covers the same pairs and keeps classes together"
            }
            Self::TooManyTests(_) => "use strategy `planned`, which needs no memory of pairs",
        }
    }
}

/// The orders of one strategy, one at a time: as an iterator, or without allocation by
/// [`Orders::next_into`].
#[derive(Clone, Debug)]
pub struct Orders<'s> {
    source: Source<'s>,
    n_taken: u64,
}

#[derive(Clone, Debug)]
enum Source<'s> {
    Single(Order),
    Endless(Sampler<'s>),
    Tuscan(Tuscan, Vec<u32>),
    Pairs(Pairs),
    PaperPairs(Box<PaperPairs>),
}

impl<'s> Orders<'s> {
    /// The orders of this strategy and seed. Endless strategies never stop by themselves.
    pub fn new(suite: &'s Suite, strategy: Strategy, seed: u64) -> Result<Self, NotApplicable> {
        let source = match strategy {
            Strategy::Original => Source::Single(Order::original(suite)),
            Strategy::ReverseClass => Source::Single(reverse_class(suite)),
            Strategy::ReverseClassMethod => Source::Single(reverse_class_method(suite)),
            Strategy::Tuscan => Source::Tuscan(tuscan(suite)?, Vec::new()),
            Strategy::Pairs => {
                TooManyTests::check(suite)?;
                Source::Pairs(Pairs::new(suite, seed))
            }
            Strategy::PairsPaper => {
                TooManyTests::check(suite)?;
                Source::PaperPairs(Box::new(PaperPairs::new(suite, seed)))
            }
            Strategy::RandomClass
            | Strategy::RandomClassMethod
            | Strategy::Interleaved
            | Strategy::Planned => {
                let sampler = Sampler::new(suite, strategy, seed);
                Source::Endless(sampler.expect("endless strategies can be sampled"))
            }
        };
        Ok(Self { source, n_taken: 0 })
    }

    /// Replaces the contents of `order` by the next one; `false` when there is none.
    pub fn next_into(&mut self, order: &mut Vec<TestIndex>) -> bool {
        let number = self.n_taken;
        self.n_taken += 1;
        match &mut self.source {
            Source::Single(only) => {
                order.clear();
                order.extend_from_slice(only.tests());
                number == 0
            }
            Source::Endless(sampler) => {
                order.clear();
                order.extend_from_slice(sampler.order(number).tests());
                true
            }
            Source::Tuscan(square, row) => {
                if square.n_rows() as u64 <= number {
                    return false;
                }
                let number = usize::try_from(number).expect("below the number of rows");
                square.row_into(number, row);
                order.clear();
                order.extend(row.iter().map(|test| TestIndex::new(*test as usize)));
                true
            }
            Source::Pairs(pairs) => pairs.next_into(order),
            Source::PaperPairs(pairs) => pairs.next_into(order),
        }
    }
}

impl Iterator for Orders<'_> {
    type Item = Order;

    fn next(&mut self) -> Option<Order> {
        let mut order = Vec::new();
        self.next_into(&mut order).then(|| Order::from_distinct(order))
    }
}

/// The Tuscan square of a suite without classes: one class, or classes of one test each.
fn tuscan(suite: &Suite) -> Result<Tuscan, NotApplicable> {
    let n_classes = suite.n_classes();
    if n_classes == 1 || n_classes == suite.n_tests() {
        return Ok(Tuscan::new(suite.n_tests()));
    }
    let sizes = suite.classes().iter().map(Vec::len);
    Err(NotApplicable::TornClasses { n_classes, size_max: sizes.max().unwrap_or(0) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn positions(order: &Order) -> Vec<usize> {
        order.tests().iter().map(|t| t.get()).collect()
    }

    #[test]
    fn bounded_strategies_end_and_endless_ones_do_not() {
        let suite = Suite::of_sizes(&[2, 3]).unwrap();
        let n_orders = |strategy| Orders::new(&suite, strategy, 1).unwrap().take(1000).count();
        assert_eq!(n_orders(Strategy::Original), 1);
        assert_eq!(n_orders(Strategy::ReverseClass), 1);
        assert_eq!(n_orders(Strategy::ReverseClassMethod), 1);
        assert_eq!(n_orders(Strategy::Pairs), 12);
        assert!((12..20).contains(&n_orders(Strategy::PairsPaper)));
        for strategy in Strategy::ALL.into_iter().filter(|s| s.is_endless()) {
            assert_eq!(n_orders(strategy), 1000, "{strategy}");
        }
    }

    #[test]
    fn all_but_interleaved_orders_are_class_compatible() {
        let suite = Suite::of_sizes(&[3, 1, 4]).unwrap();
        let strategies = Strategy::ALL.into_iter().filter(|s| *s != Strategy::Tuscan);
        for strategy in strategies {
            let mut orders = Orders::new(&suite, strategy, 1).unwrap().take(50);
            let compatible = orders.all(|order| order.is_class_compatible(&suite));
            assert_eq!(compatible, strategy != Strategy::Interleaved, "{strategy}");
        }
    }

    #[test]
    fn tuscan_rows_need_a_suite_without_classes() {
        for sizes in [vec![4], vec![1; 4]] {
            let suite = Suite::of_sizes(&sizes).unwrap();
            let orders: Vec<Order> = Orders::new(&suite, Strategy::Tuscan, 9).unwrap().collect();
            assert_eq!(orders.len(), 4);
            assert_eq!(positions(&orders[0]), [0, 3, 1, 2]);
        }
        let suite = Suite::of_sizes(&[2, 3]).unwrap();
        let error = Orders::new(&suite, Strategy::Tuscan, 9).unwrap_err();
        assert_eq!(
            error.to_string(),
            "strategy `tuscan` knows no classes, and this suite has 2 with up to 3 tests in one: \
             its rows would tear them apart"
        );
        assert!(error.hint().contains("`pairs`"));
    }

    #[test]
    fn an_order_is_made_by_its_number_alone() {
        let suite = Suite::of_sizes(&[3, 1, 4]).unwrap();
        for strategy in Strategy::ALL.into_iter().filter(|s| s.is_endless()) {
            let sampler = Sampler::new(&suite, strategy, 4).unwrap();
            let orders = Orders::new(&suite, strategy, 4).unwrap();
            for (number, order) in (0..20).zip(orders) {
                assert_eq!(order, sampler.order(number));
            }
        }
    }
}
