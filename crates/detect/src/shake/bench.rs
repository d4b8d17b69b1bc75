//! The runs of shaking a test: what is held fixed, what was seen, and whether it recurs.

use std::rc::Rc;
use std::time::Duration;

use futures_util::future::{try_join, try_join_all};
use unflake_model::random::Random;
use unflake_model::{
    Environment, Evidence, Factor, Factors, Order, OutcomeKind, Repetition, RunId, Tally,
};
use unflake_stats::compare::fisher;

use super::{Culprit, Design, TRIES};
use crate::lab::{Lab, OutOfBudget};
use crate::ledger::Run;

/// The minimum and maximum of pairs of runs, with and without, that test a factor.
const PAIRS: (u64, u64) = (8, 24);
/// The minimum and maximum of runs under fresh seeds.
const FRESH: (u64, u64) = (12, 24);
/// A p-value this small makes further pairs unnecessary.
const CLEAR: f64 = 0.001;
/// With a larger p-value, nothing is named.
pub(super) const ALPHA: f64 = 0.01;

/// A run that ended differently.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hit {
    pub(super) factors: Factors,
    pub(super) seed: u64,
}

/// One screening run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Screened {
    pub(super) factors: Factors,
    pub(super) evidence: Evidence,
}

pub(super) struct Bench {
    pub(super) lab: Lab,
    design: Design,
    /// Factors that were not named yet.
    pub(super) pool: Factors,
    pub(super) fixed: Tally,
    pub(super) screened: Vec<Screened>,
    /// Screening runs with only quick factors on.
    screened_quickly: Vec<Screened>,
    n_quick: u64,
    random: Random,
    n_seeds: u64,
    /// The half that the last screening run left off.
    other_half: Option<Factors>,
    took: Took,
}

/// Times of runs with the factors in question.
#[derive(Clone, Copy, Debug, Default)]
struct Took {
    failing: (Duration, u32),
    passing: (Duration, u32),
}

impl Took {
    fn add(&mut self, evidence: Evidence, took: Duration) {
        let side = match evidence {
            Evidence::Fail => &mut self.failing,
            Evidence::Pass => &mut self.passing,
        };
        *side = (side.0 + took, side.1 + 1);
    }

    fn means(self) -> (Option<Duration>, Option<Duration>) {
        let mean = |(sum, n): (Duration, u32)| (0 < n).then(|| sum / n);
        (mean(self.failing), mean(self.passing))
    }
}

impl Bench {
    pub(super) fn new(lab: Lab, design: Design) -> Self {
        Self {
            lab,
            design,
            pool: design.factors,
            fixed: Tally::default(),
            screened: Vec::new(),
            screened_quickly: Vec::new(),
            n_quick: 0,
            random: Random::new(design.seed),
            n_seeds: 0,
            other_half: None,
            took: Took::default(),
        }
    }

    /// A seed that no run has had. Short enough to be typed.
    fn fresh_seed(&mut self) -> u64 {
        self.n_seeds += 1;
        Random::labelled(self.design.seed, &[self.n_seeds]).bits() >> 44
    }

    async fn run(&self, factors: Factors, seed: u64) -> Result<Rc<Run>, OutOfBudget> {
        let order = Order::from_distinct([self.design.test]);
        let environment = Environment::Perturbed { factors, seed };
        self.lab.run_with(order, environment, Repetition::Once).await
    }

    /// Makes runs with everything fixed.
    pub(super) async fn run_fixed(&mut self, n_runs: u64) -> Result<(), OutOfBudget> {
        let runs = (0..n_runs).map(|_| self.run(Factors::NONE, 0));
        for run in try_join_all(runs).await? {
            if let Some(evidence) = evidence(&run) {
                self.fixed.add(evidence);
            }
        }
        Ok(())
    }

    /// How the test usually ends with everything fixed.
    pub(super) fn usual(&self) -> Evidence {
        if self.fixed.passes() < self.fixed.failures { Evidence::Fail } else { Evidence::Pass }
    }

    /// How it ended in screening runs with this factor on and no named factor on.
    pub(super) fn screened_with(&self, factor: Factor) -> Tally {
        let mut tally = Tally::default();
        let all = self.screened.iter().chain(&self.screened_quickly);
        let of_pool = all.filter(|run| run.factors.without(self.pool).is_empty());
        for run in of_pool.filter(|run| run.factors.contains(factor)) {
            tally.add(run.evidence);
        }
        tally
    }

    /// Screening runs without any named factor.
    pub(super) fn screened_of_pool(&self) -> impl Iterator<Item = &Screened> {
        self.screened.iter().filter(|run| run.factors.without(self.pool).is_empty())
    }

    /// A random half of the pool, and the next time the other half.
    fn half(&mut self) -> Factors {
        if let Some(half) = self.other_half.take().filter(|it| it.without(self.pool).is_empty()) {
            return half;
        }
        let mut pool: Vec<Factor> = self.pool.iter().collect();
        self.random.shuffle(&mut pool);
        pool.truncate(pool.len().div_ceil(2));
        let half: Factors = pool.into_iter().collect();
        self.other_half = Some(self.pool.without(half)).filter(|other| !other.is_empty());
        half
    }

    /// Makes screening runs of the pool until one ends differently, at most `n_runs`; earlier ones
    /// count if no factor named since was on.
    pub(super) async fn screen(&mut self, n_runs: u64) -> Result<Option<Hit>, OutOfBudget> {
        let mut n_made = self.screened_of_pool().count() as u64;
        while n_made < n_runs {
            let n_batch = self.lab.width() as u64;
            let hits = self.screen_batch(n_batch.min(n_runs - n_made)).await?;
            n_made += n_batch;
            if let Some(hit) = hits.into_iter().next() {
                return Ok(Some(hit));
            }
        }
        Ok(None)
    }

    /// The same with all quick factors of the pool on and nothing else. Runs with a factor on that
    /// was named since count too: they have shown nothing else.
    pub(super) async fn screen_quick(&mut self, n_runs: u64) -> Result<Option<Hit>, OutOfBudget> {
        let factors = self.design.quick.without(self.design.quick.without(self.pool));
        while !factors.is_empty() && self.n_quick < n_runs {
            let n_batch = self.lab.width() as u64;
            self.n_quick += n_batch;
            let planned = (0..n_batch).map(|_| Hit { factors, seed: self.fresh_seed() }).collect();
            let (screened, hits) = self.screen_planned(planned).await?;
            self.screened_quickly.extend(screened);
            if let Some(hit) = hits.into_iter().next() {
                return Ok(Some(hit));
            }
        }
        Ok(None)
    }

    /// Makes this many screening runs; returns those that ended differently.
    pub(super) async fn screen_batch(&mut self, n_runs: u64) -> Result<Vec<Hit>, OutOfBudget> {
        let mut planned = Vec::new();
        for _ in 0..n_runs {
            planned.push(Hit { factors: self.half(), seed: self.fresh_seed() });
        }
        let (screened, hits) = self.screen_planned(planned).await?;
        self.screened.extend(screened);
        Ok(hits)
    }

    /// Makes these runs; returns those that ended differently.
    async fn screen_planned(
        &self,
        planned: Vec<Hit>,
    ) -> Result<(Vec<Screened>, Vec<Hit>), OutOfBudget> {
        let usual = self.usual();
        let runs = planned.iter().map(|it| self.run(it.factors, it.seed));
        let runs = try_join_all(runs).await?;
        let (mut screened, mut hits) = (Vec::new(), Vec::new());
        for (hit, run) in planned.into_iter().zip(runs) {
            let Some(evidence) = evidence(&run) else { continue };
            screened.push(Screened { factors: hit.factors, evidence });
            if evidence != usual {
                hits.push(hit);
            }
        }
        Ok((screened, hits))
    }

    /// Whether the test ends differently with these factors and this seed, in one of a few tries.
    pub(super) async fn shows(&self, factors: Factors, seed: u64) -> Result<bool, OutOfBudget> {
        self.shows_in(factors, seed, TRIES).await
    }

    /// The same, in one of `n_runs` tries.
    pub(super) async fn shows_in(
        &self,
        factors: Factors,
        seed: u64,
        tries: u64,
    ) -> Result<bool, OutOfBudget> {
        for _ in 0..tries {
            let run = self.run(factors, seed).await?;
            if evidence(&run).is_some_and(|evidence| evidence != self.usual()) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Tests factors, alternating with everything fixed: under this seed if there is one, and under
    /// others. `None` if there is no difference to speak of.
    pub(super) async fn confirm(
        &mut self,
        factors: Factors,
        seed: Option<u64>,
    ) -> Result<Option<Culprit>, OutOfBudget> {
        if factors.is_empty() {
            return Ok(None);
        }
        self.took = Took::default();
        let seeded = match seed {
            Some(seed) => Some((seed, self.compare(factors, Some(seed), PAIRS).await?)),
            None => None,
        };
        let is_shown = seeded.as_ref().is_some_and(|(_, seen)| seen.p_value() < ALPHA / 2.0);
        let fresh = (FRESH.0, if is_shown { FRESH.0 } else { FRESH.1 * 2 });
        let fresh = self.compare(factors, None, fresh).await?;
        // Doubled, because there are two chances to find a difference.
        let p_value = seeded.as_ref().map_or(1.0, |(_, seen)| 2.0 * seen.p_value());
        let p_value = p_value.min(2.0 * fresh.p_value()).min(1.0);
        if ALPHA <= p_value {
            return Ok(None);
        }
        let (seed, seeded) = match (seeded, fresh.unusual) {
            (Some(it), _) if it.1.unusual.is_some() => it,
            (_, Some((seed, _))) => {
                (seed, self.compare(factors, Some(seed), (PAIRS.0, PAIRS.0)).await?)
            }
            (_, None) => return Ok(None),
        };
        let run = seeded.unusual.or(fresh.unusual).map(|(_, run)| run);
        let Some(run) = run else { return Ok(None) };
        let without = sum(seeded.without, fresh.without);
        let (under_seed, with) = (seeded.with, fresh.with);
        let took = self.took.means();
        Ok(Some(Culprit { factors, seed, under_seed, with, without, p_value, run, took }))
    }

    /// Alternates runs with and without until the difference is clear, or the maximum is reached.
    async fn compare(
        &mut self,
        factors: Factors,
        seed: Option<u64>,
        (at_least, at_most): (u64, u64),
    ) -> Result<Compared, OutOfBudget> {
        let usual = self.usual();
        let mut seen = Compared::default();
        for n_pairs in 0..at_most {
            if at_least <= n_pairs && seen.p_value() < CLEAR {
                break;
            }
            let run_seed = seed.unwrap_or_else(|| self.fresh_seed());
            let pair = try_join(self.run(factors, run_seed), self.run(Factors::NONE, 0));
            let (with, without) = pair.await?;
            if let Some(evidence) = evidence(&with) {
                seen.with.add(evidence);
                self.took.add(evidence, with.last_took);
                if evidence != usual {
                    seen.unusual = Some((run_seed, with.id));
                }
            }
            if let Some(evidence) = evidence(&without) {
                seen.without.add(evidence);
                self.fixed.add(evidence);
            }
        }
        Ok(seen)
    }
}

/// Runs with and without the factors.
#[derive(Clone, Copy, Debug, Default)]
struct Compared {
    with: Tally,
    without: Tally,
    /// The seed and number of the last run that ended differently.
    unusual: Option<(u64, RunId)>,
}

impl Compared {
    fn p_value(&self) -> f64 {
        fisher(self.with, self.without)
    }
}

fn sum(a: Tally, b: Tally) -> Tally {
    Tally { failures: a.failures + b.failures, attempts: a.attempts + b.attempts }
}

fn evidence(run: &Run) -> Option<Evidence> {
    run.last().and_then(OutcomeKind::evidence)
}
