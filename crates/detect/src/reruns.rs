//! Which tests fail at random, found in less time than by running everything again and again?
//!
//! Every test is run once. After that the next run goes where a second of running is expected to
//! find most: [`belief`] says what a run of a test may show, [`schedule`] which tests are worth
//! running together. Each run has another order, class-compatible and shuffled, of the tests chosen
//! for it: many orders with few runs each find more than few orders with many (guideline G2 of the
//! rerun study). Passing and failing in different orders is not yet chance; so each test that did
//! both is then looked into by [`explain`].

pub mod belief;
pub mod schedule;

use std::collections::BTreeSet;
use std::rc::Rc;

use futures_util::future::{join_all, try_join_all};
use unflake_model::{Finding, Order, TestIndex};
use unflake_orders::shuffle::Shuffle;

use crate::explain::{Depth, explain};
use crate::lab::{Lab, OutOfBudget, Urgency};
use crate::ledger::Run;
use belief::{Belief, Rates};
use schedule::{Candidate, Done, Schedule, Terms};

/// What to do.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The seed of all orders.
    pub seed: u64,
    /// What a run costs, and when to stop.
    pub terms: Terms,
    /// How common each failure rate is thought to be.
    pub rates: Rates,
}

/// How rerunning came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// As agreed.
    Done(Done),
    /// Before that.
    OutOfBudget,
}

/// What was found.
#[derive(Clone, Debug)]
pub struct Report {
    /// About each test that passed and failed.
    pub findings: Vec<Finding>,
    /// How many others are expected to fail at random.
    pub hidden: f64,
    /// Each of them was run at least so often.
    pub runs_min: u64,
    /// Batches that were run, without the run of everything.
    pub n_batches: u64,
    /// Attempts in them.
    pub n_attempts: u64,
    /// How it ended.
    pub ended: Ended,
}

/// Runs tests again until it is no longer worth it. A candidate for each test of the suite.
pub async fn reruns(lab: Lab, settings: Settings, candidates: Vec<Candidate>) -> Report {
    let schedule = Schedule::new(&candidates, Belief::new(&settings.rates), settings.terms);
    let mut work = Work {
        lab: lab.part(Urgency::Explore),
        seed: settings.seed,
        schedule,
        n_batches: 0,
        n_attempts: 0,
        n_orders: 0,
        found: BTreeSet::new(),
    };
    let ended = work.go_on().await.map_or(Ended::OutOfBudget, Ended::Done);
    let look = |test: &TestIndex| explain(lab.part(Urgency::Investigate), *test, Depth::Kind);
    let findings = join_all(work.found.iter().map(look)).await;
    let Work { schedule, n_batches, n_attempts, .. } = work;
    let runs_min = schedule.fewest_runs().unwrap_or(0);
    Report { findings, hidden: schedule.hidden(), runs_min, n_batches, n_attempts, ended }
}

struct Work {
    lab: Lab,
    seed: u64,
    schedule: Schedule,
    n_batches: u64,
    n_attempts: u64,
    n_orders: u64,
    found: BTreeSet<TestIndex>,
}

impl Work {
    async fn go_on(&mut self) -> Result<Done, OutOfBudget> {
        let first = self.lab.run(Order::original(self.lab.suite())).await?;
        self.tell(&first);
        loop {
            let mut orders = Vec::new();
            let mut end = None;
            while orders.len() < self.lab.width() && end.is_none() {
                match self.schedule.next_batch() {
                    Ok(batch) => orders.push(self.order(&batch)),
                    Err(done) => end = Some(done),
                }
            }
            if let (true, Some(done)) = (orders.is_empty(), end) {
                return Ok(done);
            }
            let runs = try_join_all(orders.into_iter().map(|order| self.lab.run(order))).await?;
            self.n_batches += runs.len() as u64;
            for run in runs {
                self.n_attempts += run.spent.attempts;
                self.tell(&run);
            }
        }
    }

    fn tell(&mut self, run: &Rc<Run>) {
        for (test, outcome) in run.outcomes() {
            if self.schedule.tell(test, outcome) {
                self.found.insert(test);
            }
        }
    }

    /// The tests of a batch in an order of its own.
    fn order(&mut self, batch: &[TestIndex]) -> Order {
        let chosen: BTreeSet<TestIndex> = batch.iter().copied().collect();
        self.n_orders += 1;
        let whole = Shuffle::ClassesAndTests.order(self.lab.suite(), self.seed, self.n_orders);
        let tests = whole.tests().iter().copied().filter(|test| chosen.contains(test));
        Order::from_distinct(tests.collect::<Vec<_>>())
    }
}
