//! Totals of some orders: how many, which pairs, what cost.

use std::time::Duration;

use unflake_model::{Suite, TestIndex};

use crate::cost::{CostModel, LowerBounds};
use crate::coverage::{Coverage, Share};

/// Adds up orders one by one, so that they need not be kept.
#[derive(Debug)]
pub struct Adder<'s> {
    suite: &'s Suite,
    cost_model: CostModel,
    coverage: Option<Coverage<'s>>,
    n_orders: u64,
    n_attempts: u64,
    cost: Duration,
}

impl<'s> Adder<'s> {
    /// Starts without orders.
    pub fn new(suite: &'s Suite, cost_model: CostModel) -> Self {
        Self {
            suite,
            cost_model,
            coverage: Coverage::new(suite).ok(),
            n_orders: 0,
            n_attempts: 0,
            cost: Duration::ZERO,
        }
    }

    /// How many orders were added.
    pub fn n_orders(&self) -> u64 {
        self.n_orders
    }

    /// Adds one more order.
    pub fn add(&mut self, order: &[TestIndex]) {
        self.n_orders += 1;
        self.n_attempts += order.len() as u64;
        let cost = self.cost_model.of_order(self.suite, order);
        self.cost = self.cost.saturating_add(cost);
        if let Some(coverage) = &mut self.coverage {
            coverage.add(order);
        }
    }

    /// The totals of the orders so far.
    pub fn summary(&self) -> Summary {
        let Self { suite, cost_model, .. } = self;
        let bounds = LowerBounds::of(suite);
        Summary {
            n_orders: self.n_orders,
            n_attempts: self.n_attempts,
            pairs: self.coverage.as_ref().map(PairSummary::new),
            cost: self.cost,
            cost_at_least: cost_model.lower_bound(suite, &bounds),
            bounds,
            two_test_orders_cost: cost_model.of_all_two_test_orders(suite),
        }
    }
}

/// The totals of some orders.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Summary {
    /// How many orders there are.
    pub n_orders: u64,
    /// How many attempts they make.
    pub n_attempts: u64,
    /// The pairs they cover; `None` for suites with too many pairs to track.
    pub pairs: Option<PairSummary>,
    /// The time they take.
    pub cost: Duration,
    /// The fewest orders that can cover all pairs, and why.
    pub bounds: LowerBounds,
    /// The least cost of covering all pairs.
    pub cost_at_least: Duration,
    /// The cost of running each pair in a process of its own.
    pub two_test_orders_cost: Duration,
}

/// Which pairs some orders cover.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PairSummary {
    /// Pairs of tests of one class.
    pub intra: Share,
    /// Pairs of tests of two classes.
    pub inter: Share,
    /// Pairs of both kinds.
    pub all: Share,
    /// How many pairs were covered more than once.
    pub n_repeated: u64,
    /// How many orders separate the tests of a class.
    pub n_torn: u64,
}

impl PairSummary {
    fn new(coverage: &Coverage<'_>) -> Self {
        Self {
            intra: coverage.intra(),
            inter: coverage.inter(),
            all: coverage.all(),
            n_repeated: coverage.n_repeated(),
            n_torn: coverage.n_torn(),
        }
    }
}
