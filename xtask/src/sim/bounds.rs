//! Checks claimed bounds by simulation: how often does a test show that fails under a share of all
//! hash seeds, or in a share of its runs?
//!
//! A campaign that ran its orders under `n` hash seeds finds a test that fails under a share `r` of
//! them with probability `1 - (1 - r)^n`. The simulation must confirm that, also for `why`, which
//! tries as many seeds; for a test that fails at random, both must find at least as many.

use std::rc::Rc;

use unflake_detect::Analysis;
use unflake_detect::Depth;
use unflake_detect::campaign::{SuiteSettings, campaign};
use unflake_detect::why::{Known, Plan, why};
use unflake_model::{Budget, Confidence, Factors, Suite, Tally, TestIndex, Verdict};
use unflake_model::{HashSeeds, random::Random};
use unflake_sim::behaviour::{Chance, Ending};
use unflake_sim::{Phenomenon, SimSuite, Timing, answer_all};
use unflake_stats::rate::{Rate, interval};

use crate::table::{render, row};

/// How many campaigns, and questions, to run for each rate.
const N_SUITES: u64 = 300;

/// The flaky test among a few.
fn flaky() -> TestIndex {
    TestIndex::new(7)
}

/// Why it is flaky.
#[derive(Clone, Copy)]
enum Fault {
    HashSeed(f64),
    Random(f64),
}

/// How often it was found, and how often it should be.
struct Bound {
    what: String,
    by: &'static str,
    found: Tally,
    expected: f64,
    /// Whether more than expected is acceptable.
    is_least: bool,
}

pub(crate) fn run() -> Vec<String> {
    let faults = [
        Fault::HashSeed(0.5),
        Fault::HashSeed(0.1),
        Fault::HashSeed(0.05),
        Fault::HashSeed(0.02),
        Fault::Random(0.5),
        Fault::Random(0.05),
        Fault::Random(0.01),
    ];
    let bounds: Vec<Bound> =
        faults.into_iter().flat_map(|it| [by_campaign(it), by_why(it)]).collect();
    print(&bounds);
    let outside = bounds.iter().filter(|bound| !bound.is_inside());
    outside.map(|it| format!("{}, by {}: not as often as was bounded", it.what, it.by)).collect()
}

impl Fault {
    fn planted(self, seed: u64) -> SimSuite {
        let phenomenon = match self {
            Self::HashSeed(rate) => Phenomenon::OpenChoice { test: flaky(), rate },
            Self::Random(rate) => Phenomenon::Random {
                test: flaky(),
                chance: Chance::Independent { rate },
                ending: Ending::Fail,
            },
        };
        let suite = Suite::of_sizes(&[5, 5]).expect("a few tests");
        SimSuite::planted(suite, &[phenomenon], Timing::USUAL, seed).expect("it can be planted")
    }

    fn words(self) -> String {
        match self {
            Self::HashSeed(rate) => format!("fails under {rate} of hash seeds"),
            Self::Random(rate) => format!("fails in {rate} of its runs"),
        }
    }

    fn expected(self, n: u64) -> f64 {
        let (Self::HashSeed(rate) | Self::Random(rate)) = self;
        1.0 - (1.0 - rate).powi(i32::try_from(n).unwrap_or(i32::MAX))
    }

    fn bound(self, by: &'static str, found: Tally, n: u64) -> Bound {
        let is_least = matches!(self, Self::Random(_));
        Bound { what: self.words(), by, found, expected: self.expected(n), is_least }
    }
}

fn by_campaign(fault: Fault) -> Bound {
    let mut found = Tally::default();
    let mut n_seeds = u64::MAX;
    for seed in 0..N_SUITES {
        let settings = SuiteSettings {
            seed,
            tries: 3,
            depth: Depth::Roles,
            hash_seeds: HashSeeds::Varied,
            perturbed_runs: 0,
            choices: Factors::NONE,
            dirty: Vec::new(),
            flake_rate_min: rate(),
        };
        let report = drive(&fault.planted(seed), |lab| campaign(lab, settings));
        // Plain runs have a seed as well, for which nothing was planted.
        n_seeds = n_seeds.min(report.n_seeds - 1);
        let is_found = report.findings.iter().any(|it| it.test == flaky());
        count(&mut found, is_found);
    }
    fault.bound("detect", found, n_seeds)
}

fn by_why(fault: Fault) -> Bound {
    let mut found = Tally::default();
    let mut n_tried = u64::MAX;
    for seed in 0..N_SUITES {
        let plan = Plan {
            depth: Depth::Roles,
            seed,
            flake_rate_min: rate(),
            hash_seeds: HashSeeds::Varied,
            choices: Factors::NONE,
            circumstances: Factors::NONE,
            orders_time_max: None,
        };
        let finding = drive(&fault.planted(seed), |lab| why(lab, flaky(), plan, Known::default()));
        let is_cleared = finding.verdict == Verdict::NotFlaky;
        if is_cleared {
            n_tried = n_tried.min(finding.tried.seeds - 1).min(finding.tried.runs);
        }
        count(&mut found, !is_cleared);
    }
    // If no test was cleared, as many seeds would have been tried.
    fault.bound("why", found, if n_tried == u64::MAX { 59 } else { n_tried })
}

fn rate() -> Rate {
    Rate::new(0.05).expect("a rate")
}

fn drive<T: 'static, F: Future<Output = T> + 'static>(
    sim: &SimSuite,
    analysis: impl FnOnce(unflake_detect::Lab) -> F,
) -> T {
    let mut random = Random::new(0);
    let budget = Budget::unlimited(Confidence::USUAL);
    Analysis::new(Rc::new(sim.suite().clone()), budget, analysis)
        .drive(1, |experiments| answer_all(sim, experiments, &mut random))
        .0
}

fn count(tally: &mut Tally, is_found: bool) {
    tally.attempts += 1;
    tally.failures += u64::from(is_found);
}

impl Bound {
    /// Fourteen intervals are checked: each is so wide that one in a million misses.
    fn is_inside(&self) -> bool {
        let confidence = Confidence::new(1.0 - 1e-6).expect("a probability");
        let limits = interval(self.found, confidence);
        let is_enough = self.expected <= limits.upper;
        is_enough && (self.is_least || limits.lower <= self.expected)
    }
}

fn print(bounds: &[Bound]) {
    println!("Flaky tests found, of {N_SUITES}, and how many should be (5 % at 95 %):\n");
    let mut rows = vec![row!["test", "by", "should be", "found", ""]];
    for bound in bounds {
        let share = bound.found.failures as f64 / bound.found.attempts as f64;
        let least = if bound.is_least { "at least " } else { "" };
        let inside = if bound.is_inside() { "inside" } else { "OUTSIDE" };
        let expected = format!("{least}{:.3}", bound.expected);
        rows.push(row![bound.what, bound.by, expected, format!("{share:.3}"), inside]);
    }
    println!("{}", render(&rows));
}
