//! Which circumstance makes this test fail?
//!
//! There are eighteen factors, most of which do not matter to a test. Trying them one after the
//! other costs eighteen times the runs that one takes. Instead (group screening), every run has a
//! random half of the factors on and the other half held fixed, the next run has the other half on,
//! and each run has its own seed. So each run tries nine factors at once, and each factor is on in
//! half of all runs.
//!
//! A run that ends differently than the test does with everything fixed is a *hit*. Because a
//! perturbed run can be repeated exactly, the hit is narrowed down under its own seed: which of its
//! factors are needed? This is done by halving, so that one of nine takes about four questions;
//! factors that act only together are found together. They are then tried again, alternating with
//! runs where everything is fixed, because failures come in bursts: under the seed of the hit, and
//! under fresh seeds, which show how often the factor matters at all. A factor that was named is
//! left out from then on, and the search goes on for others.
//!
//! Most factors cost time: delays, busy processes, a fresh interpreter. The *quick* ones (random
//! numbers, the date, the time zone …) do not. They are tried before the others, all at once, in
//! runs that take no longer than the test; so there can be more of them, and they also find what
//! matters only under a few of a hundred seeds.
//!
//! A test that ends both ways with everything fixed has no clear hits. For such a test the runs are
//! made first, and the factor that makes the largest difference is named (`noisy`).
//!
//! **Limits.** A factor that matters less often than the wanted rate may be missed, which the
//! answer bounds. A factor that breaks every run (a test that needs the usual locale) hides others
//! until it is named. In noise, only factors that act by themselves are found, and pairs of the two
//! strongest.

mod bench;
mod cause;
mod noisy;

use std::time::Duration;

use unflake_model::{Decides, Factor, Factors, RunId, Tally, TestIndex};
use unflake_stats::plan::runs_needed;
use unflake_stats::rate::Rate;

use crate::lab::{Lab, OutOfBudget};
use bench::{Bench, Hit};
pub use cause::root_cause;

/// Runs with everything fixed, made before anything else.
const FIXED_RUNS: u64 = 10;
/// Quick factors are searched for down to this fraction of the wanted rate.
const QUICK_PART: f64 = 0.25;
/// How many factors (or groups of them) are named before the search ends.
const CULPRITS_MAX: usize = 6;
/// How many hits may fail to recur before the test is assumed to be noisy.
const STRAYS_MAX: usize = 3;
/// Runs in which a hit, or part of it, can show again.
const TRIES: u64 = 3;
/// The same, where a wrong "no" would name a factor that is innocent.
const DOUBLE_TRIES: u64 = 8;
/// The largest number of factors acting together that is disentangled.
const TOGETHER_MAX: usize = 4;

/// What to find out, and where to look.
#[derive(Clone, Copy, Debug)]
pub struct Design {
    /// The test to shake.
    pub test: TestIndex,
    /// The factors to try.
    pub factors: Factors,
    /// The ones among them that cost no time.
    pub quick: Factors,
    /// The seeds of runs are derived from this.
    pub seed: u64,
    /// A factor that matters under at least this share of seeds should be found.
    pub rate_min: Rate,
}

/// The result of shaking a test.
#[derive(Clone, Debug)]
pub struct Shaken {
    /// How it ended with everything fixed, over all such runs.
    pub fixed: Tally,
    /// The factors that make it end differently.
    pub culprits: Vec<Culprit>,
    /// How it ended in screening runs with each factor on, without those that had a named factor
    /// on.
    pub screened: Vec<(Factor, Tally)>,
    /// Whether the search finished.
    pub is_complete: bool,
}

/// Something that makes a test end differently.
#[derive(Clone, Debug)]
pub struct Culprit {
    /// One factor, or several that act only together.
    pub factors: Factors,
    /// A seed under which they do.
    pub seed: u64,
    /// How the test ends under that seed.
    pub under_seed: Tally,
    /// How it ends under fresh seeds.
    pub with: Tally,
    /// How it ends with everything fixed, in runs that alternate with those.
    pub without: Tally,
    /// The probability of such a difference if the factors made none.
    pub p_value: f64,
    /// A run in which it ended differently.
    pub run: RunId,
    /// Its average time when it failed and when it passed, where it did.
    pub took: (Option<Duration>, Option<Duration>),
}

impl Culprit {
    /// What decides the outcome, as far as was seen.
    pub fn decides(&self) -> Decides {
        // Under this seed it always ends the same way; under how many others?
        let is_failing = 0 < self.under_seed.failures;
        let n_same = if is_failing { self.with.failures } else { self.with.passes() };
        match (self.under_seed.is_mixed(), n_same == self.with.attempts) {
            (true, _) => Decides::Chance,
            (false, true) => Decides::Nothing,
            (false, false) => Decides::Seed,
        }
    }

    /// Whether the factors make the test fail, not pass.
    pub fn makes_it_fail(&self) -> bool {
        let share = |tally: Tally| tally.failures as f64 / tally.attempts.max(1) as f64;
        share(self.without) <= share(self.under_seed)
    }
}

/// Finds out which factors make a test end differently.
pub async fn shake(lab: Lab, design: Design) -> Shaken {
    let mut bench = Bench::new(lab, design);
    let mut culprits = Vec::new();
    let ended = search(&mut bench, design, &mut culprits).await;
    let left = bench.pool.iter();
    Shaken {
        fixed: bench.fixed,
        screened: left.map(|factor| (factor, bench.screened_with(factor))).collect(),
        culprits,
        is_complete: ended.is_ok(),
    }
}

async fn search(
    bench: &mut Bench,
    design: Design,
    culprits: &mut Vec<Culprit>,
) -> Result<(), OutOfBudget> {
    bench.run_fixed(FIXED_RUNS).await?;
    // Each factor is on in half of the runs.
    let half = Rate::new(design.rate_min.get() / 2.0).unwrap_or(design.rate_min);
    let part = Rate::new(design.rate_min.get() * QUICK_PART).unwrap_or(design.rate_min);
    let confidence = bench.lab.budget().confidence();
    let n_screening = runs_needed(half, confidence).unwrap_or(u64::MAX);
    let n_quick = runs_needed(part, confidence).unwrap_or(u64::MAX);
    let mut n_strays = 0;
    while culprits.len() < CULPRITS_MAX && !bench.pool.is_empty() {
        if bench.fixed.is_mixed() || STRAYS_MAX <= n_strays {
            return noisy::search(bench, n_screening, culprits).await;
        }
        let hit = match bench.screen_quick(n_quick).await? {
            Some(hit) => Some(hit),
            None => bench.screen(n_screening).await?,
        };
        let Some(hit) = hit else { return Ok(()) };
        let shows_again = bench.shows(hit.factors, hit.seed).await?;
        let factors = if shows_again { narrow(bench, hit).await? } else { Factors::NONE };
        match bench.confirm(factors, Some(hit.seed)).await? {
            Some(culprit) => {
                bench.pool = bench.pool.without(culprit.factors);
                culprits.push(culprit);
            }
            None => n_strays += 1,
        }
    }
    Ok(())
}

/// The factors of a hit that it needs, by halving: each round finds the last one of the smallest
/// beginning that, with those found before, is enough.
async fn narrow(bench: &mut Bench, hit: Hit) -> Result<Factors, OutOfBudget> {
    let mut needed = Factors::NONE;
    let mut rest: Vec<Factor> = hit.factors.iter().collect();
    while needed.len() < TOGETHER_MAX {
        let (mut too_few, mut enough) = (0, rest.len());
        while too_few + 1 < enough {
            let middle = usize::midpoint(too_few, enough);
            let part = needed.with(rest[..middle].iter().copied().collect());
            if bench.shows(part, hit.seed).await? {
                enough = middle;
            } else {
                too_few = middle;
            }
        }
        let Some(last) = enough.checked_sub(1).and_then(|place| rest.get(place)) else { break };
        needed = needed.with([*last].into_iter().collect());
        rest.truncate(enough - 1);
        if rest.is_empty() || bench.shows(needed, hit.seed).await? {
            break;
        }
    }
    // A factor that acts by chance may have failed to show when it was tried alone.
    for factor in needed.iter() {
        let others = needed.without([factor].into_iter().collect());
        if !others.is_empty() && bench.shows_in(others, hit.seed, DOUBLE_TRIES).await? {
            needed = others;
        }
    }
    Ok(needed)
}
