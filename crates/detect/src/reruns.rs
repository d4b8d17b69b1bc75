//! Which tests fail at random, found in less time than by rerunning everything?
//!
//! Every test is run once. After that the next run goes where a second of running is expected to
//! find most: [`belief`] estimates what a run of a test may show, [`schedule`] which tests are
//! worth running together. Each run shuffles the tests chosen for it into a new class-compatible
//! order: many orders with few runs each find more than few orders with many (guideline G2 of the
//! rerun study). Passing and failing in different orders need not be chance: the tests before one
//! that just ended differently are run before it again. If it then ends as it used to, it is random
//! beyond doubt, and is reported at once; so the answer is there however soon the budget ends. The
//! others are investigated by [`explain`] when the search is over, for which part of the budget is
//! put aside.

pub mod belief;
pub mod schedule;

use std::collections::BTreeSet;
use std::rc::Rc;

use futures_util::future::{join_all, try_join_all};
use unflake_model::{Finding, Order, Spent, TestIndex};
use unflake_orders::shuffle::Shuffle;

use crate::depth::Depth;
use crate::explain::explain;
use crate::lab::{Lab, OutOfBudget, Urgency};
use crate::ledger::Run;
use belief::{Belief, Rates};
use schedule::{Candidate, Done, Schedule, Terms};

/// How often the tests before one that ended differently are run before it again. A test that fails
/// in 60 % of its runs shows that it is random in 19 of 20 cases; otherwise that stays open for
/// now.
const TRIES: u32 = 5;

/// Runs put aside to investigate a test that may depend on the order.
const RUNS_PUT_ASIDE: u64 = 50;

/// What to rerun, and on which terms.
#[derive(Clone, Debug)]
pub struct RerunSettings {
    /// The seed of all orders.
    pub seed: u64,
    /// What a run costs, and when to stop.
    pub terms: Terms,
    /// How common each failure rate is thought to be.
    pub rates: Rates,
}

/// How rerunning ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RerunEnd {
    /// As the terms say.
    Done(Done),
    /// Early, because the budget ran out.
    OutOfBudget,
}

/// The findings, and what may still be hidden.
#[derive(Clone, Debug)]
pub struct RerunFindings {
    /// The findings about tests that passed and failed.
    pub findings: Vec<Finding>,
    /// How many further tests are expected to fail at random.
    pub hidden: f64,
    /// The fewest runs that any of the other tests had.
    pub runs_min: u64,
    /// Batches that were run, not counting the first run of everything.
    pub n_batches: u64,
    /// Attempts in these batches.
    pub n_attempts: u64,
    /// How rerunning ended.
    pub ended: RerunEnd,
}

/// Reruns tests until it is no longer worthwhile. Takes a candidate for each test of the suite.
pub async fn reruns(
    lab: Lab,
    settings: RerunSettings,
    candidates: Vec<Candidate>,
) -> RerunFindings {
    let schedule = Schedule::new(&candidates, Belief::new(&settings.rates), settings.terms);
    let mut work = Work {
        lab: lab.part(Urgency::Explore),
        seed: settings.seed,
        schedule,
        n_batches: 0,
        n_attempts: 0,
        n_orders: 0,
        unveiled: Vec::new(),
        open: BTreeSet::new(),
        findings: Vec::new(),
    };
    let ended = work.go_on().await.map_or(RerunEnd::OutOfBudget, RerunEnd::Done);
    work.open.extend(work.unveiled.drain(..).map(|(test, _)| test));
    let look = |test: &TestIndex| explain(lab.part(Urgency::Investigate), *test, Depth::Kind);
    work.findings.extend(join_all(work.open.iter().map(look)).await);
    work.findings.sort_by_key(|finding| finding.test);
    let Work { schedule, n_batches, n_attempts, findings, .. } = work;
    let runs_min = schedule.fewest_runs().unwrap_or(0);
    RerunFindings { findings, hidden: schedule.hidden(), runs_min, n_batches, n_attempts, ended }
}

struct Work {
    lab: Lab,
    seed: u64,
    schedule: Schedule,
    n_batches: u64,
    n_attempts: u64,
    n_orders: u64,
    /// Tests that just ended differently, each with the order of that run.
    unveiled: Vec<(TestIndex, Order)>,
    /// Tests that ended differently, perhaps because the order was different.
    open: BTreeSet<TestIndex>,
    /// Findings about the tests that are random.
    findings: Vec<Finding>,
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
            self.follow_up().await?;
        }
    }

    /// Finds out which of the tests that just ended differently are random.
    async fn follow_up(&mut self) -> Result<(), OutOfBudget> {
        while let Some((test, order)) = self.unveiled.last().cloned() {
            let lab = self.lab.part(Urgency::Investigate);
            if is_random(&lab, test, order).await? {
                self.findings.push(explain(lab, test, Depth::Kind).await);
            } else {
                self.open.insert(test);
                let runs = RUNS_PUT_ASIDE * self.open.len() as u64;
                self.lab.put_aside(Spent { runs, ..Spent::default() });
            }
            self.unveiled.pop();
        }
        Ok(())
    }

    fn tell(&mut self, run: &Rc<Run>) {
        for (test, outcome) in run.outcomes() {
            if self.schedule.tell(test, outcome) {
                let order = run.order.truncated_at(test).unwrap_or_else(|| run.order.clone());
                self.unveiled.push((test, order));
            }
        }
    }

    /// The tests of a batch, in a new order.
    fn order(&mut self, batch: &[TestIndex]) -> Order {
        let chosen: BTreeSet<TestIndex> = batch.iter().copied().collect();
        self.n_orders += 1;
        let whole = Shuffle::ClassesAndTests.order(self.lab.suite(), self.seed, self.n_orders);
        let tests = whole.tests().iter().copied().filter(|test| chosen.contains(test));
        Order::from_distinct(tests.collect::<Vec<_>>())
    }
}

/// Whether a test passes and fails after the same tests, those before it in this order.
async fn is_random(lab: &Lab, test: TestIndex, order: Order) -> Result<bool, OutOfBudget> {
    lab.watch(test);
    for _ in 0..TRIES {
        if lab.ledger().is_non_deterministic(test) {
            return Ok(true);
        }
        lab.run(order.clone()).await?;
    }
    Ok(lab.ledger().is_non_deterministic(test))
}
