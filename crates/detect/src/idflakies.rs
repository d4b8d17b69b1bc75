//! iDFlakies, as its authors describe it (spec 2.1): the baseline that our detection is measured
//! against.
//!
//! Set-up run of the original order with retries, then rounds of one configuration, each failure
//! classified by running the truncated failing and the truncated passing order once more. A test
//! classified before is rechecked with a given probability; once non-deterministic, always so.
//!
//! Rounds are evaluated one after the other, because what is known about a test decides what is run
//! for it; but the next ones are run meanwhile.

use std::collections::{BTreeMap, BTreeSet};

use futures_util::StreamExt as _;
use futures_util::future::try_join_all;
use futures_util::stream::FuturesOrdered;
use unflake_model::random::Random;
use unflake_model::{Evidence, Order, OutcomeKind, Suite, TestIndex};
use unflake_orders::shuffle::{Shuffle, reverse_class, reverse_class_method};

use crate::lab::{Lab, OutOfBudget, Urgency};
use crate::ledger::Run;

/// The classes that iDFlakies distinguishes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// Failed again in the truncated failing order, and passed in the truncated original one.
    OrderDependent,
    /// Failed, but did not show that.
    NonDeterministic,
}

/// The five configurations of iDFlakies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Configuration {
    /// The original order, again and again: finds non-deterministic tests only.
    Original,
    /// Classes shuffled, tests within a class in their original order.
    RandomClass,
    /// Classes shuffled, and the tests within each.
    RandomClassMethod,
    /// Classes last to first, tests within a class in their original order. One round.
    ReverseClass,
    /// The original order last to first. One round.
    ReverseClassMethod,
}

impl Configuration {
    fn n_rounds(self, wanted: u64) -> u64 {
        match self {
            Self::Original | Self::RandomClass | Self::RandomClassMethod => wanted,
            Self::ReverseClass | Self::ReverseClassMethod => wanted.min(1),
        }
    }

    fn order(self, suite: &Suite, seed: u64, round: u64) -> Order {
        match self {
            Self::Original => Order::original(suite),
            Self::RandomClass => Shuffle::Classes.order(suite, seed, round),
            Self::RandomClassMethod => Shuffle::ClassesAndTests.order(suite, seed, round),
            Self::ReverseClass => reverse_class(suite),
            Self::ReverseClassMethod => reverse_class_method(suite),
        }
    }
}

/// What to do if tests fail in the original order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailingOriginal {
    /// Discard the module, as the tool of the study does.
    Discard,
    /// Ignore their failures and go on, as later versions can.
    GoOn,
    /// Go on, and examine those that pass in another order, as the latest version does.
    Compare,
}

/// How tests that ended differently in one round are verified.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verify {
    /// Each in its own runs, as the tool does.
    Each,
    /// All of them in the same runs. Each has the same tests before it as in a run of its own, so
    /// the result is the same.
    Together,
}

/// The settings of the tool.
#[derive(Clone, Copy, Debug)]
pub struct RoundSettings {
    /// Which orders to run.
    pub configuration: Configuration,
    /// How many rounds to run.
    pub rounds: u64,
    /// The seed of orders and rechecks.
    pub seed: u64,
    /// How often to run the original order until it passes.
    pub tries: u32,
    /// What to do if it never passes.
    pub failing_original: FailingOriginal,
    /// The probability of classifying an already classified test again.
    pub recheck: f64,
    /// Whether to repeat the truncated passing order too. The authors found it not worthwhile: it
    /// failed in 3 of 7441 runs.
    pub rerun_passing: bool,
    /// How many tests are verified in one run.
    pub verify: Verify,
}

impl RoundSettings {
    /// The defaults of the tool, as used in the study.
    pub fn of_the_study(seed: u64) -> Self {
        Self {
            configuration: Configuration::RandomClassMethod,
            rounds: 20,
            seed,
            tries: 3,
            failing_original: FailingOriginal::Discard,
            recheck: 0.2,
            rerun_passing: true,
            verify: Verify::Each,
        }
    }

    /// Tests that ended differently than in the original order, and how.
    fn ended_otherwise(
        self,
        run: &Run,
        failing: &BTreeSet<TestIndex>,
    ) -> Vec<(TestIndex, Evidence)> {
        let has_passes = self.failing_original == FailingOriginal::Compare;
        let is_other = |(test, outcome): (TestIndex, OutcomeKind)| {
            let evidence = outcome.evidence()?;
            let failed_before = failing.contains(&test);
            let is_other = match evidence {
                Evidence::Fail => !failed_before,
                Evidence::Pass => failed_before && has_passes,
            };
            is_other.then_some((test, evidence))
        };
        run.outcomes().filter_map(is_other).collect()
    }

    /// The class of a test that ended differently, if no run is needed to tell.
    fn without_a_run(self, known: Option<Class>, random: &mut Random) -> Option<Class> {
        match known {
            // A recheck could not change that (spec 7, A10).
            Some(Class::NonDeterministic) => known,
            Some(_) if !random.chance(self.recheck) => known,
            _ if self.configuration == Configuration::Original => Some(Class::NonDeterministic),
            _ => None,
        }
    }
}

/// What the tool reports.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RoundFindings {
    /// Every flaky test with its class, and the rounds in which it failed.
    pub flaky: BTreeMap<TestIndex, (Class, Vec<u64>)>,
    /// Whether the module was given up because its original order never passed.
    pub discarded: bool,
    /// Tests that failed in the last run of the original order, and are ignored.
    pub failing: BTreeSet<TestIndex>,
    /// Whether the budget did not cover all rounds.
    pub is_short: bool,
}

/// Runs the whole procedure of the tool.
pub async fn idflakies(lab: Lab, settings: RoundSettings) -> RoundFindings {
    let mut report = RoundFindings::default();
    // If the budget runs out, the report holds what was found until then.
    report.is_short = detect(&lab, settings, &mut report).await.is_err();
    report
}

async fn detect(
    lab: &Lab,
    settings: RoundSettings,
    report: &mut RoundFindings,
) -> Result<(), OutOfBudget> {
    let Some(failing) = set_up(lab, settings).await? else {
        report.discarded = true;
        return Ok(());
    };
    report.failing.clone_from(&failing);
    let mut random = Random::labelled(settings.seed, &[0x1d_f1]);
    let explore = lab.part(Urgency::Explore);
    let start = |round| {
        let order = settings.configuration.order(lab.suite(), settings.seed, round);
        let run = explore.run(order);
        async move { run.await.map(|run| (round, run)) }
    };
    let mut rounds = (0..settings.configuration.n_rounds(settings.rounds)).map(start);
    let mut under_way = FuturesOrdered::new();
    loop {
        // One more than can run at once: while this one is evaluated, the others go on.
        let n_ahead = lab.width() + 1;
        under_way.extend(rounds.by_ref().take(n_ahead.saturating_sub(under_way.len())));
        let Some(next) = under_way.next().await else { return Ok(()) };
        let (round, run) = next?;
        let others = settings.ended_otherwise(&run, &failing);
        let mut class = |test| {
            let known = report.flaky.get(test).map(|(class, _)| *class);
            settings.without_a_run(known, &mut random)
        };
        let known: Vec<Option<Class>> = others.iter().map(|(test, _)| class(test)).collect();
        let is_open = others.iter().zip(&known).filter(|(_, known)| known.is_none());
        let open: Vec<(TestIndex, Evidence)> = is_open.map(|(it, _)| *it).collect();
        let mut found = classify_all(lab, settings, &run.order, &open).await?.into_iter();
        let classes = known.into_iter().filter_map(|known| known.or_else(|| found.next()));
        for ((test, _), class) in others.iter().zip(classes) {
            let entry = report.flaky.entry(*test).or_insert((class, Vec::new()));
            entry.0 = class;
            entry.1.push(round);
        }
    }
}

/// Tests that fail in the original order; `None` if the module is to be discarded.
async fn set_up(
    lab: &Lab,
    settings: RoundSettings,
) -> Result<Option<BTreeSet<TestIndex>>, OutOfBudget> {
    let mut failing = BTreeSet::new();
    for _ in 0..settings.tries {
        let run = lab.run(Order::original(lab.suite())).await?;
        failing = run.failures().collect();
        if failing.is_empty() {
            return Ok(Some(failing));
        }
    }
    Ok(match settings.failing_original {
        FailingOriginal::Discard => None,
        FailingOriginal::GoOn | FailingOriginal::Compare => Some(failing),
    })
}

/// The classes of the tests that ended differently in this order.
async fn classify_all(
    lab: &Lab,
    settings: RoundSettings,
    order: &Order,
    others: &[(TestIndex, Evidence)],
) -> Result<Vec<Class>, OutOfBudget> {
    let n_together = match settings.verify {
        Verify::Each => 1,
        Verify::Together => others.len().max(1),
    };
    let groups = others.chunks(n_together).map(|group| classify(lab, settings, order, group));
    Ok(try_join_all(groups).await?.concat())
}

async fn classify(
    lab: &Lab,
    settings: RoundSettings,
    order: &Order,
    others: &[(TestIndex, Evidence)],
) -> Result<Vec<Class>, OutOfBudget> {
    let original = Order::original(lab.suite());
    let again = ended_so(lab, order, others).await?;
    let without = if settings.rerun_passing && !again.is_empty() {
        ended_so(lab, &original, others).await?
    } else {
        Vec::new()
    };
    let class = |(test, _): &(TestIndex, Evidence)| {
        if again.contains(test) && !without.contains(test) {
            Class::OrderDependent
        } else {
            Class::NonDeterministic
        }
    };
    Ok(others.iter().map(class).collect())
}

/// Which of these tests end so again, in an order truncated after the last of them.
async fn ended_so(
    lab: &Lab,
    order: &Order,
    tests: &[(TestIndex, Evidence)],
) -> Result<Vec<TestIndex>, OutOfBudget> {
    let last = tests.iter().map(|(test, _)| *test).max_by_key(|test| order.position(*test));
    let Some(truncated) = last.and_then(|test| order.truncated_at(test)) else {
        return Ok(Vec::new());
    };
    let run = lab.run(truncated).await?;
    let ended: BTreeMap<TestIndex, OutcomeKind> = run.outcomes().collect();
    let is_so = |(test, so): &&(TestIndex, Evidence)| {
        ended.get(test).and_then(|kind| kind.evidence()) == Some(*so)
    };
    Ok(tests.iter().filter(is_so).map(|(test, _)| *test).collect())
}
