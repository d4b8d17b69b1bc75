//! The tables of a rerun study: what many runs of a suite, and of its flaky tests alone, say.
//!
//! The procedure is that of the published study (root-cause spec 2.3): the suite is run in batches,
//! each batch in one order; every test that was seen both to pass and to fail is then run alone as
//! often. For each test: its failure rate over all runs and over each order, the most failures in a
//! row, the share of orders in which it failed, whether the order matters by the customary
//! chi-square test and by the exact one ([`crate::compare`]), and how long it takes when it passes
//! and when it fails. For the suite: how often a run of it fails at all, the limits within which
//! that had to lie, and which tests fail together. Over tests: suite against alone.
//!
//! Limits: runs are taken in the order in which they were started; where several are made at once,
//! bursts are a little blurred. A difference in run times is a hint, not a proof.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;
use std::time::Duration;

use unflake_model::{Confidence, Evidence, Tally, TestIndex, Verdict};

use crate::burst;
use crate::compare::{Classified, Question, classify};
use crate::plan;
use crate::rank::{RankTest, kolmogorov_smirnov, signed_rank};
use crate::rate::Rate;
use crate::suite_failure::{Relatedness, co_failing, failed_runs, if_independent, relatedness};

/// Failing runs that take this many times as long as passing ones have most likely waited for
/// something.
const MUCH_LONGER: f64 = 1.5;
/// A smaller difference is not the result of waiting.
const WAIT_MIN: Duration = Duration::from_millis(100);

/// One attempt that is evidence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attempted {
    /// The test that was attempted.
    pub test: TestIndex,
    /// Whether it passed or failed.
    pub evidence: Evidence,
    /// How long the attempt took.
    pub duration: Duration,
}

/// One run of the whole suite.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OrderRun {
    /// The number of its order.
    pub order: usize,
    /// The attempts of its tests.
    pub attempts: Vec<Attempted>,
}

/// The runs of a study.
#[derive(Clone, Debug, Default)]
pub struct Runs {
    /// Runs of the suite, in the order in which they were made.
    pub suite: Vec<OrderRun>,
    /// Runs of single tests, in the order in which they were made.
    pub alone: Vec<Attempted>,
}

/// The tables of a study.
#[derive(Clone, Debug, PartialEq)]
pub struct Tables {
    /// How many runs of the suite there are.
    pub n_runs: u64,
    /// How many distinct orders they had.
    pub n_orders: usize,
    /// Every test that both passed and failed in the suite, most failures first.
    pub tests: Vec<TestRow>,
    /// How often the suite fails.
    pub suite: SuiteRow,
    /// The suite against tests alone, if any were run alone.
    pub contrast: Option<Contrast>,
}

/// The results of one test.
#[derive(Clone, Debug, PartialEq)]
pub struct TestRow {
    /// The test they are about.
    pub test: TestIndex,
    /// Its results over all runs of the suite.
    pub in_suite: Tally,
    /// Its results in each order.
    pub by_order: Vec<Tally>,
    /// The most failures in a row in one order.
    pub burst: u64,
    /// Its results alone; empty if it was not run alone.
    pub alone: Tally,
    /// The most failures in a row when run alone.
    pub burst_alone: u64,
    /// Whether the order matters.
    pub classified: Classified,
    /// How long it takes when it passes and when it fails.
    pub timing: Timing,
    /// Where to run it to see a failure soonest.
    pub see_failure: Advice,
    /// Where to run it to see a pass soonest.
    pub see_pass: Advice,
}

/// How long a test takes when it passes, and when it fails.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Timing {
    /// The median time of its passes.
    pub pass: Option<Duration>,
    /// The median time of its failures.
    pub fail: Option<Duration>,
    /// What these times suggest.
    pub hint: TimingHint,
}

/// What run times suggest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimingHint {
    /// Failing takes much longer: the test waited for something that did not come in time.
    AsyncWait,
    /// Failing does not take much longer: probably nothing was waited for.
    NotAsync,
    /// There are too few passes or failures to tell.
    Unknown,
}

/// Where to run a test to see a certain outcome.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Advice {
    /// The best place.
    pub place: Place,
    /// How often the outcome is seen there.
    pub share: f64,
    /// Runs needed to see it with the requested confidence; `None` if it was never seen.
    pub runs: Option<u64>,
}

/// Where a test can be run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// In a process of its own.
    Alone,
    /// In the suite, in any order.
    Suite,
    /// In the suite, in this order.
    Order(usize),
}

/// How often the suite fails, because of flaky tests.
#[derive(Clone, Debug, PartialEq)]
pub struct SuiteRow {
    /// Runs in which at least one flaky test failed.
    pub failed: Tally,
    /// The limits within which that had to lie, given how often each of them failed.
    pub limits: RangeInclusive<u64>,
    /// The share expected if the tests failed independently.
    pub if_independent: f64,
    /// How the failures of these tests are related.
    pub relatedness: Option<Relatedness>,
    /// Tests that fail together more often than chance explains.
    pub groups: Vec<Vec<TestIndex>>,
}

/// Failure rates in the suite against those alone, over all tests that were run both ways.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Contrast {
    /// How many tests fail less often alone.
    pub n_less: usize,
    /// How many fail equally often.
    pub n_equal: usize,
    /// How many fail more often alone.
    pub n_more: usize,
    /// Whether they differ, test by test; `None` if none does.
    pub wilcoxon: Option<RankTest>,
    /// Whether the two distributions differ.
    pub kolmogorov_smirnov: Option<RankTest>,
}

/// Makes the tables. The attempts of one test are counted in the order given.
pub fn tables(runs: &Runs, question: Question) -> Tables {
    let n_orders = runs.suite.iter().map(|run| run.order + 1).max().unwrap_or(0);
    let mut all: BTreeMap<TestIndex, Vec<Vec<Attempted>>> = BTreeMap::new();
    for run in &runs.suite {
        for attempt in &run.attempts {
            let by_order = all.entry(attempt.test).or_insert_with(|| vec![Vec::new(); n_orders]);
            by_order[run.order].push(*attempt);
        }
    }
    let mut alone: BTreeMap<TestIndex, Vec<Attempted>> = BTreeMap::new();
    for attempt in &runs.alone {
        alone.entry(attempt.test).or_default().push(*attempt);
    }
    let flaky = all.iter().filter(|(_, by_order)| tally(by_order.iter().flatten()).is_mixed());
    let row = |(test, by_order): (&TestIndex, &Vec<Vec<Attempted>>)| {
        let alone = alone.get(test).map_or(&[][..], Vec::as_slice);
        test_row(*test, by_order, alone, question)
    };
    let mut tests: Vec<TestRow> = flaky.map(row).collect();
    tests.sort_by_key(|row| (u64::MAX - row.in_suite.failures, row.test));
    let suite = suite_row(runs, &tests, question.confidence);
    let contrast = contrast(&tests);
    Tables { n_runs: runs.suite.len() as u64, n_orders, tests, suite, contrast }
}

fn tally<'a>(attempts: impl IntoIterator<Item = &'a Attempted>) -> Tally {
    let mut tally = Tally::default();
    attempts.into_iter().for_each(|attempt| tally.add(attempt.evidence));
    tally
}

fn series(attempts: &[Attempted]) -> Vec<Evidence> {
    attempts.iter().map(|attempt| attempt.evidence).collect()
}

fn test_row(
    test: TestIndex,
    attempts: &[Vec<Attempted>],
    alone: &[Attempted],
    question: Question,
) -> TestRow {
    let by_order: Vec<Tally> = attempts.iter().map(tally).collect();
    let in_suite = tally(attempts.iter().flatten());
    let mut classified = classify(&by_order, question);
    classified.verdict = with_role(classified.verdict, tally(alone));
    let mut places = Vec::new();
    if classified.exact.is_some_and(|test| test.p_value < question.confidence.error()) {
        // Only if orders really differ, one of them is better than another.
        places.extend((0..by_order.len()).map(|order| (Place::Order(order), by_order[order])));
    }
    // Among equally good places the last is taken: alone is quicker than any order.
    places.push((Place::Suite, in_suite));
    if !alone.is_empty() {
        places.push((Place::Alone, tally(alone)));
    }
    let share = |tally: Tally, evidence: Evidence| match evidence {
        Evidence::Fail => tally.failures as f64 / tally.attempts.max(1) as f64,
        Evidence::Pass => tally.passes() as f64 / tally.attempts.max(1) as f64,
    };
    let advice = |evidence: Evidence| {
        let shares = places.iter().map(|(place, tally)| (*place, share(*tally, evidence)));
        let best = shares.max_by(|a, b| a.1.total_cmp(&b.1)).unwrap_or((Place::Suite, 0.0));
        let rate = Rate::new(best.1).ok();
        let runs = rate.and_then(|rate| plan::runs_needed(rate, question.confidence));
        Advice { place: best.0, share: best.1, runs }
    };
    TestRow {
        test,
        in_suite,
        burst: attempts.iter().map(|it| burst::longest(&series(it))).max().unwrap_or(0),
        alone: tally(alone),
        burst_alone: burst::longest(&series(alone)),
        timing: timing(attempts.iter().flatten().chain(alone)),
        see_failure: advice(Evidence::Fail),
        see_pass: advice(Evidence::Pass),
        classified,
        by_order,
    }
}

/// Gives an order-dependent test its role, by what it does alone.
fn with_role(verdict: Verdict, alone: Tally) -> Verdict {
    match verdict {
        Verdict::OdUnknownRole if alone.is_mixed() => Verdict::Ndod,
        Verdict::OdUnknownRole if 0 < alone.failures => Verdict::OdBrittle,
        Verdict::OdUnknownRole if 0 < alone.attempts => Verdict::OdVictim,
        Verdict::OdUnknownRole => Verdict::OdUnknownRole,
        Verdict::OdVictim
        | Verdict::OdBrittle
        | Verdict::Ndod
        | Verdict::Ndoi
        | Verdict::NodUndecided
        | Verdict::Id
        | Verdict::Env
        | Verdict::Nio
        | Verdict::Ud
        | Verdict::AlwaysFailing
        | Verdict::InsufficientEvidence
        | Verdict::NotFlaky => verdict,
    }
}

fn timing<'a>(attempts: impl Iterator<Item = &'a Attempted>) -> Timing {
    let (mut passes, mut failures) = (Vec::new(), Vec::new());
    for attempt in attempts {
        match attempt.evidence {
            Evidence::Pass => passes.push(attempt.duration),
            Evidence::Fail => failures.push(attempt.duration),
        }
    }
    let is_enough = 2 <= passes.len().min(failures.len());
    let (pass, fail) = (median(passes), median(failures));
    let hint = match pass.zip(fail).filter(|_| is_enough) {
        None => TimingHint::Unknown,
        Some((pass, fail)) if pass.mul_f64(MUCH_LONGER) + WAIT_MIN <= fail => TimingHint::AsyncWait,
        Some(_) => TimingHint::NotAsync,
    };
    Timing { pass, fail, hint }
}

fn median(mut durations: Vec<Duration>) -> Option<Duration> {
    durations.sort_unstable();
    durations.get(durations.len() / 2).copied()
}

fn suite_row(runs: &Runs, tests: &[TestRow], confidence: Confidence) -> SuiteRow {
    let place: BTreeMap<TestIndex, usize> =
        tests.iter().enumerate().map(|(place, row)| (row.test, place)).collect();
    let mut failed_in = vec![BTreeSet::new(); tests.len()];
    let mut failed = Tally::default();
    for (number, run) in runs.suite.iter().enumerate() {
        let failures = run.attempts.iter().filter(|it| it.evidence == Evidence::Fail);
        let failing: Vec<usize> = failures.filter_map(|it| place.get(&it.test).copied()).collect();
        failed.add(if failing.is_empty() { Evidence::Pass } else { Evidence::Fail });
        for place in failing {
            failed_in[place].insert(number as u64);
        }
    }
    let counts: Vec<u64> = failed_in.iter().map(|runs| runs.len() as u64).collect();
    let rates: Vec<Rate> = tests.iter().filter_map(|row| Rate::of(row.in_suite)).collect();
    let groups = co_failing(&failed_in, failed.attempts, confidence);
    SuiteRow {
        failed,
        limits: failed_runs(&counts, failed.attempts),
        if_independent: if_independent(&rates),
        relatedness: relatedness(&counts, failed.failures),
        groups: groups
            .into_iter()
            .map(|group| group.into_iter().map(|place| tests[place].test).collect())
            .collect(),
    }
}

fn contrast(tests: &[TestRow]) -> Option<Contrast> {
    let rate = |tally: Tally| tally.failures as f64 / tally.attempts as f64;
    let both = tests.iter().filter(|row| 0 < row.alone.attempts);
    let pairs: Vec<(f64, f64)> = both.map(|row| (rate(row.in_suite), rate(row.alone))).collect();
    if pairs.is_empty() {
        return None;
    }
    let (suite, alone): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
    let n_less = pairs.iter().filter(|(suite, alone)| alone < suite).count();
    let n_more = pairs.iter().filter(|(suite, alone)| suite < alone).count();
    Some(Contrast {
        n_less,
        n_more,
        n_equal: pairs.len() - n_less - n_more,
        wilcoxon: signed_rank(&pairs),
        kolmogorov_smirnov: kolmogorov_smirnov(&suite, &alone),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question() -> Question {
        Question { confidence: Confidence::USUAL, margin: 0.1, seed: 1 }
    }

    fn attempt(test: usize, fails: bool, ms: u64) -> Attempted {
        let evidence = if fails { Evidence::Fail } else { Evidence::Pass };
        Attempted { test: TestIndex::new(test), evidence, duration: Duration::from_millis(ms) }
    }

    /// Tests that each take a port in every run of a batch and never give it back.
    fn ports_exhausted() -> Runs {
        let mut runs = Runs::default();
        for order in 0..3 {
            let mut n_free = 152_i32;
            for _ in 0..100 {
                let take = |test| {
                    n_free -= 1;
                    attempt(test, n_free < 0, 5)
                };
                runs.suite.push(OrderRun { order, attempts: (0..3).map(take).collect() });
            }
        }
        for test in 0..3 {
            // A hundred runs alone need a hundred ports.
            runs.alone.extend((0..100).map(|_| attempt(test, false, 5)));
        }
        runs
    }

    #[test]
    fn exhausted_ports_give_the_numbers_of_the_study() {
        // Example E8: 49, 49 and 50 failures in each hundred runs, the suite 50 %, alone none.
        let tables = tables(&ports_exhausted(), question());
        let row =
            |test: usize| tables.tests.iter().find(|row| row.test == TestIndex::new(test)).unwrap();
        let bursts: Vec<u64> = (0..3).map(|test| row(test).burst).collect();
        assert_eq!(bursts, [49, 49, 50]);
        assert_eq!(row(0).by_order, [Tally { failures: 49, attempts: 100 }; 3]);
        assert_eq!(tables.suite.failed, Tally { failures: 150, attempts: 300 });
        assert_eq!(tables.suite.limits, 150..=300);
        assert_eq!(tables.suite.relatedness, Some(Relatedness::Related));
        assert_eq!(tables.suite.groups.len(), 1);
        let contrast = tables.contrast.unwrap();
        assert_eq!((contrast.n_less, contrast.n_equal, contrast.n_more), (3, 0, 0));
        assert_eq!(row(2).see_pass.place, Place::Alone);
        assert_eq!(row(2).see_failure.place, Place::Suite);
    }

    #[test]
    fn an_order_that_matters_is_where_to_look() {
        let mut runs = Runs::default();
        for order in 0..4 {
            for run in 0..20 {
                let fails = order == 2 && run % 2 == 0;
                runs.suite.push(OrderRun { order, attempts: vec![attempt(0, fails, 5)] });
            }
        }
        let tables = tables(&runs, question());
        let row = &tables.tests[0];
        assert_eq!(row.classified.verdict, Verdict::Ndod);
        assert_eq!((row.see_failure.place, row.see_failure.runs), (Place::Order(2), Some(5)));
        assert_eq!(row.alone.attempts, 0);
        assert_eq!(tables.contrast, None);
        assert_eq!(tables.suite.relatedness, None, "one test is related to nobody");
    }

    #[test]
    fn what_it_does_alone_tells_a_victim_from_a_brittle() {
        for (fails_alone, verdict) in [(false, Verdict::OdVictim), (true, Verdict::OdBrittle)] {
            let mut runs = Runs::default();
            for order in 0..4 {
                let run = OrderRun { order, attempts: vec![attempt(0, order < 2, 5)] };
                runs.suite.extend(std::iter::repeat_n(run, 10));
            }
            runs.alone = vec![attempt(0, fails_alone, 5); 10];
            let tables = tables(&runs, question());
            assert_eq!(tables.tests[0].classified.verdict, verdict);
            let advice = (tables.tests[0].see_pass.place, tables.tests[0].see_failure.place);
            let is_alone = |place| place == Place::Alone;
            assert_eq!((is_alone(advice.0), is_alone(advice.1)), (!fails_alone, fails_alone));
        }
    }

    #[test]
    fn failing_late_hints_at_waiting() {
        let hint = |fail_ms: u64| {
            let runs = (0..10).map(|run| OrderRun {
                order: 0,
                attempts: vec![attempt(0, run % 2 == 0, if run % 2 == 0 { fail_ms } else { 100 })],
            });
            let runs = Runs { suite: runs.collect(), alone: Vec::new() };
            tables(&runs, question()).tests[0].timing.hint
        };
        assert_eq!(hint(5000), TimingHint::AsyncWait);
        assert_eq!(hint(100), TimingHint::NotAsync);
        assert_eq!(hint(10), TimingHint::NotAsync);
    }

    #[test]
    fn nothing_flaky_makes_empty_tables() {
        let run = OrderRun { order: 0, attempts: vec![attempt(0, false, 5)] };
        let tables = tables(&Runs { suite: vec![run], alone: Vec::new() }, question());
        assert!(tables.tests.is_empty());
        assert_eq!(tables.suite.failed.failures, 0);
    }
}
