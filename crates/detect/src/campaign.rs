//! Which tests of the suite are flaky? The campaign that asks about all of them.
//!
//! In this order, because each step finds more for its runs than the next:
//!
//! 1. the original order, again while something fails in it (set-up);
//! 2. its reverse: with the original it puts every test before every other; and
//!    where it is known which tests leave something behind, these before all others, both ways;
//! 3. every test alone, once: finds every brittle. Where starting a process is dear, this is spread
//!    over the orders of step 6, for the same price as these;
//! 4. the original order with each test run twice in a row: finds every non-idempotent test;
//! 5. the original order under a few perturbed choices, where the runner can do that;
//! 6. planned orders, each followed by its reverse where it showed nothing new, until a test with
//!    the flake rate asked for would have been seen with the confidence asked for. Where strings
//!    can be hashed otherwise, each under a hash seed of its own: the same runs then bound both,
//!    and what was the order's doing and what the seed's is told apart where something shows
//!    (`tell_apart`);
//! 7. more perturbed choices, as many as orders.
//!
//! A test that has passed and failed is under suspicion and is looked into (see [`crate::explain`])
//! before further orders are run, but not before [`N_ORDERS_RIPE`] orders: every order is evidence
//! for all suspects at once, and with a few of them the likely culprits stand out. What these
//! investigations will cost is put aside. Where many are under suspicion, one cause is supposed
//! first (`crowd`). Tests that never passed are looked into at the end, and so are tests
//! that fail at random: by then all orders say how much the order matters to them.

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

/// Orders after which suspicions are ripe to be looked into.
pub const N_ORDERS_RIPE: u64 = 8;

/// What looking into one suspicion is expected to cost: confirmation, and a few questions.
const ATTEMPTS_PER_SUSPECT: u64 = 100;
/// See [`ATTEMPTS_PER_SUSPECT`].
const RUNS_PER_SUSPECT: u64 = 50;

/// Runs in a row in which no test began, after which the rest is let be: once may be chance.
const FUTILE_MAX: usize = 2;

/// So often a test has ended its process, and never done anything else, before orders do without
/// it.
const HOPELESS: u64 = 3;

/// Victims of a shared cause that are each looked into in the end, for causes of their own.
const SHARED_MAX: usize = 40;

/// Perturbed runs before the planned orders: a choice between two is seen both ways in 15 of 16
/// suites.
const PERTURBED_FIRST: u64 = 5;

/// Tells the seeds of hashing from others.
const HASHING: u64 = 0x6a5;

/// The environment of the order of this number: with a hash seed of its own, if they are varied.
pub(crate) fn environment(hash_seeds: HashSeeds, seed: u64, number: u64) -> Environment {
    match hash_seeds {
        HashSeeds::Varied => hash_seed(seed, number),
        HashSeeds::Fixed => Environment::Plain,
    }
}

/// What a campaign does.
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
    /// How many runs to make with choices perturbed; zero where the runner cannot perturb.
    pub perturbed_runs: u64,
    /// Which choices those are.
    pub choices: Factors,
    /// Tests that leave something behind, as far as that is known.
    pub dirty: Vec<TestIndex>,
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
pub enum SuiteEnd {
    /// Enough orders were run for the confidence asked for.
    Confident,
    /// The budget did not cover another order.
    OutOfBudget,
}

/// What a campaign found.
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
    /// Under how many hash seeds tests were run, each with an order of its own; 1 if not varied.
    pub n_seeds: u64,
    /// Why the campaign looked no further.
    pub ended: SuiteEnd,
}

/// Runs a campaign.
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
    /// Of tests that never failed in a plain run, as far as was known then.
    other_findings: Vec<Finding>,
    /// Tests that pass and fail at random.
    random: BTreeSet<TestIndex>,
    /// Tests that ended otherwise once under some hash seed, which nobody has looked into yet.
    strays: BTreeSet<TestIndex>,
    /// Tests that share the cause of another, and were not looked into by themselves.
    shared: Vec<TestIndex>,
    /// How each test fared under hash seeds of their own, each counted once.
    by_seed: Vec<Tally>,
    n_seeds: u64,
    n_perturbed: u64,
    perturbed: BTreeMap<TestIndex, Perturbed>,
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

    /// All tests that leave something behind, then all others: whoever stumbles over anything that
    /// is left does so here, unless something else puts it right before. And both backwards.
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

    /// Runs orders at once and puts under suspicion what they show.
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

    /// How many tests something was noticed about.
    fn n_noticed(&self) -> usize {
        self.suspects.len() + self.random.len() + self.other_findings.len()
    }

    /// Whose doing is it that tests ended, in an order under a hash seed of its own, as no plain
    /// run has shown them yet? The order's, if a plain run of it shows the same; then the suspicion
    /// is as any other. Nobody's, if it does not happen again. Else the seed's: alone, or together
    /// with tests that came before.
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

    /// No interpreter can be started with strings hashed otherwise, or it finds other tests.
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

    /// Tests that ended as no plain run has shown them, and about which nothing is known yet.
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

    /// Looks into tests that end like this under a hash seed, time and again.
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
                // It takes the seed and certain tests before it.
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

    /// Moves tests that end the process to the end, so that they cost one order its tail only once;
    /// those that have never done anything else are left out, because each may hang for as long as
    /// a test may take.
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

    /// Looks into every suspicion not looked into yet, as many at once as can be run at once: what
    /// is learnt about one helps with the next.
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

    /// Looks into tests that share a cause, for what else may be the matter with them. Of hundreds,
    /// which is mostly one mishap, none.
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

    /// Looks into tests that fail at random, when all orders were run.
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

    /// Steps 5 and 7: a test that fails under some open choices, and passes under others.
    async fn perturb(&mut self, n_runs: u64) -> Result<(), OutOfBudget> {
        while self.n_perturbed < n_runs {
            let order = Order::original(self.lab.suite());
            let (factors, seed) = (self.settings.choices, self.n_perturbed);
            let environment = Environment::Perturbed { factors, seed };
            self.n_perturbed += 1;
            let runs = self.run_whole(order, environment, Repetition::Once).await?;
            if !has_begun(&runs) {
                // Names of tests that are made up at each start, for one, cannot be found again.
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

    /// Puts tests to the test again that ended otherwise under perturbed choices.
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
        // Plain runs have one, too.
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
            // Whoever fails under the choices that happened to be made fails every time.
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

    /// How often a test failed: over hash seeds if these are what it depends on, else over runs.
    fn tally(&self, finding: &Finding) -> Tally {
        let record = *self.lab.ledger().of(finding.test);
        let by_seed = self.by_seed[finding.test.get()];
        let is_hashed = matches!(finding.fails_under, None | Some(Environment::Hashed { .. }));
        if finding.verdict != Verdict::Id || !is_hashed || by_seed.attempts == 0 {
            return record.usual();
        }
        // The seed of all plain runs is one more.
        let plain = u64::from(0 < record.tally.failures);
        Tally { failures: by_seed.failures + plain, attempts: by_seed.attempts + 1 }
    }

    fn tried(&self, test: TestIndex) -> Tried {
        let by_seed = self.by_seed[test.get()];
        Tried { orders: self.n_orders, seeds: by_seed.attempts + 1, ..Tried::default() }
    }
}

/// The environment with one of the hash seeds that follow from a seed. Short enough to be typed.
pub(crate) fn hash_seed(seed: u64, number: u64) -> Environment {
    Environment::Hashed { seed: Random::labelled(seed, &[HASHING, number]).bits() >> 44 }
}

/// Whether any test was begun.
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
