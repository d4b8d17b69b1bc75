//! Where orders come from: a strategy, or a file.

use unflake_model::{Order, Suite, TestIndex};
use unflake_orders::Orders;
use unflake_report::orders::OrdersOrigin;

use crate::exit::Failure;
use crate::orders_file;

/// The orders, one at a time.
pub(super) enum Source<'s> {
    /// Of a strategy.
    Strategy(Box<Orders<'s>>),
    /// Of a file.
    File(std::vec::IntoIter<Order>),
}

impl<'s> Source<'s> {
    /// Starts with the first order.
    pub(super) fn new(suite: &'s Suite, origin: &OrdersOrigin) -> Result<Self, Failure> {
        match origin {
            OrdersOrigin::Strategy { strategy, seed } => Orders::new(suite, *strategy, *seed)
                .map(|orders| Self::Strategy(Box::new(orders)))
                .map_err(|e| Failure::input(e.to_string(), e.hint())),
            OrdersOrigin::File(path) => orders_file::read(suite, path)
                .map(|orders| Self::File(orders.into_iter()))
                .map_err(|e| {
                    let hint = "one order a line: numbers of tests, from 0 in their original \
                                order, with single spaces between them";
                    Failure::input(e.to_string(), hint)
                }),
        }
    }

    /// Replaces the contents of `order` by the next one; `false` when there is none.
    pub(super) fn next_into(&mut self, order: &mut Vec<TestIndex>) -> bool {
        match self {
            Self::Strategy(orders) => orders.next_into(order),
            Self::File(orders) => {
                order.clear();
                let next = orders.next();
                order.extend(next.iter().flat_map(Order::tests));
                next.is_some()
            }
        }
    }
}
