//! What orders add up to: how many, which pairs, what cost. The names are part of the JSON format.

use std::time::Duration;

use serde::Serialize;
use unflake_model::{Suite, TestIndex};
use unflake_orders::cost::{CostModel, LowerBounds};
use unflake_orders::coverage::{Coverage, Share};

/// Counts what the orders add up to while they are printed.
pub(super) struct Tally<'s> {
    suite: &'s Suite,
    cost_model: CostModel,
    coverage: Option<Coverage<'s>>,
    pub(super) n_orders: u64,
    n_attempts: u64,
    cost: Duration,
}

impl<'s> Tally<'s> {
    /// No orders yet.
    pub(super) fn new(suite: &'s Suite, cost_model: CostModel) -> Self {
        Self {
            suite,
            cost_model,
            coverage: Coverage::new(suite).ok(),
            n_orders: 0,
            n_attempts: 0,
            cost: Duration::ZERO,
        }
    }

    /// Takes one more order into account.
    pub(super) fn add(&mut self, order: &[TestIndex]) {
        self.n_orders += 1;
        self.n_attempts += order.len() as u64;
        let cost = self.cost_model.of_order(self.suite, order);
        self.cost = self.cost.saturating_add(cost);
        if let Some(coverage) = &mut self.coverage {
            coverage.add(order);
        }
    }

    /// What the orders so far add up to.
    pub(super) fn summary(&self) -> Summary {
        let Self { suite, cost_model, .. } = self;
        let bounds = LowerBounds::of(suite);
        let bound = cost_model.lower_bound(suite, &bounds);
        let two_test = cost_model.of_all_two_test_orders(suite);
        Summary {
            orders: self.n_orders,
            attempts: self.n_attempts,
            pairs: self.coverage.as_ref().map(PairSummary::new),
            cost_seconds: self.cost.as_secs_f64(),
            all_pairs_at_least: AllPairsBound {
                orders: bounds.n_orders(),
                orders_intra: bounds.intra,
                orders_inter: bounds.inter,
                orders_leaving: bounds.leaving,
                orders_largest: bounds.largest,
                cost_seconds: bound.as_secs_f64(),
            },
            two_test_orders_cost_seconds: two_test.as_secs_f64(),
        }
    }
}

/// What the orders add up to.
#[derive(Serialize)]
pub(super) struct Summary {
    pub(super) orders: u64,
    pub(super) attempts: u64,
    /// Null for suites with too many pairs to keep track of.
    pub(super) pairs: Option<PairSummary>,
    pub(super) cost_seconds: f64,
    pub(super) all_pairs_at_least: AllPairsBound,
    pub(super) two_test_orders_cost_seconds: f64,
}

#[derive(Serialize)]
pub(super) struct PairSummary {
    pub(super) intra: ShareSummary,
    pub(super) inter: ShareSummary,
    pub(super) all: ShareSummary,
    pub(super) repeated: u64,
    pub(super) orders_not_class_compatible: u64,
}

#[derive(Serialize)]
pub(super) struct ShareSummary {
    pub(super) covered: u64,
    pub(super) total: u64,
}

#[derive(Serialize)]
pub(super) struct AllPairsBound {
    pub(super) orders: u64,
    pub(super) orders_intra: u64,
    pub(super) orders_inter: u64,
    pub(super) orders_leaving: u64,
    pub(super) orders_largest: u64,
    pub(super) cost_seconds: f64,
}

impl PairSummary {
    fn new(coverage: &Coverage<'_>) -> Self {
        Self {
            intra: coverage.intra().into(),
            inter: coverage.inter().into(),
            all: coverage.all().into(),
            repeated: coverage.n_repeated(),
            orders_not_class_compatible: coverage.n_torn(),
        }
    }
}

impl From<Share> for ShareSummary {
    fn from(Share { covered, total }: Share) -> Self {
        Self { covered, total }
    }
}
