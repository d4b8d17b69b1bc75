//! Which runs does a rerun study take?
//!
//! The suite in batches, each batch so many runs of one order: the original one, the one with all
//! classes reversed, then shuffled ones. Then every test that was seen both to pass and to fail, as
//! often alone. The study that this follows made 40 batches of 100 runs in up to 21 orders
//! (root-cause spec 2.3); its own advice is many orders with few runs each, which is the default
//! here. What the runs say is the business of [`unflake_stats::rerun_study`].

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
    /// Batches, each of one order.
    pub n_batches: u64,
    /// Runs in each.
    pub runs_per_batch: u64,
    /// At most so many runs of a test alone.
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

/// How far a study came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// To its end.
    Whole,
    /// The budget ended it.
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
        // In turn, so that a bad minute does not hit one test alone.
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
