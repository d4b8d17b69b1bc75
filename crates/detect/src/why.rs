//! Is this test flaky, and why? Tries everything that may explain it.
//!
//! The order comes first: most flaky tests depend on it, and the later steps assume a test that
//! ends the same way in every order ([`crate::explain`]). If the order explains nothing, the test
//! is not cleared yet. A few orders say little: a cleaner may have come in between in each of them.
//! So it is *tried*, cheap ways first, until a test that fails as often as asked for would have
//! been seen, with the confidence asked for, in each of these ways:
//!
//! 1. twice in a process ([`crate::twice`]), which costs one run, and under a few other choices;
//! 2. alone, again and again;
//! 3. directly behind every other test;
//! 4. in other circumstances that cost no time: the date and the end of the year, the time zone,
//!    turns of threads ([`crate::shake`]);
//! 5. under other choices ([`crate::choices`]) and other hash seeds, each of which may take its own
//!    interpreter; and under each hash seed in another order of all tests.
//!
//! What was tried is part of the finding ([`Tried`]), whatever the result. If the budget ends
//! before all of this is done, the evidence is not sufficient to say that the test is not flaky;
//! and a test that was seen to flake before is never cleared: failing to reproduce that is
//! something else.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::time::Duration;

use futures_util::future::try_join_all;
use unflake_model::{
    Environment, Evidence, Factor, Factors, Finding, Group, Order, OutcomeKind, Repetition, Tally,
    TestIndex, Tried, Verdict,
};
use unflake_model::{HashSeeds, random::Random};
use unflake_stats::plan::runs_needed;
use unflake_stats::rate::Rate;

use crate::campaign::{environment, hash_seed};
use crate::choices::{self, Contrast};
use crate::concluding::{Confirmed, finding};
use crate::depth::Depth;
use crate::explain::{explain, explain_order, explain_random};
use crate::lab::{Lab, OutOfBudget};
use crate::oracle::order_of;
use crate::roles::universes;
use crate::shake::{Culprit, Design, shake};
use crate::twice;

/// Circumstances are searched for down to a quarter of the wanted rate: each run has all of them
/// on, and [`shake`] makes four times the runs for those that cost no time.
const FACTORS_PART: f64 = 4.0;

/// How many seeds of other choices are tried before anything that takes longer: a choice between
/// two shows in all but one of 32 cases.
const CHOICES_FIRST: u64 = 5;

/// How thoroughly a test is tried before it is cleared.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// How much to find out about it.
    pub depth: Depth,
    /// The seeds of orders, of hashing and of circumstances are derived from this.
    pub seed: u64,
    /// A test that fails at least this often, in any way it is tried, should be seen to.
    pub flake_rate_min: Rate,
    /// Whether hash seeds are varied.
    pub hash_seeds: HashSeeds,
    /// The choices to perturb, if the runner can do that.
    pub choices: Factors,
    /// The circumstances to perturb; they must cost no time.
    pub circumstances: Factors,
    /// No further whole order is started after this much was spent; `None` sets no limit.
    pub orders_time_max: Option<Duration>,
}

/// How many leads are tried: each costs a run, and usually one of the first is right.
const LEADS_MAX: usize = 16;

/// What earlier campaigns say about a test. These are only hints: every conclusion is drawn from
/// runs.
#[derive(Clone, Debug, Default)]
pub struct Known {
    /// Groups of tests that it was found to depend on, likeliest first.
    pub leads: Vec<Group>,
    /// The number of runs in which it was seen, if it was seen to flake in them.
    pub flaked_in: Option<u64>,
}

/// Investigates one test. Never fails: a finding is not complete unless all of this was done.
pub async fn why(lab: Lab, test: TestIndex, plan: Plan, known: Known) -> Finding {
    lab.watch(test);
    for lead in known.leads.iter().filter(|lead| !lead.contains(&test)).take(LEADS_MAX) {
        // A prefix after which the test ends differently saves the search the way to it. If the
        // budget does not cover this run, the calls below will say so.
        let _ = lab.run(order_of(&lab.suite().arranged(lead, test), test)).await;
    }
    let finding = explain(lab.clone(), test, plan.depth).await;
    let tried = Tried::default();
    let flaked_in = known.flaked_in;
    let mut clearing = Clearing { lab, test, plan, flaked_in, tried, n_orders: 0 };
    let found = match finding.verdict {
        Verdict::NotFlaky => clearing.find().await,
        Verdict::AlwaysFailing => clearing.find_passing_seed().await,
        Verdict::OdVictim
        | Verdict::OdBrittle
        | Verdict::OdUnknownRole
        | Verdict::Ndod
        | Verdict::Ndoi
        | Verdict::NodUndecided
        | Verdict::Id
        | Verdict::Env
        | Verdict::Nio
        | Verdict::Ud
        | Verdict::InsufficientEvidence => return finding,
    };
    let tried = clearing.tried();
    match found {
        Ok(Some(found)) => Finding { tried, ..found },
        Ok(None) => Finding { tried, ..clearing.cleared(finding) },
        Err(OutOfBudget) => Finding { tried, ..clearing.cut_short(finding) },
    }
}

/// What was seen of a test under one hash seed.
enum Under {
    Passed,
    /// It failed in this order and environment.
    Failed(Order, Environment),
    NotRun,
}

/// A test that has not shown anything yet.
struct Clearing {
    lab: Lab,
    test: TestIndex,
    plan: Plan,
    flaked_in: Option<u64>,
    tried: Tried,
    n_orders: u64,
}

impl Clearing {
    async fn find(&mut self) -> Result<Option<Finding>, OutOfBudget> {
        if let Some(found) = twice::seek(self.lab.clone(), self.test).await? {
            return Ok(Some(found));
        }
        if let Some(found) = self.under_other_choices(0..CHOICES_FIRST).await? {
            return Ok(Some(found));
        }
        if let Some(found) = self.alone().await? {
            return Ok(Some(found));
        }
        if let Some(found) = self.behind_each().await? {
            return Ok(Some(found));
        }
        if let Some(found) = self.in_other_circumstances().await? {
            return Ok(Some(found));
        }
        let n_wanted = self.n_wanted();
        if let Some(found) = self.under_other_choices(CHOICES_FIRST..n_wanted).await? {
            return Ok(Some(found));
        }
        self.under_other_seeds().await
    }

    fn n_wanted(&self) -> u64 {
        let confidence = self.lab.budget().confidence();
        runs_needed(self.plan.flake_rate_min, confidence).unwrap_or(u64::MAX)
    }

    /// Tries it alone, as often as necessary, and at least as often as it took to see it flake
    /// before.
    async fn alone(&mut self) -> Result<Option<Finding>, OutOfBudget> {
        let n_wanted = self.n_wanted().max(self.flaked_in.unwrap_or(0));
        let alone = order_of(&[], self.test);
        loop {
            let tally = self.lab.tally_after(&[], self.test);
            if tally.is_mixed() {
                return Ok(Some(self.explained().await));
            }
            let n_batch = (self.lab.width() as u64).min(n_wanted.saturating_sub(tally.attempts));
            if n_batch == 0 {
                return Ok(None);
            }
            let n_before = tally.attempts;
            try_join_all((0..n_batch).map(|_| self.lab.run(alone.clone()))).await?;
            if self.lab.tally_after(&[], self.test).attempts == n_before {
                // The test gives no evidence.
                return Ok(None);
            }
        }
    }

    async fn explained(&self) -> Finding {
        explain(self.lab.clone(), self.test, self.plan.depth).await
    }

    /// Tries it directly behind every other test.
    async fn behind_each(&mut self) -> Result<Option<Finding>, OutOfBudget> {
        let depth = self.plan.depth.max(Depth::Exhaustive);
        let found = explain(self.lab.clone(), self.test, depth).await;
        match found.verdict {
            Verdict::NotFlaky if found.is_complete => Ok(None),
            Verdict::NotFlaky => Err(OutOfBudget),
            Verdict::OdVictim
            | Verdict::OdBrittle
            | Verdict::OdUnknownRole
            | Verdict::Ndod
            | Verdict::Ndoi
            | Verdict::NodUndecided
            | Verdict::Id
            | Verdict::Env
            | Verdict::Nio
            | Verdict::Ud
            | Verdict::AlwaysFailing
            | Verdict::InsufficientEvidence => Ok(Some(found)),
        }
    }

    /// Tries it in circumstances that cost no time.
    async fn in_other_circumstances(&mut self) -> Result<Option<Finding>, OutOfBudget> {
        let factors = self.plan.circumstances;
        if factors.is_empty() {
            return Ok(None);
        }
        let rate = (self.plan.flake_rate_min.get() * FACTORS_PART).min(1.0);
        let rate_min = Rate::new(rate).unwrap_or(self.plan.flake_rate_min);
        let (test, seed) = (self.test, self.plan.seed);
        let design = Design { test, factors, quick: factors, seed, rate_min };
        let shaken = shake(self.lab.clone(), design).await;
        if let Some(culprit) = shaken.culprits.iter().find(|culprit| culprit.makes_it_fail()) {
            return Ok(Some(self.depends_on(culprit)));
        }
        if !shaken.is_complete {
            return Err(OutOfBudget);
        }
        self.tried.factors = factors;
        self.tried.changed = self.n_wanted();
        Ok(None)
    }

    fn depends_on(&self, culprit: &Culprit) -> Finding {
        // Nobody promises how folders are listed; the date can be seen by everybody.
        let listings: Factors = [Factor::Listings].into_iter().collect();
        let is_open = culprit.factors == listings;
        let verdict = if is_open { Verdict::Id } else { Verdict::Env };
        Finding {
            fails_under: Some(Environment::Perturbed {
                factors: culprit.factors,
                seed: culprit.seed,
            }),
            failed_in: Some(culprit.run),
            tally: culprit.with,
            ..finding(&self.lab, self.test, verdict, Confirmed::Yes)
        }
    }

    /// Tries it under choices other than hash seeds.
    async fn under_other_choices(
        &mut self,
        seeds: Range<u64>,
    ) -> Result<Option<Finding>, OutOfBudget> {
        let choices = self.plan.choices;
        if choices.is_empty() {
            return Ok(None);
        }
        let n_seeds = seeds.end.saturating_sub(seeds.start);
        let found = choices::seek(self.lab.clone(), self.test, choices, seeds).await?;
        self.tried.seeds += if found.is_none() { n_seeds } else { 0 };
        Ok(found)
    }

    /// Tries it under other hash seeds, and under each in another order.
    async fn under_other_seeds(&mut self) -> Result<Option<Finding>, OutOfBudget> {
        let n_wanted = self.n_wanted();
        let mut number = 0;
        while number < n_wanted {
            let n_batch = (self.lab.width() as u64).min(n_wanted - number);
            // Running alone counts as an order in which it comes first.
            self.n_orders += if self.has_time_for_orders() { n_batch } else { 0 };
            let batch = (number..number + n_batch).map(|n| self.under_seed(n));
            for tried in try_join_all(batch).await? {
                match tried {
                    Under::Passed => (),
                    Under::Failed(order, environment) => {
                        return self.tell_apart(order, environment).await.map(Some);
                    }
                    // No interpreter hashes differently, or it finds other tests: only orders can
                    // be tried.
                    Under::NotRun => self.plan.hash_seeds = HashSeeds::Fixed,
                }
            }
            number += n_batch;
        }
        Ok(None)
    }

    /// Runs it under one seed, alone and then behind others, which can share an interpreter.
    async fn under_seed(&self, number: u64) -> Result<Under, OutOfBudget> {
        let environment = environment(self.plan.hash_seeds, self.plan.seed, number);
        for order in self.orders(number) {
            let run = self.lab.run_with(order.clone(), environment, Repetition::Once).await?;
            match run.last() {
                Some(OutcomeKind::NotRun) if environment != Environment::Plain => {
                    return Ok(Under::NotRun);
                }
                Some(outcome) if outcome.evidence() == Some(Evidence::Fail) => {
                    return Ok(Under::Failed(order, environment));
                }
                _ => (),
            }
        }
        Ok(Under::Passed)
    }

    /// The test alone, unless that is known, and behind other tests in a random order, as long as
    /// there is time for that.
    fn orders(&self, number: u64) -> Vec<Order> {
        let is_varied = self.plan.hash_seeds == HashSeeds::Varied;
        let alone = is_varied.then(|| order_of(&[], self.test));
        let is_affordable = self.has_time_for_orders();
        let [mut others, _] = universes(&self.lab, self.test, &BTreeSet::new());
        let mut random = Random::labelled(self.plan.seed, &[self.test.get() as u64, number]);
        let place = random.below(others.len() + 1);
        random.shuffle(&mut others);
        others.truncate(place);
        let others = self.lab.suite().arranged(&others, self.test);
        alone.into_iter().chain(is_affordable.then(|| order_of(&others, self.test))).collect()
    }

    fn has_time_for_orders(&self) -> bool {
        self.plan.orders_time_max.is_none_or(|max| self.lab.spent().time < max)
    }

    /// It failed in this order and environment: because of the order, of the seed, or of neither?
    async fn tell_apart(
        &self,
        order: Order,
        environment: Environment,
    ) -> Result<Finding, OutOfBudget> {
        let fails = |environment| {
            let run = self.lab.run_with(order.clone(), environment, Repetition::Once);
            async {
                let last = run.await?.last();
                Ok(last.and_then(OutcomeKind::evidence) == Some(Evidence::Fail))
            }
        };
        if fails(Environment::Plain).await? {
            return Ok(self.explained().await);
        }
        let lab = self.lab.clone();
        if !fails(environment).await? || environment == Environment::Plain {
            return Ok(explain_random(lab, self.test, self.plan.depth).await);
        }
        let contrast = Contrast { failing: environment, passing: Environment::Plain };
        let by_seed = choices::confirm_all(lab.clone(), vec![self.test], contrast).await.pop();
        if let Some(found) = by_seed {
            return Ok(Finding { tally: self.by_seed(), ..found });
        }
        let with_others = explain_order(lab.under(environment), self.test, self.plan.depth).await;
        match with_others {
            Some(found) => Ok(found),
            None => Ok(explain_random(lab, self.test, self.plan.depth).await),
        }
    }

    /// Whether a test that always fails passes under another hash seed.
    async fn find_passing_seed(&mut self) -> Result<Option<Finding>, OutOfBudget> {
        if self.plan.hash_seeds == HashSeeds::Fixed {
            return Ok(None);
        }
        for number in 0..self.n_wanted() {
            let passing = hash_seed(self.plan.seed, number);
            let order = order_of(&[], self.test);
            let run = self.lab.run_with(order, passing, Repetition::Once).await?;
            if run.last().and_then(OutcomeKind::evidence) == Some(Evidence::Pass) {
                let contrast = Contrast { failing: Environment::Plain, passing };
                let lab = self.lab.clone();
                let found = choices::confirm_all(lab, vec![self.test], contrast).await.pop();
                return Ok(found.map(|found| Finding { tally: self.by_seed(), ..found }));
            }
        }
        Ok(None)
    }

    /// Under how many of the hash seeds it failed alone.
    fn by_seed(&self) -> Tally {
        let ledger = self.lab.ledger();
        let alone = ledger.attempts(self.test).filter(|it| it.prefix().is_empty());
        let ended: BTreeMap<Environment, Evidence> =
            alone.map(|it| (it.environment(), it.evidence)).collect();
        let mut tally = Tally::default();
        for evidence in ended.into_values() {
            tally.add(evidence);
        }
        tally
    }

    /// How thoroughly it was tried, by all runs there are.
    fn tried(&self) -> Tried {
        let ledger = self.lab.ledger();
        let mut seeds: BTreeSet<Environment> = BTreeSet::new();
        let mut neighbours: BTreeSet<TestIndex> = BTreeSet::new();
        let mut runs = 0;
        for sighting in ledger.attempts(self.test) {
            seeds.insert(sighting.environment());
            runs += u64::from(sighting.prefix().is_empty());
            neighbours.extend(sighting.prefix().last());
        }
        Tried {
            runs,
            orders: self.n_orders,
            seeds: self.tried.seeds + seeds.len() as u64,
            neighbours: neighbours.len() as u64,
            ..self.tried
        }
    }

    /// The first finding, extended by all runs made since.
    fn extended(&self, finding: Finding) -> Finding {
        Finding {
            tally: self.lab.ledger().of(self.test).usual(),
            questions: self.lab.n_questions(),
            spent: self.lab.spent(),
            ..finding
        }
    }

    /// The finding when everything was tried and nothing was seen.
    fn cleared(&self, finding: Finding) -> Finding {
        let finding = self.extended(finding);
        if finding.verdict != Verdict::NotFlaky {
            return finding;
        }
        if self.flaked_in.is_some() {
            return Finding { verdict: Verdict::Ud, is_complete: true, ..finding };
        }
        let confidence = Some(self.lab.budget().confidence());
        Finding { confidence, is_complete: true, ..finding }
    }

    /// The finding when not everything was tried.
    fn cut_short(&self, finding: Finding) -> Finding {
        let verdict = match finding.verdict {
            Verdict::NotFlaky if self.flaked_in.is_some() => Verdict::Ud,
            Verdict::NotFlaky => Verdict::InsufficientEvidence,
            Verdict::OdVictim
            | Verdict::OdBrittle
            | Verdict::OdUnknownRole
            | Verdict::Ndod
            | Verdict::Ndoi
            | Verdict::NodUndecided
            | Verdict::Id
            | Verdict::Env
            | Verdict::Nio
            | Verdict::Ud
            | Verdict::AlwaysFailing
            | Verdict::InsufficientEvidence => finding.verdict,
        };
        Finding { verdict, is_complete: false, ..self.extended(finding) }
    }
}
