//! How likely is it that a test fails at random, and that its next run shows it?
//!
//! A test is one of three: *steady* (always passes), *broken* (always fails), or non-deterministic
//! with some failure rate. How common each rate is among non-deterministic tests is a short table
//! ([`Rates`]); a Beta distribution has only two parameters and cannot have both of the humps that
//! real tests have, at rates below 1 % and above 90 %. A test that is not unveiled yet has shown
//! only one outcome, `k` times in a row. By Bayes, with `A(k) = E[(1-f)^k]` over the table,
//!
//! ```text
//! P(random | k passes)            = flaky A(k) / (flaky A(k) + steady)
//! P(next run fails | random, k)   = 1 - A(k+1) / A(k)
//! ```
//!
//! and the same with failures for passes, `f` for `1-f`, and broken for steady. The second line
//! never grows with `k`: tests that rarely fail make up an ever larger part of those that survive
//! (a mixture of geometric distributions has a decreasing hazard). So it suffices to look one run
//! ahead: no block of runs promises more for each run than the next run does. The only exception is
//! the very first run, which cannot unveil anything; two runs do with `E[2f(1-f)]`, half of it for
//! each, and longer blocks promise no more.

use unflake_model::{Evidence, Tally};

/// The longest streak that changes anything; it bounds the tables.
const STREAK_MAX: usize = 10_000;

/// Rounds of fitting. It converges to three digits long before.
const ROUNDS: usize = 500;

/// The failure rates in a table of rates, as close to each other as 200 runs can tell apart.
const GRID: [f64; 14] =
    [0.005, 0.01, 0.02, 0.04, 0.08, 0.15, 0.25, 0.4, 0.6, 0.75, 0.85, 0.92, 0.97, 0.99];

/// How common each failure rate is among the tests that fail at random.
#[derive(Clone, Debug, PartialEq)]
pub struct Rates {
    /// The share of each rate in [`GRID`]; they add up to 1.
    weights: [f64; GRID.len()],
}

impl Rates {
    /// As seen on 516 tests of 152 Python projects in up to 200 runs of one order (Gruber et al.
    /// 2021, the half of the projects that is public here), fitted by [`Rates::fit`]. Tests that
    /// are too rare to have shown themselves in 200 runs are missing. No such table is published
    /// for other languages; it only starts the search, whatever the runner.
    pub const PUBLISHED: Self = Self {
        weights: [
            0.000, 0.567, 0.000, 0.082, 0.028, 0.043, 0.029, 0.012, 0.069, 0.053, 0.000, 0.069,
            0.048, 0.000,
        ],
    };

    /// The table under which these counts are most likely, found by expectation maximisation;
    /// [`Rates::PUBLISHED`] if there is nothing to fit.
    pub fn fit(tallies: &[Tally]) -> Self {
        if tallies.is_empty() {
            return Self::PUBLISHED;
        }
        let mut weights = [1.0 / GRID.len() as f64; GRID.len()];
        for _ in 0..ROUNDS {
            let mut sums = [0.0; GRID.len()];
            for tally in tallies {
                let shares = shares(&weights, *tally);
                sums.iter_mut().zip(shares).for_each(|(sum, share)| *sum += share);
            }
            weights = sums.map(|sum| sum / tallies.len() as f64);
        }
        Self { weights }
    }

    /// Each rate with its share.
    pub fn points(&self) -> impl Iterator<Item = (f64, f64)> {
        GRID.into_iter().zip(self.weights)
    }
}

/// How likely each rate is, given the counts of a test.
fn shares(weights: &[f64; GRID.len()], tally: Tally) -> [f64; GRID.len()] {
    let (failures, passes) = (tally.failures as f64, (tally.attempts - tally.failures) as f64);
    let ln_likelihood = GRID.map(|rate| failures * rate.ln() + passes * (-rate).ln_1p());
    let most = ln_likelihood.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let mut shares = ln_likelihood.map(|ln| (ln - most).exp());
    shares.iter_mut().zip(weights).for_each(|(share, weight)| *share *= weight);
    let sum: f64 = shares.iter().sum();
    shares.map(|share| share / sum)
}

/// What is believed about a test before its first run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prior {
    /// The probability that it fails at random.
    pub flaky: f64,
    /// The probability that it always fails.
    pub broken: f64,
}

/// The one outcome a test has shown so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Streak {
    /// The outcome; `None` before the first one.
    pub shown: Option<Evidence>,
    /// The number of times in a row.
    pub length: u32,
}

/// The formulas above, as tables.
#[derive(Clone, Debug)]
pub struct Belief {
    /// `E[(1-f)^k]` for k = 0, 1, …
    all_passed: Vec<f64>,
    /// `E[f^k]`.
    all_failed: Vec<f64>,
    /// `E[f(1-f)]`.
    first_two: f64,
}

impl Belief {
    /// The tables for tests whose failure rates are distributed like this.
    pub fn new(rates: &Rates) -> Self {
        let powers = |base: fn(f64) -> f64| {
            let mut terms: Vec<(f64, f64)> =
                rates.points().map(|(rate, weight)| (base(rate), weight)).collect();
            let mut next = || {
                let sum = terms.iter().map(|(_, term)| term).sum();
                for (base, term) in &mut terms {
                    *term *= *base;
                }
                sum
            };
            (0..=STREAK_MAX + 1).map(|_| next()).collect()
        };
        let first_two = rates.points().map(|(rate, weight)| weight * rate * (1.0 - rate)).sum();
        Self { all_passed: powers(|rate| 1.0 - rate), all_failed: powers(|rate| rate), first_two }
    }

    /// The chance that a test fails at random, given what it has shown.
    pub fn flaky(&self, prior: Prior, streak: Streak) -> f64 {
        let steady = 1.0 - prior.flaky - prior.broken;
        let (survived, otherwise) = match streak.shown {
            None => (1.0, steady + prior.broken),
            Some(Evidence::Pass) => (self.all_passed[at(streak)], steady),
            Some(Evidence::Fail) => (self.all_failed[at(streak)], prior.broken),
        };
        let random = prior.flaky * survived;
        random / (random + otherwise).max(f64::MIN_POSITIVE)
    }

    /// What the next run of a test that fails at random adds to the chance of having seen it both
    /// pass and fail; for the first run, half of what two runs add. No number of runs promises more
    /// for each.
    pub fn unveiling(&self, streak: Streak) -> f64 {
        let next = |table: &[f64]| 1.0 - table[at(streak) + 1] / table[at(streak)];
        match streak.shown {
            None => self.first_two,
            Some(Evidence::Pass) => next(&self.all_passed),
            Some(Evidence::Fail) => next(&self.all_failed),
        }
    }
}

fn at(streak: Streak) -> usize {
    (streak.length as usize).min(STREAK_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use unflake_model::random::Random;

    fn near(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-9
    }

    fn passed(length: u32) -> Streak {
        Streak { shown: Some(Evidence::Pass), length }
    }

    /// A table with only one rate of the grid.
    fn only(index: usize) -> Rates {
        let mut weights = [0.0; GRID.len()];
        weights[index] = 1.0;
        Rates { weights }
    }

    #[test]
    fn the_shares_of_all_rates_are_the_whole() {
        assert!(near(Rates::PUBLISHED.weights.iter().sum(), 1.0));
    }

    #[test]
    fn one_rate_gives_the_posterior_of_the_book() {
        // 10 % random with f = 0.4: after one pass 0.06 / (0.06 + 0.9).
        let belief = Belief::new(&only(7));
        let prior = Prior { flaky: 0.1, broken: 0.0 };
        assert!(near(belief.flaky(prior, Streak::default()), 0.1));
        assert!(near(belief.flaky(prior, passed(1)), 0.06 / 0.96));
        assert!(near(belief.unveiling(passed(1)), 0.4));
        assert!(near(belief.unveiling(passed(9)), 0.4));
        assert!(near(belief.unveiling(Streak::default()), 0.4 * 0.6));
    }

    #[test]
    fn a_test_that_only_failed_is_broken_or_about_to_pass() {
        let belief = Belief::new(&only(8));
        let prior = Prior { flaky: 0.1, broken: 0.02 };
        let failed = Streak { shown: Some(Evidence::Fail), length: 2 };
        assert!(near(belief.flaky(prior, failed), 0.036 / 0.056));
        assert!(near(belief.unveiling(failed), 0.4));
    }

    #[test]
    fn no_block_of_runs_promises_more_for_each_run_than_the_next_run() {
        // The chance to be unveiled within n runs, divided by n, after k passes: the Gittins index.
        let belief = Belief::new(&Rates::PUBLISHED);
        for k in [1, 2, 5, 20, 100, 1000] {
            let within = |n: usize| 1.0 - belief.all_passed[k + n] / belief.all_passed[k];
            let best = (1..500).map(|n| within(n) / n as f64).fold(0.0, f64::max);
            let next = belief.unveiling(passed(u32::try_from(k).unwrap()));
            assert!(near(best, next), "{k}: {best} {next}");
        }
        // Before the first run, two runs are the best block.
        let within = |n: usize| 1.0 - belief.all_passed[n] - belief.all_failed[n];
        let best = (1..500).map(|n| within(n) / n as f64).fold(0.0, f64::max);
        assert!(near(best, belief.unveiling(Streak::default())), "{best}");
    }

    #[test]
    fn a_fit_finds_the_rates_that_made_the_counts() {
        let mut random = Random::new(5);
        let tallies: Vec<Tally> = (0..600)
            .map(|index| {
                let rate = if index % 3 == 0 { 0.02 } else { 0.6 };
                let failures = (0..200).filter(|_| random.chance(rate)).count() as u64;
                Tally { failures, attempts: 200 }
            })
            .collect();
        let fit = Rates::fit(&tallies);
        let around = |low: f64, high: f64| -> f64 {
            let inside = fit.points().filter(|(rate, _)| (low..high).contains(rate));
            inside.map(|(_, weight)| weight).sum()
        };
        assert!((around(0.005, 0.05) - 1.0 / 3.0).abs() < 0.01, "{fit:?}");
        assert!((around(0.5, 0.7) - 2.0 / 3.0).abs() < 0.01, "{fit:?}");
    }

    #[test]
    fn tables_end_where_nothing_changes_any_more() {
        let belief = Belief::new(&Rates::PUBLISHED);
        let (far, end) = (passed(u32::MAX), passed(u32::try_from(STREAK_MAX).unwrap()));
        assert!(near(belief.unveiling(far), belief.unveiling(end)));
        assert!(belief.unveiling(far).is_finite());
    }
}
