//! Classes of any sizes: chains of uncovered pairs, the most urgent first.
//!
//! One order is made of one or more chains. A chain begins in the class that has the most left to
//! cover and grows at both ends: from the test at the end, step over an uncovered pair into the
//! class (not yet in the order) to which the most pairs are left from this class. Visits to a class
//! whose inner pairs are not covered yet go through an unused Tuscan row of it.
//!
//! What keeps the number of orders near the lower bound is knowing what cannot wait. With R orders
//! left to the bound, a class that still has R pairs leading out of it (or into it) must be left
//! (entered) in *every* order from now on: it is urgent, and urgent classes are stepped to first.
//! And if more pairs are left than R-1 orders through all classes can hold, this order is *short*
//! of pairs. When a chain can grow no more:
//!
//! - and its end is an urgent class, or the order is short: another test of the end's class that
//!   can go on is put in between (a bridge), the quickest that serves;
//! - and an urgent class is missing, or the order is short: another chain is appended.
//!
//! Otherwise the order is left as it is, since further chains would only cost more first tests.
//!
//! Chains should begin and end with quick tests. So a step leads to the slowest test from which the
//! chain can go on; only where it cannot, to the quickest.

use std::cmp::Reverse;
use std::collections::VecDeque;
use std::time::Duration;

use unflake_model::Suite;

use crate::cost::LowerBounds;
use crate::layout::Layout;
use crate::pair_set::{count_in, fill, members_in};
use crate::pairs::uncovered::{Side, Uncovered};
use crate::pairs::unused_rows::UnusedRows;

/// The orders for classes of any sizes.
#[derive(Clone, Debug)]
pub(super) struct Greedy {
    durations: Vec<Duration>,
    uncovered: Uncovered,
    rows: UnusedRows,
    /// How many orders remain if the lower bound is met, this one included.
    n_orders_left: u64,
    /// How many uncovered pairs the orders after this one can contain at most.
    n_pairs_later: u64,
    /// The classes that are not in the current order and still have something to cover.
    unvisited: Vec<usize>,
    /// The tests of these classes, as a row of bits.
    open: Vec<u64>,
}

/// A chain of tests.
type Chain = VecDeque<usize>;

/// A class to step to, and how much that is worth, most important first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Step {
    n_urgent: u8,
    n_between: u32,
    n_of_class: u64,
    class: usize,
}

impl Greedy {
    pub(super) fn new(suite: &Suite, layout: &Layout) -> Self {
        let positions = 0..layout.n_tests();
        Self {
            durations: positions.map(|p| suite.duration(layout.test(p))).collect(),
            uncovered: Uncovered::new(layout),
            rows: UnusedRows::new(layout),
            n_orders_left: LowerBounds::of(suite).n_orders(),
            n_pairs_later: 0,
            unvisited: Vec::new(),
            open: vec![0; layout.n_tests().div_ceil(64)],
        }
    }

    /// The positions of the next order; empty when there is none.
    pub(super) fn next_order(&mut self, layout: &Layout) -> Vec<usize> {
        let mut order = Vec::new();
        if self.uncovered.n_pairs() == 0 && self.rows.is_empty() {
            return order;
        }
        let classes = 0..layout.n_classes();
        let n_visits_min = classes.map(|class| self.uncovered.n_visits_min(class)).max();
        self.n_orders_left = self.n_orders_left.max(n_visits_min.unwrap_or(0)).max(1);
        self.n_pairs_later = (layout.n_classes() as u64 - 1) * (self.n_orders_left - 1);
        self.unvisited.clear();
        self.unvisited
            .extend((0..layout.n_classes()).filter(|class| {
                0 < self.uncovered.n_of_class(*class) || self.rows.has_any(*class)
            }));
        fill(&mut self.open, 0..layout.n_tests(), true);
        while let Some(class) = self.next_seed(order.is_empty()) {
            let chain = self.chain(layout, class);
            if 1 < chain.len() {
                order.extend(chain);
            }
        }
        self.n_orders_left -= 1;
        order
    }

    /// The class from which to grow the next chain of this order, if another is worth its cost.
    fn next_seed(&self, is_first: bool) -> Option<usize> {
        let class = self.unvisited.iter().copied().max_by_key(|class| {
            let n_visits = self.uncovered.n_visits_min(*class);
            (self.rows.has_any(*class), n_visits, Reverse(*class))
        })?;
        let is_needed = self.rows.has_any(class) || 0 < self.n_urgent(class) || self.is_short();
        (is_first || is_needed).then_some(class)
    }

    fn mark_visited(&mut self, layout: &Layout, class: usize) {
        fill(&mut self.open, layout.class(class), false);
        let place = self.unvisited.iter().position(|other| *other == class);
        self.unvisited.swap_remove(place.expect("a class is visited once"));
    }

    fn is_urgent(&self, side: Side, class: usize) -> bool {
        self.n_orders_left <= self.uncovered.of_class(side, class)
    }

    fn n_urgent(&self, class: usize) -> u8 {
        Side::BOTH.map(|side| u8::from(self.is_urgent(side, class))).iter().sum()
    }

    fn is_short(&self) -> bool {
        self.n_pairs_later < self.uncovered.n_pairs()
    }

    /// Grows a chain from this class as far as it goes.
    fn chain(&mut self, layout: &Layout, class: usize) -> Chain {
        let seed = layout.class(class).max_by_key(|test| {
            let has_row = self.rows.can_start(Side::After, *test);
            (has_row, self.uncovered.of_test(*test), Reverse(*test))
        });
        let seed = seed.expect("classes are not empty");
        self.mark_visited(layout, class);
        let mut chain = Chain::from(self.rows.take(layout, Side::After, seed));
        self.grow(layout, &mut chain);
        while Side::BOTH.into_iter().any(|side| self.bridge(layout, &mut chain, side)) {
            self.grow(layout, &mut chain);
        }
        chain
    }

    /// Extends the chain over uncovered pairs, at the more valuable end.
    fn grow(&mut self, layout: &Layout, chain: &mut Chain) {
        let best =
            |this: &Self, chain: &Chain, side| this.best_step(layout, side, end(chain, side));
        let mut steps = Side::BOTH.map(|side| best(self, chain, side));
        loop {
            let side = if steps[0].map(Step::worth) < steps[1].map(Step::worth) {
                Side::Before
            } else {
                Side::After
            };
            let Some(Step { class, .. }) = steps[side as usize] else {
                return;
            };
            self.take_step(layout, chain, side, class);
            for other in Side::BOTH {
                // Classes not visited yet keep their worth, so the far end's choice stands.
                let step = &mut steps[other as usize];
                if other == side || step.is_some_and(|step| step.class == class) {
                    *step = best(self, chain, other);
                }
            }
        }
    }

    /// The class to which an uncovered pair should lead from this test.
    fn best_step(&self, layout: &Layout, side: Side, test: usize) -> Option<Step> {
        let row = self.uncovered.row(side, test);
        let from = layout.class_of(test);
        let mut best = None;
        for &class in &self.unvisited {
            let step = Some(Step {
                n_urgent: self.n_urgent(class),
                n_between: self.uncovered.n_between(side, from, class),
                n_of_class: self.uncovered.n_of_class(class),
                class,
            });
            if best < step && 0 < count_in(row, layout.class(class)) {
                best = step;
            }
        }
        best
    }

    fn take_step(&mut self, layout: &Layout, chain: &mut Chain, side: Side, class: usize) {
        self.mark_visited(layout, class);
        let from = end(chain, side);
        let candidates = || members_in(self.uncovered.row(side, from), layout.class(class));
        let with_row = candidates().find(|test| self.rows.can_start(side, *test));
        let to = with_row
            .or_else(|| candidates().find(|test| self.can_go_on(side, *test)))
            .or_else(|| candidates().min_by_key(|test| self.durations[*test]));
        let to = to.expect("a step leads over an uncovered pair");
        match side {
            Side::After => self.uncovered.cover(layout, from, to),
            Side::Before => self.uncovered.cover(layout, to, from),
        }
        for test in self.rows.take(layout, side, to) {
            push(chain, side, test);
        }
    }

    /// Whether an uncovered pair leads from a test into a class that is not in the order.
    fn can_go_on(&self, side: Side, test: usize) -> bool {
        let row = self.uncovered.row(side, test);
        row.iter().zip(&self.open).any(|(uncovered, open)| uncovered & open != 0)
    }

    /// Adds a test at the end of the chain from which it can go on, if that is worth its cost.
    fn bridge(&mut self, layout: &Layout, chain: &mut Chain, side: Side) -> bool {
        let class = layout.class_of(end(chain, side));
        if !(self.is_urgent(side, class) || self.is_short()) {
            return false;
        }
        let unused = layout.class(class).filter(|test| !chain.contains(test));
        let bridges = unused.filter_map(|test| {
            let step = self.best_step(layout, side, test)?;
            Some((step.n_urgent, Reverse(self.durations[test]), step.n_between, test))
        });
        let Some((.., test)) = bridges.max() else {
            return false;
        };
        push(chain, side, test);
        true
    }
}

impl Step {
    fn worth(self) -> (u8, u32, u64) {
        (self.n_urgent, self.n_between, self.n_of_class)
    }
}

fn end(chain: &Chain, side: Side) -> usize {
    let end = match side {
        Side::After => chain.back(),
        Side::Before => chain.front(),
    };
    *end.expect("chains are not empty")
}

fn push(chain: &mut Chain, side: Side, test: usize) {
    match side {
        Side::After => chain.push_back(test),
        Side::Before => chain.push_front(test),
    }
}
