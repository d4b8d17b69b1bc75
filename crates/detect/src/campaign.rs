//! Which tests of the suite are flaky? The campaign that asks about all of them.
//!
//! In this order, because each step finds more for its runs than the next:
//!
//! 1. the original order, again while something fails in it (set-up);
//! 2. its reverse: with the original it puts every test before every other;
//! 3. every test alone, once: finds every brittle. Where starting a process is dear, this is spread
//!    over the orders of step 6, for the same price as these;
//! 4. the original order with each test run twice in a row: finds every non-idempotent test;
//! 5. the original order under perturbed choices, where the runner can do that;
//! 6. planned orders, each followed by its reverse where it showed nothing new, until a test with
//!    the flake rate asked for would have been seen with the confidence asked for.
//!
//! A test that has passed and failed is under suspicion and is looked into (see [`crate::explain`])
//! before further orders are run, but not before [`N_ORDERS_RIPE`] orders: every order is evidence
//! for all suspects at once, and with a few of them the likely culprits stand out. What these
//! investigations will cost is put aside. Tests that never passed are looked into at the end.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::rc::Rc;
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::future::{join_all, try_join_all};
use futures_util::stream;
use unflake_model::{
    Cause, Confidence, Dependencies, Environment, Evidence, Finding, Order, OutcomeChange,
    OutcomeKind, Repetition, Spent, TestIndex, Verdict,
};
use unflake_orders::planned::Planned;
use unflake_orders::reverse::{ReverseAfter, ReverseAfterPass, Shown, Turn};
use unflake_stats::plan::{rate_detectable, runs_needed};
use unflake_stats::rate::Rate;

use crate::cause::causes;
use crate::choices::{self, Contrast, NOTHING_PERTURBED};
use crate::explain::{Depth, explain};
use crate::lab::{Lab, OutOfBudget, Urgency};
use crate::ledger::Run;
use crate::twice;

/// Orders after which suspicions are ripe to be looked into.
pub const N_ORDERS_RIPE: u64 = 8;

/// What looking into one suspicion is expected to cost: confirmation, and a few questions.
const ATTEMPTS_PER_SUSPECT: u64 = 100;
/// See [`ATTEMPTS_PER_SUSPECT`].
const RUNS_PER_SUSPECT: u64 = 50;

/// Runs in a row in which no test began, after which the rest is let be: once may be chance.
const FUTILE_MAX: usize = 2;

/// What a campaign does.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// The seed of all orders.
    pub seed: u64,
    /// How often to run the original order while something fails in it.
    pub tries: u32,
    /// How much to find out about each flaky test.
    pub depth: Depth,
    /// How many perturbed runs to make; zero where the runner cannot perturb.
    pub perturbed_runs: u64,
    /// Tests with at least this flake rate are to be found with the budget's confidence.
    pub flake_rate_min: Rate,
}

/// How the set-up went.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SetUp {
    /// How often the original order was run.
    pub tries: u32,
    /// Tests that failed in the last of these runs. They are not dropped: they are looked into.
    pub failing: Vec<TestIndex>,
}

/// Why a campaign looked no further.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// Enough orders were run for the confidence asked for.
    Confident,
    /// The budget did not cover another order.
    OutOfBudget,
}

/// What a campaign found.
#[derive(Clone, Debug)]
pub struct Report {
    /// Every test that is not simply passing, in original order.
    pub findings: Vec<Finding>,
    /// Findings that share a root cause.
    pub causes: Vec<Cause>,
    /// Tests that ended in different ways, whatever that means.
    pub changes: Vec<OutcomeChange>,
    /// How the set-up went.
    pub set_up: SetUp,
    /// How many whole orders were run.
    pub n_orders: u64,
    /// A test with this flake rate would have been seen to fail in one of these orders with the
    /// budget's confidence, if orders were drawn at random (they are spread better than that).
    pub flake_rate_detectable: f64,
    /// Why the campaign looked no further.
    pub ended: Ended,
}

/// Runs a campaign.
pub async fn campaign(lab: Lab, settings: Settings) -> Report {
    let mut campaign = Campaign {
        not_isolated: lab.suite().tests().collect(),
        spent_alone: Duration::ZERO,
        start_of_alone: None,
        explore: lab.part(Urgency::Explore),
        lab,
        settings,
        suspects: BTreeSet::new(),
        findings: BTreeMap::new(),
        other_findings: Vec::new(),
        set_up: SetUp::default(),
        n_orders: 0,
    };
    let ended = match campaign.look_around().await {
        Ok(()) => Ended::Confident,
        Err(OutOfBudget) => Ended::OutOfBudget,
    };
    campaign.report(ended).await
}

struct Campaign {
    lab: Lab,
    explore: Lab,
    settings: Settings,
    suspects: BTreeSet<TestIndex>,
    findings: BTreeMap<TestIndex, Finding>,
    /// Of tests that never failed in a plain run, as far as was known then.
    other_findings: Vec<Finding>,
    set_up: SetUp,
    n_orders: u64,
    not_isolated: VecDeque<TestIndex>,
    /// Twice the time spent on tests alone: half of what exploration spends may go there.
    spent_alone: Duration,
    start_of_alone: Option<Duration>,
}

impl Campaign {
    async fn look_around(&mut self) -> Result<(), OutOfBudget> {
        self.set_up().await?;
        let backwards = Order::original(self.lab.suite()).reversed();
        self.run_orders(&[backwards]).await?;
        self.isolate_some().await?;
        self.repeat_each().await?;
        self.perturb().await?;
        self.vary_orders().await?;
        while !self.not_isolated.is_empty() {
            self.isolate_some().await?;
        }
        Ok(())
    }

    async fn set_up(&mut self) -> Result<(), OutOfBudget> {
        while self.set_up.tries < self.settings.tries.max(1) {
            let runs = self.run_orders(&[Order::original(self.lab.suite())]).await?;
            self.set_up.tries += 1;
            let runs = runs.iter().flat_map(|(runs, _)| runs);
            self.set_up.failing = runs.flat_map(|run| run.failures()).collect();
            self.set_up.failing.sort_unstable();
            if self.set_up.failing.is_empty() {
                break;
            }
        }
        Ok(())
    }

    /// Runs orders at once and puts under suspicion what they show.
    async fn run_orders(
        &mut self,
        orders: &[Order],
    ) -> Result<Vec<(Vec<Rc<Run>>, Shown)>, OutOfBudget> {
        let whole =
            |order: &Order| self.run_whole(order.clone(), Environment::Plain, Repetition::Once);
        let all = try_join_all(orders.iter().map(whole)).await?;
        self.n_orders += all.len() as u64;
        let mut shown = Vec::new();
        for (order, runs) in orders.iter().zip(all) {
            let n_suspects = self.suspects.len();
            self.suspect_all(order.tests());
            let is_new = n_suspects < self.suspects.len();
            shown.push((runs, if is_new { Shown::SomethingNew } else { Shown::NothingNew }));
        }
        if N_ORDERS_RIPE <= self.n_orders {
            self.examine_suspects().await;
        }
        Ok(shown)
    }

    /// Runs every test of an order: those that a crash or a timeout cut off, in a process of their
    /// own. Each run makes at least one attempt, so there is an end to it; where none can be
    /// started, there is one soon.
    async fn run_whole(
        &self,
        order: Order,
        environment: Environment,
        repetition: Repetition,
    ) -> Result<Vec<Rc<Run>>, OutOfBudget> {
        let mut runs: Vec<Rc<Run>> = Vec::new();
        let mut rest = self.enders_last(&order);
        let mut n_futile = 0;
        while !rest.is_empty() && n_futile < FUTILE_MAX {
            let n_before = rest.len();
            let run = self.explore.run_with(rest, environment, repetition).await?;
            let is_not_run = |(test, outcome)| (outcome == OutcomeKind::NotRun).then_some(test);
            let mut not_run: Vec<TestIndex> = run.outcomes().filter_map(is_not_run).collect();
            not_run.dedup();
            n_futile = if not_run.len() < n_before { 0 } else { n_futile + 1 };
            rest = Order::from_distinct(not_run);
            runs.push(run);
        }
        Ok(runs)
    }

    /// Moves tests that end the process to the end, so that they cost one order its tail only once.
    fn enders_last(&self, order: &Order) -> Order {
        let ledger = self.lab.ledger();
        let enders = ledger.process_enders();
        if enders.is_empty() {
            return order.clone();
        }
        let (last, first): (Vec<TestIndex>, Vec<TestIndex>) =
            order.tests().iter().partition(|test| enders.contains(test));
        Order::from_distinct([first, last].concat())
    }

    fn suspect_all(&mut self, tests: &[TestIndex]) {
        for test in tests {
            let record = *self.lab.ledger().of(*test);
            if record.passed_in.is_some() && record.failed_in.is_some() {
                self.suspects.insert(*test);
            }
        }
        let waiting = self.suspects.iter().filter(|test| !self.findings.contains_key(test)).count();
        let suite = self.lab.suite();
        let mean = suite.tests().map(|test| suite.duration(test)).sum::<Duration>()
            / u32::try_from(suite.n_tests()).unwrap_or(u32::MAX);
        self.lab.put_aside(Spent {
            runs: RUNS_PER_SUSPECT * waiting as u64,
            attempts: ATTEMPTS_PER_SUSPECT * waiting as u64,
            time: mean * u32::try_from(ATTEMPTS_PER_SUSPECT * waiting as u64).unwrap_or(u32::MAX),
        });
    }

    /// Looks into every suspicion not looked into yet, as many at once as can be run at once: what
    /// is learnt about one helps with the next.
    async fn examine_suspects(&mut self) {
        let depth = self.settings.depth;
        let waiting: Vec<TestIndex> = self
            .suspects
            .iter()
            .filter(|test| !self.findings.contains_key(test))
            .copied()
            .collect();
        let findings: Vec<Finding> = stream::iter(waiting)
            .map(|test| explain(self.lab.part(Urgency::Investigate), test, depth))
            .buffer_unordered(self.lab.width())
            .collect()
            .await;
        self.findings.extend(findings.into_iter().map(|finding| (finding.test, finding)));
    }

    /// Runs tests alone, as many as cost no more than the whole orders so far have cost.
    async fn isolate_some(&mut self) -> Result<(), OutOfBudget> {
        let suite = Rc::clone(self.lab.suite());
        let spent = self.explore.spent();
        let mut allowed = spent.time.saturating_sub(self.spent_alone);
        let n_runs = u32::try_from(spent.runs).unwrap_or(u32::MAX).max(1);
        let mut tests = Vec::new();
        while let Some(test) = self.not_isolated.pop_front() {
            tests.push(test);
            // What a process costs beyond its tests is not known; the share of a run is a guess on
            // the high side while orders are whole, and a good one once tests have run alone.
            let start = self.start_of_alone.unwrap_or(spent.time / n_runs / 50);
            let cost = suite.duration(test) + start;
            if allowed <= cost {
                break;
            }
            allowed -= cost;
        }
        let alone = |test: &TestIndex| self.explore.run(Order::from_distinct([*test]));
        let runs = try_join_all(tests.iter().map(alone)).await?;
        let time: Duration = runs.iter().map(|run| run.spent.time).sum();
        let tests_only: Duration = tests.iter().map(|test| suite.duration(*test)).sum();
        let n = u32::try_from(runs.len()).unwrap_or(u32::MAX).max(1);
        self.start_of_alone = Some(time.saturating_sub(tests_only) / n);
        self.spent_alone += time * 2;
        self.suspect_all(&tests);
        Ok(())
    }

    /// Step 4: a test whose second attempt failed where its first passed.
    async fn repeat_each(&mut self) -> Result<(), OutOfBudget> {
        let order = Order::original(self.lab.suite());
        let runs = self.run_whole(order, Environment::Plain, Repetition::Twice).await?;
        let attempts: Vec<(TestIndex, OutcomeKind)> =
            runs.iter().flat_map(|run| run.outcomes()).collect();
        let spoiled =
            attempts.chunks_exact(2).filter(|pair| twice::passes_then_fails(pair[0].1, pair[1].1));
        let confirm = |test| twice::confirm(self.lab.part(Urgency::Investigate), test);
        let findings = join_all(spoiled.map(|pair| confirm(pair[0].0))).await;
        self.other_findings.extend(findings.into_iter().flatten());
        Ok(())
    }

    /// Step 5: a test that fails under some open choices, and passes under others.
    async fn perturb(&mut self) -> Result<(), OutOfBudget> {
        let mut ended: BTreeMap<TestIndex, Perturbed> = BTreeMap::new();
        for seed in 0..self.settings.perturbed_runs {
            let order = Order::original(self.lab.suite());
            let environment = Environment::open_choices(seed);
            let runs = self.run_whole(order, environment, Repetition::Once).await?;
            let mut outcomes = runs.iter().flat_map(|run| run.outcomes());
            if outcomes.all(|(_, outcome)| outcome == OutcomeKind::NotRun) {
                // Names of tests that are made up at each start, for one, cannot be found again.
                break;
            }
            for (test, outcome) in runs.iter().flat_map(|run| run.outcomes()) {
                ended.entry(test).or_default().add(environment, outcome);
            }
        }
        let is_known = |test: TestIndex| {
            let is_found = self.other_findings.iter().any(|finding| finding.test == test);
            is_found || self.lab.ledger().of(test).tally.is_mixed()
        };
        let candidates = ended.into_iter().filter_map(|(test, it)| {
            let passes = self.lab.ledger().of(test).tally.failures == 0;
            let passing = it.passing.or(passes.then_some(NOTHING_PERTURBED))?;
            Some((test, it.failing?, passing))
        });
        let mut together: BTreeMap<Contrast, Vec<TestIndex>> = BTreeMap::new();
        for (test, failing, passing) in candidates.filter(|(test, ..)| !is_known(*test)) {
            together.entry(Contrast { failing, passing }).or_default().push(test);
        }
        let confirm = |(contrast, tests)| {
            choices::confirm_all(self.lab.part(Urgency::Investigate), tests, contrast)
        };
        let findings = join_all(together.into_iter().map(confirm)).await;
        self.other_findings.extend(findings.into_iter().flatten());
        Ok(())
    }

    async fn vary_orders(&mut self) -> Result<(), OutOfBudget> {
        let confidence = self.lab.budget().confidence();
        let n_wanted = runs_needed(self.settings.flake_rate_min, confidence).unwrap_or(u64::MAX);
        let mut turns = ReverseAfterPass::new(ReverseAfter::NothingNew);
        while self.n_orders < n_wanted {
            let batch: Vec<Turn> = (0..self.lab.width()).map(|_| turns.ask()).collect();
            let suite = Rc::clone(self.lab.suite());
            let planned = Planned::new(&suite, self.settings.seed);
            let orders: Vec<Order> =
                batch.iter().map(|turn| turn.order(|i| planned.forward(i))).collect();
            for (turn, (_, shown)) in batch.into_iter().zip(self.run_orders(&orders).await?) {
                turns.tell(turn, shown);
            }
            self.isolate_some().await?;
        }
        Ok(())
    }

    async fn report(mut self, ended: Ended) -> Report {
        for test in self.lab.suite().tests() {
            let record = *self.lab.ledger().of(test);
            if record.failed_in.is_some() {
                self.suspects.insert(test);
            }
        }
        self.examine_suspects().await;
        let mut findings = std::mem::take(&mut self.findings);
        findings.retain(|_, finding| finding.verdict != Verdict::NotFlaky);
        for finding in std::mem::take(&mut self.other_findings) {
            // Whoever fails under the choices that happened to be made fails every time.
            let is_id = finding.verdict == Verdict::Id;
            let known = findings.get(&finding.test).map(|finding| finding.verdict);
            if known.is_none() || is_id && known == Some(Verdict::AlwaysFailing) {
                findings.insert(finding.test, finding);
            }
        }
        for finding in findings.values_mut() {
            finding.tally = self.lab.ledger().of(finding.test).tally;
        }
        let findings: Vec<Finding> = findings.into_values().collect();
        let ledger = self.lab.ledger();
        Report {
            causes: causes(&findings),
            findings,
            changes: ledger.changes().collect(),
            set_up: self.set_up,
            n_orders: self.n_orders,
            flake_rate_detectable: rate_detectable(self.n_orders, self.lab.budget().confidence()),
            ended,
        }
    }
}

/// Choices under which a test was seen to fail, and to pass.
#[derive(Clone, Copy, Debug, Default)]
struct Perturbed {
    failing: Option<Environment>,
    passing: Option<Environment>,
}

impl Perturbed {
    fn add(&mut self, environment: Environment, outcome: OutcomeKind) {
        match outcome.evidence() {
            Some(Evidence::Fail) => self.failing = self.failing.or(Some(environment)),
            Some(Evidence::Pass) => self.passing = self.passing.or(Some(environment)),
            None => (),
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Confirmed {
    Yes,
    No,
}

pub(crate) fn finding(
    lab: &Lab,
    test: TestIndex,
    verdict: Verdict,
    confirmed: Confirmed,
) -> Finding {
    let record = *lab.ledger().of(test);
    // Passing and failing at one and the same rate, a test shows ten of each with at most this
    // probability; see `classify`.
    let sure = Confidence::new(1.0 - 0.5_f64.powi(20)).ok();
    let is_confirmed = confirmed == Confirmed::Yes;
    Finding {
        test,
        verdict,
        confirmed: is_confirmed,
        confidence: sure.filter(|_| is_confirmed),
        tally: record.tally,
        passed_in: record.passed_in,
        failed_in: record.failed_in,
        dependencies: Dependencies::default(),
        is_complete: is_confirmed,
        contrast: None,
        fails_under: None,
        questions: lab.n_questions(),
        spent: lab.spent(),
    }
}
