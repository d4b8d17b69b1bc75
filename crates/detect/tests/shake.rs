//! Shaking tests with planted truth: are the right factors named, and with how many runs?

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests are outside of test functions, where clippy.toml allows it"
)]

use std::rc::Rc;
use std::time::Duration;

use unflake_detect::Analysis;
use unflake_detect::shake::{Design, Shaken, shake};
use unflake_model::random::Random;
use unflake_model::{
    Attempt, Budget, Confidence, Decides, Environment, Experiment, Factor, Factors, Observation,
    Outcome, Phase, Spent, SuiteBuilder, TestIndex,
};
use unflake_stats::plan::runs_needed;
use unflake_stats::rate::Rate;

/// A planted reason for the test to end differently.
#[derive(Clone, Copy)]
struct Rule {
    /// The factors that must all be on.
    factors: Factors,
    /// The share of all seeds under which it matters.
    seeds: f64,
    /// How often it has the effect when it matters.
    chance: f64,
}

/// A test with planted truth.
#[derive(Clone)]
struct World {
    /// How often it fails without any factor.
    anyway: f64,
    rules: Vec<Rule>,
    seed: u64,
    /// The factors to try first.
    quick: Factors,
}

impl World {
    fn fails(&self, factors: Factors, seed: u64, run: u64) -> bool {
        let draw = |labels: &[u64], rate| Random::labelled(self.seed, labels).chance(rate);
        let happens = |(number, rule): (usize, &Rule)| {
            rule.factors.without(factors).is_empty()
                && draw(&[1, number as u64, seed], rule.seeds)
                && draw(&[2, number as u64, run], rule.chance)
        };
        let is_shaken = self.rules.iter().enumerate().any(happens);
        draw(&[3, run], self.anyway) != is_shaken
    }

    fn observe(&self, experiment: &Experiment) -> Observation {
        let Environment::Perturbed { factors, seed } = experiment.environment else {
            panic!("a shaking holds everything fixed that it does not vary");
        };
        let fails = self.fails(factors, seed, experiment.run.0);
        let failed = Outcome::Failed { phase: Phase::Call };
        let outcome = if fails { failed } else { Outcome::Passed };
        let duration = Duration::from_millis(10);
        let attempts = vec![Attempt { test: TestIndex::new(0), outcome, duration }];
        Observation::of(experiment.run, attempts, duration)
    }

    fn shaken(&self, width: usize, budget: Budget) -> (Shaken, Spent) {
        let mut suite = SuiteBuilder::default();
        suite.push("t", "t::test".parse().unwrap(), Duration::from_millis(10));
        let suite = Rc::new(suite.build().unwrap());
        let design = Design {
            test: TestIndex::new(0),
            factors: Factor::ALL.into_iter().collect(),
            quick: self.quick,
            seed: self.seed,
            rate_min: Rate::new(0.1).unwrap(),
        };
        let analysis = Analysis::new(suite, budget, |lab| shake(lab, design));
        analysis.drive(width, |experiments| experiments.iter().map(|e| self.observe(e)).collect())
    }
}

/// A test that always passes.
fn quiet(seed: u64) -> World {
    World { anyway: 0.0, rules: Vec::new(), seed, quick: Factors::NONE }
}

fn usual() -> Budget {
    Budget::unlimited(Confidence::USUAL)
}

fn set(factors: &[Factor]) -> Factors {
    factors.iter().copied().collect()
}

fn rule(factors: &[Factor], seeds: f64, chance: f64) -> Rule {
    Rule { factors: set(factors), seeds, chance }
}

/// What was named in many worlds with this truth.
#[derive(Debug, Default)]
struct Score {
    right: u64,
    wrong: u64,
    runs: u64,
}

const N_WORLDS: u64 = 60;

fn score(anyway: f64, rules: &[Rule]) -> Score {
    let mut score = Score::default();
    for seed in 0..N_WORLDS {
        let world = World { anyway, rules: rules.to_vec(), seed, quick: Factors::NONE };
        let (shaken, spent) = world.shaken(2, usual());
        let planted: Vec<Factors> = rules.iter().map(|rule| rule.factors).collect();
        for culprit in &shaken.culprits {
            let is_right = planted.contains(&culprit.factors);
            score.right += u64::from(is_right);
            score.wrong += u64::from(!is_right);
        }
        score.runs += spent.runs;
    }
    score
}

/// Runs that trying one factor after the other would take to find one with the wanted rate.
fn one_by_one() -> u64 {
    let each = runs_needed(Rate::new(0.1).unwrap(), Confidence::USUAL).unwrap();
    each * Factor::ALL.len() as u64
}

#[test]
fn a_factor_that_decides_by_seed_is_named_for_a_third_of_the_runs_of_one_by_one() {
    for seeds in [1.0, 0.5, 0.3] {
        let score = score(0.0, &[rule(&[Factor::HashSeed], seeds, 1.0)]);
        assert!(N_WORLDS * 95 / 100 <= score.right, "{seeds}: {score:?}");
        assert_eq!(score.wrong, 0, "{seeds}: {score:?}");
        assert!(score.runs / N_WORLDS < one_by_one() / 3, "{seeds}: {score:?}");
    }
}

#[test]
fn a_factor_of_the_wanted_rate_is_seldom_missed() {
    let score = score(0.0, &[rule(&[Factor::Date], 0.1, 1.0)]);
    assert!(N_WORLDS * 85 / 100 <= score.right, "{score:?}");
    assert_eq!(score.wrong, 0, "{score:?}");
}

#[test]
fn a_factor_that_acts_by_chance_is_named() {
    let score = score(0.0, &[rule(&[Factor::Waits], 1.0, 0.6)]);
    assert!(N_WORLDS * 9 / 10 <= score.right, "{score:?}");
    assert!(score.wrong <= 1, "{score:?}");
}

#[test]
fn two_factors_that_act_only_together_are_named_together() {
    let score = score(0.0, &[rule(&[Factor::Cpu, Factor::Waits], 1.0, 1.0)]);
    assert!(N_WORLDS * 95 / 100 <= score.right, "{score:?}");
    assert_eq!(score.wrong, 0, "{score:?}");
}

#[test]
fn a_factor_that_breaks_every_run_does_not_hide_the_other() {
    let rules = [rule(&[Factor::Locale], 1.0, 1.0), rule(&[Factor::Random], 0.5, 1.0)];
    let score = score(0.0, &rules);
    assert!(N_WORLDS * 2 * 95 / 100 <= score.right, "{score:?}");
    assert_eq!(score.wrong, 0, "{score:?}");
}

#[test]
fn in_noise_the_factor_that_raises_the_rate_is_named_and_no_other() {
    let score = score(0.2, &[rule(&[Factor::Switches], 1.0, 0.9)]);
    assert!(N_WORLDS * 9 / 10 <= score.right, "{score:?}");
    assert!(score.wrong <= 2, "{score:?}");
}

#[test]
fn nothing_is_named_where_nothing_is() {
    for anyway in [0.0, 0.02, 0.3, 1.0] {
        let score = score(anyway, &[]);
        assert!(score.wrong <= 2, "{anyway}: {score:?}");
    }
}

#[test]
fn a_test_that_fails_unless_a_factor_is_on_is_turned_round() {
    let score = score(1.0, &[rule(&[Factor::HashSeed], 0.5, 1.0)]);
    assert!(N_WORLDS * 95 / 100 <= score.right, "{score:?}");
    assert_eq!(score.wrong, 0, "{score:?}");
}

#[test]
fn what_decides_is_told_apart() {
    let decides = |seeds, chance| {
        let rules = vec![rule(&[Factor::Random], seeds, chance)];
        let (shaken, _) = World { rules, ..quiet(5) }.shaken(1, usual());
        let culprit = &shaken.culprits[0];
        assert!(culprit.makes_it_fail());
        culprit.decides()
    };
    assert_eq!(decides(1.0, 1.0), Decides::Nothing);
    assert_eq!(decides(0.4, 1.0), Decides::Seed);
    assert_eq!(decides(1.0, 0.5), Decides::Chance);
}

#[test]
fn without_a_finding_every_factor_comes_with_the_runs_that_had_it_on() {
    let (shaken, spent) = quiet(1).shaken(1, usual());
    assert!(shaken.is_complete);
    assert_eq!(shaken.screened.len(), Factor::ALL.len());
    let n_halves = (spent.runs - shaken.fixed.attempts) / 2;
    for (factor, tally) in shaken.screened {
        assert_eq!(tally.failures, 0);
        assert!(tally.attempts.abs_diff(n_halves) <= 1, "{factor}: {tally:?} of {n_halves}");
    }
}

#[test]
fn a_budget_that_ends_is_said() {
    let budget = usual().with_runs(20).unwrap();
    let (shaken, spent) = quiet(1).shaken(1, budget);
    assert!(!shaken.is_complete);
    assert!(spent.runs <= 20);
}

#[test]
fn a_quick_factor_is_found_at_a_quarter_of_the_wanted_rate() {
    let quick: Factors = Factor::ALL.into_iter().filter(|factor| factor.is_quick()).collect();
    let rules = vec![rule(&[Factor::Random], 0.025, 1.0)];
    let named = |seed| {
        let (shaken, _) = World { rules: rules.clone(), quick, ..quiet(seed) }.shaken(2, usual());
        let named: Vec<Factors> = shaken.culprits.iter().map(|it| it.factors).collect();
        assert!(shaken.culprits.iter().all(|it| it.decides() == Decides::Seed), "{seed}");
        assert!(named.iter().all(|it| *it == set(&[Factor::Random])), "{seed}: {named:?}");
        named.len()
    };
    let n_named: usize = (0..N_WORLDS).map(named).sum();
    assert!(N_WORLDS * 85 / 100 <= n_named as u64, "{n_named}");
}
