//! Which runs does a rerun study make?
//!
//! It runs the suite in batches, each of them a number of runs of one order: the original one, the
//! one with all classes reversed, then shuffled ones. Then it runs every test that both passed and
//! failed as often alone. The published study made 40 batches of 100 runs in up to 21 orders
//! (root-cause spec 2.3); it advises many orders with few runs each, which is the default here.
//! [`unflake_stats::rerun_study`] evaluates the runs.

use std::rc::Rc;

use futures_util::future::try_join_all;
use unflake_model::{Order, Suite, TestIndex};
use unflake_orders::shuffle::{Shuffle, reverse_class};

use crate::lab::{Lab, OutOfBudget, Urgency};

/// How much to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Batches {
    /// The seed of the shuffled orders.
    pub seed: u64,
    /// How many batches there are, each with one order.
    pub n_batches: u64,
    /// How many runs each batch has.
    pub runs_per_batch: u64,
    /// How often a test is run alone, at most.
    pub alone_max: u64,
}

impl Batches {
    /// The order of a batch.
    pub fn order(&self, suite: &Suite, batch: u64) -> Order {
        match batch {
            0 => Order::original(suite),
            1 => reverse_class(suite),
            _ => Shuffle::ClassesAndTests.order(suite, self.seed, batch),
        }
    }
}

/// How much of a study was run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// All of it.
    Whole,
    /// Part of it, because the budget ended.
    Part,
}

/// Makes all runs of a study.
pub async fn rerun_study(lab: Lab, settings: Batches) -> Extent {
    match make(&lab.part(Urgency::Explore), settings).await {
        Ok(()) => Extent::Whole,
        Err(OutOfBudget) => Extent::Part,
    }
}

async fn make(lab: &Lab, settings: Batches) -> Result<(), OutOfBudget> {
    let suite = Rc::clone(lab.suite());
    for batch in 0..settings.n_batches {
        let order = settings.order(&suite, batch);
        run_all(lab, std::iter::repeat_n(order, count(settings.runs_per_batch))).await?;
    }
    let is_flaky = |test: &TestIndex| lab.ledger().of(*test).tally.is_mixed();
    let flaky: Vec<TestIndex> = suite.tests().filter(is_flaky).collect();
    let n_runs = (settings.n_batches * settings.runs_per_batch).min(settings.alone_max);
    for _ in 0..n_runs {
        // The tests take turns, so that a bad minute does not hit one of them alone.
        run_all(lab, flaky.iter().map(|test| Order::from_distinct([*test]))).await?;
    }
    Ok(())
}

async fn run_all(lab: &Lab, orders: impl Iterator<Item = Order>) -> Result<(), OutOfBudget> {
    let orders: Vec<Order> = orders.collect();
    for together in orders.chunks(lab.width().max(1)) {
        try_join_all(together.iter().map(|order| lab.run(order.clone()))).await?;
    }
    Ok(())
}

fn count(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}
