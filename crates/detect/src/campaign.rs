//! Which tests of the suite are flaky? The analysis that asks about all of them.
//!
//! In this order, because each step finds more for its runs than the next one:
//!
//! 1. the original order, repeated while something fails in it (set-up);
//! 2. its reverse: together they put every test before every other; and if it is known which tests
//!    leave something behind, these before all others, both ways;
//! 3. every test alone, once: finds every brittle. Where starting a process is dear, this is spread
//!    over the orders of step 6, and takes as much time as they do;
//! 4. the original order with each test run twice in a row: finds every non-idempotent test;
//! 5. the original order under a few perturbed choices, where the runner can do that;
//! 6. planned orders, each followed by its reverse if it showed nothing new, until a test with the
//!    wanted flake rate would have been seen with the wanted confidence. Where strings can be
//!    hashed differently, each order has its own hash seed: the same runs then bound both, and if
//!    something shows, `tell_apart` decides between order and seed;
//! 7. more perturbed choices, as many as there are orders.
//!
//! A test that has passed and failed is a suspect and is investigated (see [`crate::explain`])
//! before further orders are run, but not before [`N_ORDERS_RIPE`] orders: every order is evidence
//! for all suspects at once, and after a few of them the likely culprits stand out. The expected
//! cost of these investigations is put aside. If there are many suspects, a common cause is tried
//! first (`crowd`). Tests that never passed are investigated at the end, and so are tests that fail
//! at random: by then all orders show how much the order matters to them.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::rc::Rc;
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::future::{join_all, try_join_all};
use futures_util::stream;
use unflake_model::random::Random;
use unflake_model::{
    Cause, Environment, Evidence, Factors, Finding, HashSeeds, Order, OrderControl, OutcomeChange,
    OutcomeKind, Repetition, Spent, Tally, TestIndex, Tried, Verdict,
};
use unflake_orders::planned::Planned;
use unflake_orders::reverse::{ReverseAfter, ReverseAfterPass, Shown, Turn};
use unflake_stats::plan::{rate_detectable, runs_needed};
use unflake_stats::rate::Rate;

use crate::cause::causes;
use crate::choices::{self, Contrast, NOTHING_PERTURBED};
use crate::concluding::{Confirmed, finding};
use crate::crowd;
use crate::depth::Depth;
use crate::explain::{explain_order, explain_random};
use crate::lab::{Lab, OutOfBudget, Urgency};
use crate::ledger::Run;
use crate::twice;

/// The number of orders after which suspects are investigated.
pub const N_ORDERS_RIPE: u64 = 8;

/// The expected cost of investigating one suspect: confirmation, and a few questions.
const ATTEMPTS_PER_SUSPECT: u64 = 100;
/// See [`ATTEMPTS_PER_SUSPECT`].
const RUNS_PER_SUSPECT: u64 = 50;

/// After this many runs in a row in which no test started, the rest is skipped: once may be chance.
const FUTILE_MAX: usize = 2;

/// After a test has ended its process this often, and never done anything else, it is left out of
/// orders.
const HOPELESS: u64 = 3;

/// How many victims of a shared cause are investigated in the end for causes of their own.
const SHARED_MAX: usize = 40;

/// Perturbed runs before the planned orders: in 15 of 16 suites they show a choice between two both
/// ways.
const PERTURBED_FIRST: u64 = 5;

/// Label that separates hash seeds from other random numbers.
const HASHING: u64 = 0x6a5;

/// The environment of the order with this number: it has its own hash seed if they are varied.
pub(crate) fn environment(hash_seeds: HashSeeds, seed: u64, number: u64) -> Environment {
    match hash_seeds {
        HashSeeds::Varied => hash_seed(seed, number),
        HashSeeds::Fixed => Environment::Plain,
    }
}

/// What the analysis does, and how much of it.
#[derive(Clone, Debug)]
pub struct SuiteSettings {
    /// The seed of all orders.
    pub seed: u64,
    /// How often to run the original order while something fails in it.
    pub tries: u32,
    /// How much to find out about each flaky test.
    pub depth: Depth,
    /// Whether hash seeds are varied with the orders.
    pub hash_seeds: HashSeeds,
    /// How many runs to make with perturbed choices; zero if the runner cannot perturb.
    pub perturbed_runs: u64,
    /// Which choices to perturb.
    pub choices: Factors,
    /// Tests known to leave something behind.
    pub dirty: Vec<TestIndex>,
    /// Tests with at least this flake rate should be found with the budget's confidence.
    pub flake_rate_min: Rate,
}

/// How the set-up went.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SetUp {
    /// How often the original order was run.
    pub tries: u32,
    /// Tests that failed in the last of these runs. They are not dropped but investigated.
    pub failing: Vec<TestIndex>,
}

/// Why the analysis stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SuiteEnd {
    /// Enough orders were run for the wanted confidence.
    Confident,
    /// The budget did not cover another order.
    OutOfBudget,
}

/// What the analysis found.
#[derive(Clone, Debug)]
pub struct SuiteFindings {
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
    /// How many hash seeds had runs, each with an order of its own; 1 if they were not varied.
    pub n_seeds: u64,
    /// Why the analysis stopped.
    pub ended: SuiteEnd,
}

/// Finds the flaky tests of a suite.
pub async fn campaign(lab: Lab, settings: SuiteSettings) -> SuiteFindings {
    let mut campaign = Campaign {
        not_isolated: lab.suite().tests().collect(),
        by_seed: vec![Tally::default(); lab.suite().n_tests()],
        n_seeds: 0,
        n_perturbed: 0,
        perturbed: BTreeMap::new(),
        random: BTreeSet::new(),
        strays: BTreeSet::new(),
        shared: Vec::new(),
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
        Ok(()) => SuiteEnd::Confident,
        Err(OutOfBudget) => SuiteEnd::OutOfBudget,
    };
    campaign.report(ended).await
}

struct Campaign {
    lab: Lab,
    explore: Lab,
    settings: SuiteSettings,
    suspects: BTreeSet<TestIndex>,
    findings: BTreeMap<TestIndex, Finding>,
    /// Findings about tests that had never failed in a plain run by then.
    other_findings: Vec<Finding>,
    /// Tests that pass and fail at random.
    random: BTreeSet<TestIndex>,
    /// Tests that ended differently once under some hash seed, and were not investigated yet.
    strays: BTreeSet<TestIndex>,
    /// Tests that share the cause of another, and were not investigated themselves.
    shared: Vec<TestIndex>,
    /// How each test fared under the varied hash seeds, each of which counts once.
    by_seed: Vec<Tally>,
    n_seeds: u64,
    n_perturbed: u64,
    perturbed: BTreeMap<TestIndex, Perturbed>,
    set_up: SetUp,
    n_orders: u64,
    not_isolated: VecDeque<TestIndex>,
    /// Twice the time spent on tests alone: half of the cost of exploration may go there.
    spent_alone: Duration,
    start_of_alone: Option<Duration>,
}

impl Campaign {
    async fn look_around(&mut self) -> Result<(), OutOfBudget> {
        self.set_up().await?;
        let backwards = Order::original(self.lab.suite()).reversed();
        self.run_orders(&[(backwards, Environment::Plain)]).await?;
        self.dirty_first().await?;
        self.isolate_some().await?;
        self.repeat_each().await?;
        self.perturb(PERTURBED_FIRST.min(self.settings.perturbed_runs)).await?;
        self.vary_orders().await?;
        while !self.not_isolated.is_empty() {
            self.isolate_some().await?;
        }
        self.perturb(self.settings.perturbed_runs).await
    }

    /// Runs all tests that leave something behind before all others: a test that stumbles over any
    /// of it does so here, unless something puts it right in between. Then does it backwards.
    async fn dirty_first(&mut self) -> Result<(), OutOfBudget> {
        let suite = Rc::clone(self.lab.suite());
        let is_dirty: BTreeSet<TestIndex> = self.settings.dirty.iter().copied().collect();
        if is_dirty.is_empty() || suite.control().orders != OrderControl::Exact {
            return Ok(());
        }
        let (dirty, clean): (Vec<TestIndex>, Vec<TestIndex>) =
            suite.tests().partition(|test| is_dirty.contains(test));
        let backwards = |tests: &[TestIndex]| tests.iter().rev().copied().collect::<Vec<_>>();
        for tests in [
            [dirty.clone(), clean.clone()].concat(),
            [backwards(&dirty), backwards(&clean)].concat(),
        ] {
            self.run_orders(&[(Order::from_distinct(tests), Environment::Plain)]).await?;
        }
        Ok(())
    }

    async fn set_up(&mut self) -> Result<(), OutOfBudget> {
        while self.set_up.tries < self.settings.tries.max(1) {
            let original = Order::original(self.lab.suite());
            let runs = self.run_orders(&[(original, Environment::Plain)]).await?;
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

    /// Runs orders concurrently, and suspects the tests that they show to be flaky.
    async fn run_orders(
        &mut self,
        orders: &[(Order, Environment)],
    ) -> Result<Vec<(Vec<Rc<Run>>, Shown)>, OutOfBudget> {
        let whole = |(order, environment): &(Order, Environment)| {
            self.run_whole(order.clone(), *environment, Repetition::Once)
        };
        let all = try_join_all(orders.iter().map(whole)).await?;
        self.n_orders += all.len() as u64;
        let mut shown = Vec::new();
        for ((order, environment), runs) in orders.iter().zip(all) {
            let n_noticed = self.n_noticed();
            match environment {
                Environment::Hashed { .. } => {
                    self.tell_apart(order, *environment, &runs).await?;
                }
                _ => self.suspect_all(order.tests()),
            }
            let is_new = n_noticed < self.n_noticed();
            shown.push((runs, if is_new { Shown::SomethingNew } else { Shown::NothingNew }));
        }
        if N_ORDERS_RIPE <= self.n_orders {
            self.examine_suspects().await;
        }
        Ok(shown)
    }

    /// The number of tests about which something was noticed.
    fn n_noticed(&self) -> usize {
        self.suspects.len() + self.random.len() + self.other_findings.len()
    }

    /// In an order with its own hash seed, tests ended as no plain run has shown yet: what caused
    /// it? The order, if a plain run of it shows the same; then the suspicion is like any other.
    /// Nothing, if it does not happen again. Otherwise the seed: by itself, or together with
    /// earlier tests.
    async fn tell_apart(
        &mut self,
        order: &Order,
        environment: Environment,
        runs: &[Rc<Run>],
    ) -> Result<(), OutOfBudget> {
        if !has_begun(runs) {
            return self.do_without_seeds(order).await;
        }
        self.count_seed(runs);
        let mut surprises = self.surprises(runs);
        if surprises.is_empty() {
            return Ok(());
        }
        self.strays.extend(surprises.iter().map(|(test, _)| *test));
        self.run_whole(order.clone(), Environment::Plain, Repetition::Once).await?;
        self.suspect_all(order.tests());
        surprises.retain(|(test, _)| !self.suspects.contains(test));
        if !surprises.is_empty() {
            let again = self.run_whole(order.clone(), environment, Repetition::Once).await?;
            let ends: BTreeMap<TestIndex, Option<Evidence>> = outcomes_of(&again).collect();
            let (same, random): (Vec<_>, Vec<_>) = surprises
                .into_iter()
                .partition(|(test, ended)| ends.get(test) == Some(&Some(*ended)));
            self.random.extend(random.into_iter().map(|(test, _)| test));
            self.blame_seed(environment, same).await;
        }
        self.strays.clear();
        Ok(())
    }

    /// Stops varying hash seeds: no interpreter starts with another one, or it finds other tests.
    async fn do_without_seeds(&mut self, order: &Order) -> Result<(), OutOfBudget> {
        self.settings.hash_seeds = HashSeeds::Fixed;
        self.run_whole(order.clone(), Environment::Plain, Repetition::Once).await?;
        self.suspect_all(order.tests());
        Ok(())
    }

    fn count_seed(&mut self, runs: &[Rc<Run>]) {
        self.n_seeds += 1;
        for (test, evidence) in outcomes_of(runs) {
            if let Some(evidence) = evidence {
                self.by_seed[test.get()].add(evidence);
            }
        }
    }

    /// Tests that ended as no plain run has shown, and about which nothing is known yet.
    fn surprises(&self, runs: &[Rc<Run>]) -> Vec<(TestIndex, Evidence)> {
        let known: BTreeSet<TestIndex> = self.other_findings.iter().map(|it| it.test).collect();
        let is_known = |test: &TestIndex| {
            self.suspects.contains(test) || self.random.contains(test) || known.contains(test)
        };
        let ledger = self.lab.ledger();
        let is_surprise = |test: TestIndex, ended: Evidence| {
            let record = ledger.of(test);
            match ended {
                Evidence::Fail => record.failed_in.is_none() && record.passed_in.is_some(),
                Evidence::Pass => record.passed_in.is_none() && record.failed_in.is_some(),
            }
        };
        outcomes_of(runs)
            .filter_map(|(test, ended)| Some((test, ended?)))
            .filter(|(test, ended)| !is_known(test) && is_surprise(*test, *ended))
            .collect()
    }

    /// Investigates tests that end like this under a hash seed every time.
    async fn blame_seed(&mut self, seed: Environment, same: Vec<(TestIndex, Evidence)>) {
        let lab = self.lab.part(Urgency::Investigate);
        for ended in [Evidence::Fail, Evidence::Pass] {
            let tests = same.iter().filter(|it| it.1 == ended).map(|it| it.0);
            let tests: Vec<TestIndex> = tests.collect();
            let contrast = match ended {
                Evidence::Fail => Contrast { failing: seed, passing: Environment::Plain },
                Evidence::Pass => Contrast { failing: Environment::Plain, passing: seed },
            };
            let found = choices::confirm_all(lab.clone(), tests.clone(), contrast).await;
            let is_found = |test: &TestIndex| found.iter().any(|it| it.test == *test);
            let others = tests.into_iter().filter(|test| !is_found(test));
            for test in others.collect::<Vec<_>>() {
                // Both the seed and certain tests before it are needed.
                match explain_order(lab.under(seed), test, self.settings.depth).await {
                    Some(finding) => self.conclude_otherwise([finding].into_iter()),
                    None => {
                        self.random.insert(test);
                    }
                }
            }
            self.conclude_otherwise(found.into_iter());
        }
    }

    /// Runs every test of an order; those that a crash or a timeout cut off run in another process.
    /// Ends because each run makes at least one attempt; if none can be started, it gives up soon.
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

    /// Moves tests that end the process to the end, so that they cut off an order only once; those
    /// that have never done anything else are left out, because each may hang for the whole time
    /// limit.
    fn enders_last(&self, order: &Order) -> Order {
        let ledger = self.lab.ledger();
        let enders = ledger.process_enders();
        if enders.is_empty() {
            return order.clone();
        }
        let hopeless = ledger.hopeless(HOPELESS);
        let (last, first): (Vec<TestIndex>, Vec<TestIndex>) = order
            .tests()
            .iter()
            .filter(|test| !hopeless.contains(test))
            .partition(|test| enders.contains(test));
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

    /// Investigates all remaining suspects, as many concurrently as can be run: what is learnt
    /// about one helps with the next.
    async fn examine_suspects(&mut self) {
        let is_waiting =
            |test: &&TestIndex| !self.findings.contains_key(test) && !self.random.contains(test);
        let mut waiting: Vec<TestIndex> =
            self.suspects.iter().filter(is_waiting).copied().collect();
        let depth = self.settings.depth;
        let lab = self.lab.clone();
        let crowd = crowd::examine(&lab, &mut waiting, depth).await;
        self.shared.extend(crowd.iter().filter(|it| !it.is_complete).map(|it| it.test));
        self.findings.extend(crowd.into_iter().map(|finding| (finding.test, finding)));
        let look = |test| {
            let lab = self.lab.part(Urgency::Investigate);
            async move { (test, explain_order(lab, test, depth).await) }
        };
        let found: Vec<(TestIndex, Option<Finding>)> =
            stream::iter(waiting).map(look).buffer_unordered(self.lab.width()).collect().await;
        for (test, finding) in found {
            match finding {
                Some(finding) => {
                    self.findings.insert(test, finding);
                }
                None => {
                    self.random.insert(test);
                }
            }
        }
    }

    /// Investigates tests that share a cause, for further causes. If there are hundreds, which is
    /// mostly a single mishap, investigates none.
    async fn examine_shared(&mut self) {
        let shared = std::mem::take(&mut self.shared);
        if SHARED_MAX < shared.len() {
            return;
        }
        let depth = self.settings.depth;
        let found: Vec<Option<Finding>> = stream::iter(shared)
            .map(|test| explain_order(self.lab.part(Urgency::Investigate), test, depth))
            .buffer_unordered(self.lab.width())
            .collect()
            .await;
        let is_more = |it: &Finding| it.confirmed && it.is_complete;
        let found = found.into_iter().flatten().filter(is_more);
        self.findings.extend(found.map(|finding| (finding.test, finding)));
    }

    /// Investigates tests that fail at random, once all orders were run.
    async fn examine_random(&mut self) {
        let depth = self.settings.depth;
        let random = std::mem::take(&mut self.random);
        let found: Vec<Finding> = stream::iter(random)
            .map(|test| explain_random(self.lab.part(Urgency::Investigate), test, depth))
            .buffer_unordered(self.lab.width())
            .collect()
            .await;
        self.findings.extend(found.into_iter().map(|finding| (finding.test, finding)));
    }

    /// Runs tests alone, as many as cost no more than the whole orders so far.
    async fn isolate_some(&mut self) -> Result<(), OutOfBudget> {
        let suite = Rc::clone(self.lab.suite());
        let spent = self.explore.spent();
        let mut allowed = spent.time.saturating_sub(self.spent_alone);
        let n_runs = u32::try_from(spent.runs).unwrap_or(u32::MAX).max(1);
        let mut tests = Vec::new();
        while let Some(test) = self.not_isolated.pop_front() {
            tests.push(test);
            // The cost of a process beyond its tests is unknown; this share of a run is a guess on
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

    /// Step 4: suspects tests whose second attempt failed after the first one passed.
    async fn repeat_each(&mut self) -> Result<(), OutOfBudget> {
        if !self.lab.suite().control().repeats {
            return Ok(());
        }
        let order = Order::original(self.lab.suite());
        let runs = self.run_whole(order, Environment::Plain, Repetition::Twice).await?;
        let attempts: Vec<(TestIndex, OutcomeKind)> =
            runs.iter().flat_map(|run| run.outcomes()).collect();
        let spoiled =
            attempts.chunks_exact(2).filter(|pair| twice::passes_then_fails(pair[0].1, pair[1].1));
        let confirm = |test| twice::confirm(self.lab.part(Urgency::Investigate), test);
        let findings = join_all(spoiled.map(|pair| confirm(pair[0].0))).await;
        self.conclude_otherwise(findings.into_iter().flatten());
        Ok(())
    }

    /// Steps 5 and 7: suspects tests that fail under some open choices and pass under others.
    async fn perturb(&mut self, n_runs: u64) -> Result<(), OutOfBudget> {
        while self.n_perturbed < n_runs {
            let order = Order::original(self.lab.suite());
            let (factors, seed) = (self.settings.choices, self.n_perturbed);
            let environment = Environment::Perturbed { factors, seed };
            self.n_perturbed += 1;
            let runs = self.run_whole(order, environment, Repetition::Once).await?;
            if !has_begun(&runs) {
                // For example, test names that are generated at each start cannot be found again.
                self.n_perturbed = u64::MAX;
                break;
            }
            for (test, outcome) in runs.iter().flat_map(|run| run.outcomes()) {
                self.perturbed.entry(test).or_default().add(environment, outcome);
            }
        }
        self.contrast_choices().await;
        Ok(())
    }

    /// Tests again what ended differently under perturbed choices.
    async fn contrast_choices(&mut self) {
        let ended = std::mem::take(&mut self.perturbed);
        let is_known = |test: TestIndex| {
            let is_found = self.other_findings.iter().any(|finding| finding.test == test);
            is_found || self.random.contains(&test) || self.lab.ledger().of(test).tally.is_mixed()
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
        self.conclude_otherwise(findings.into_iter().flatten());
    }

    fn conclude_otherwise(&mut self, findings: impl Iterator<Item = Finding>) {
        for finding in findings {
            self.lab.conclude(&finding);
            self.other_findings.push(finding);
        }
    }

    async fn vary_orders(&mut self) -> Result<(), OutOfBudget> {
        let confidence = self.lab.budget().confidence();
        let n_wanted = runs_needed(self.settings.flake_rate_min, confidence).unwrap_or(u64::MAX);
        let mut turns = ReverseAfterPass::new(ReverseAfter::NothingNew);
        while self.n_orders < n_wanted || self.wants_seeds(n_wanted) {
            let batch: Vec<Turn> = (0..self.lab.width()).map(|_| turns.ask()).collect();
            let suite = Rc::clone(self.lab.suite());
            let planned = Planned::new(&suite, self.settings.seed);
            let SuiteSettings { hash_seeds, seed, .. } = self.settings;
            let environment = |number| environment(hash_seeds, seed, number);
            let orders: Vec<(Order, Environment)> = batch
                .iter()
                .zip(self.n_seeds..)
                .map(|(turn, n)| (turn.order(|i| planned.forward(i)), environment(n)))
                .collect();
            for (turn, (_, shown)) in batch.into_iter().zip(self.run_orders(&orders).await?) {
                turns.tell(turn, shown);
            }
            self.isolate_some().await?;
        }
        Ok(())
    }

    fn wants_seeds(&self, n_wanted: u64) -> bool {
        // Plain runs have a hash seed, too.
        self.settings.hash_seeds == HashSeeds::Varied && self.n_seeds + 1 < n_wanted
    }

    async fn report(mut self, ended: SuiteEnd) -> SuiteFindings {
        for test in self.lab.suite().tests() {
            let record = *self.lab.ledger().of(test);
            if record.failed_in.is_some() {
                self.suspects.insert(test);
            }
        }
        self.examine_suspects().await;
        self.examine_random().await;
        self.examine_shared().await;
        let strays = std::mem::take(&mut self.strays).into_iter();
        let unexplained =
            |test| finding(&self.lab, test, Verdict::InsufficientEvidence, Confirmed::No);
        let strays: Vec<Finding> = strays.map(unexplained).collect();
        self.other_findings.extend(strays);
        let mut findings = std::mem::take(&mut self.findings);
        findings.retain(|_, finding| finding.verdict != Verdict::NotFlaky);
        for finding in std::mem::take(&mut self.other_findings) {
            // A test that fails under the choices made in plain runs fails every time.
            let is_id = finding.verdict == Verdict::Id;
            let known = findings.get(&finding.test).map(|finding| finding.verdict);
            if known.is_none() || is_id && known == Some(Verdict::AlwaysFailing) {
                findings.insert(finding.test, finding);
            }
        }
        for finding in findings.values_mut() {
            finding.tally = self.tally(finding);
            finding.tried = self.tried(finding.test);
        }
        let findings: Vec<Finding> = findings.into_values().collect();
        let ledger = self.lab.ledger();
        SuiteFindings {
            causes: causes(&findings),
            findings,
            changes: ledger.changes().collect(),
            set_up: self.set_up,
            n_orders: self.n_orders,
            flake_rate_detectable: rate_detectable(self.n_orders, self.lab.budget().confidence()),
            n_seeds: self.n_seeds + 1,
            ended,
        }
    }

    /// How often a test failed: over hash seeds if it depends on them, else over runs.
    fn tally(&self, finding: &Finding) -> Tally {
        let record = *self.lab.ledger().of(finding.test);
        let by_seed = self.by_seed[finding.test.get()];
        let is_hashed = matches!(finding.fails_under, None | Some(Environment::Hashed { .. }));
        if finding.verdict != Verdict::Id || !is_hashed || by_seed.attempts == 0 {
            return record.usual();
        }
        // The seed of all plain runs counts as one more.
        let plain = u64::from(0 < record.tally.failures);
        Tally { failures: by_seed.failures + plain, attempts: by_seed.attempts + 1 }
    }

    fn tried(&self, test: TestIndex) -> Tried {
        let by_seed = self.by_seed[test.get()];
        Tried { orders: self.n_orders, seeds: by_seed.attempts + 1, ..Tried::default() }
    }
}

/// An environment with one of the hash seeds derived from a seed. Short enough to be typed.
pub(crate) fn hash_seed(seed: u64, number: u64) -> Environment {
    Environment::Hashed { seed: Random::labelled(seed, &[HASHING, number]).bits() >> 44 }
}

/// Whether any test was started.
fn has_begun(runs: &[Rc<Run>]) -> bool {
    runs.iter().flat_map(|run| run.outcomes()).any(|(_, outcome)| outcome != OutcomeKind::NotRun)
}

/// How each attempt of these runs ended.
fn outcomes_of(runs: &[Rc<Run>]) -> impl Iterator<Item = (TestIndex, Option<Evidence>)> {
    let outcomes = runs.iter().flat_map(|run| run.outcomes());
    outcomes
        .filter(|(_, outcome)| *outcome != OutcomeKind::NotRun)
        .map(|(test, outcome)| (test, outcome.evidence()))
}

/// Choices under which a test failed, and choices under which it passed.
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
