//! Whole suites from a recipe and a seed.
//!
//! This module lays out the classes: 1 to 9 tests each, some up to 20, a few up to 100; 5 on
//! average. The private module `garden` draws what is wrong with which test.

use std::time::Duration;

use unflake_model::random::Random;
use unflake_model::{Suite, SuiteBuilder};

use crate::garden::phenomena;
use crate::recipe::{InvalidRecipe, Recipe};
use crate::world::{SimSuite, Timing};

/// Label of the source that a suite is generated from; see `scenario::PLACES`.
const GENERATE: u64 = 0;

/// The suite made from this recipe and seed.
pub fn generate(recipe: &Recipe, seed: u64) -> Result<SimSuite, InvalidRecipe> {
    let needed = recipe.n_tests_min();
    if recipe.n_tests < needed {
        return Err(InvalidRecipe::TooSmall { n_tests: recipe.n_tests, needed });
    }
    let mut random = Random::labelled(seed, &[GENERATE, GENERATE]);
    let suite = classes(recipe, &mut random);
    let phenomena = phenomena(&suite, recipe, random);
    Ok(SimSuite::planted(suite, &phenomena, Timing::USUAL, seed)?)
}

fn classes(recipe: &Recipe, random: &mut Random) -> Suite {
    let n_tests = recipe.n_tests;
    let mut builder = SuiteBuilder::default();
    let mut n_pushed = 0;
    let mut class = 0_usize;
    while n_pushed < n_tests {
        let size = class_size(random).min(n_tests - n_pushed);
        for method in 0..size {
            let left = n_tests - n_pushed;
            // Spreads the slow tests evenly over the suite.
            let is_slow = recipe.slow * left / n_tests != recipe.slow * (left - 1) / n_tests;
            let id = format!("Class{class}Test.t{method}")
                .parse()
                .expect("letters and digits are a test id");
            builder.push(&format!("Class{class}Test"), id, duration(random, is_slow));
            n_pushed += 1;
        }
        class += 1;
    }
    builder.build().expect("generated names are distinct")
}

/// The size of a class; the mean is 0.95 x 4 + 0.04 x 15 + 0.01 x 65 = 5.05.
fn class_size(random: &mut Random) -> usize {
    match random.below(100) {
        0 => 30 + random.below(71),
        1..=4 => 10 + random.below(11),
        _ => 1 + random.below(3) + random.below(5),
    }
}

/// The run time of a test: mostly 1 to 64 milliseconds, one in twenty up to two seconds.
fn duration(random: &mut Random, is_slow: bool) -> Duration {
    let ms = if is_slow {
        30_000 + random.below(90_001)
    } else if random.below(20) == 0 {
        100 + random.below(1_901)
    } else {
        1 << random.below(7)
    };
    Duration::from_millis(ms as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;
    use unflake_model::{
        Environment, Evidence, Experiment, Order, Outcome, Repetition, RunId, TestIndex, Verdict,
    };

    fn plain(run: u64, order: Order) -> Experiment {
        let (environment, repetition) = (Environment::Plain, Repetition::Once);
        Experiment { environment, repetition, ..Experiment::new(RunId(run), order) }
    }

    fn shuffled(sim: &SimSuite, seed: u64) -> Vec<TestIndex> {
        let mut tests: Vec<TestIndex> = sim.suite().tests().collect();
        Random::new(seed).shuffle(&mut tests);
        tests
    }

    /// How many order-dependent tests pass in the original order, and how many there are.
    fn green_and_all(recipe: &Recipe, seeds: std::ops::Range<u64>) -> (usize, usize) {
        let (mut n_green, mut n_all) = (0, 0);
        for seed in seeds {
            let sim = generate(recipe, seed).unwrap();
            let original: Vec<TestIndex> = sim.suite().tests().collect();
            for (test, truth) in sim.truth().remarkable() {
                if truth.verdict.is_order_dependent() {
                    let outcome = sim.outcome_without_noise(&original[..test.get()], test);
                    n_green += usize::from(outcome == Outcome::Passed);
                    n_all += 1;
                }
            }
        }
        (n_green, n_all)
    }

    /// The interval is the exact binomial one for 400 victims, tails of one in a million.
    #[test]
    fn most_tests_pass_in_the_original_order_and_the_red_share_does_not() {
        let victims = Recipe { victims: 10, red_share: 0.1, ..Recipe::calm(200) };
        let (n_green, n_all) = green_and_all(&victims, 0..40);
        assert_eq!(n_all, 400);
        assert!((329..=385).contains(&n_green), "{n_green} of 400");
        let (n_green, n_all) = green_and_all(&Recipe::order_dependent(100), 0..40);
        assert_eq!(n_green, n_all);
    }

    #[test]
    fn every_order_dependent_test_shows_itself_in_some_class_compatible_order() {
        let recipe = Recipe { group_victims: 3, chains: 1, ..Recipe::order_dependent(30) };
        for seed in 0..50 {
            let sim = generate(&recipe, seed).unwrap();
            let mut hidden: BTreeSet<(TestIndex, Option<Evidence>)> = sim
                .truth()
                .remarkable()
                .flat_map(|(t, _)| [Evidence::Pass, Evidence::Fail].map(|e| (t, Some(e))))
                .collect();
            let mut classes = sim.suite().classes().to_vec();
            let mut random = Random::new(seed);
            for run in 0..5_000 {
                random.shuffle(&mut classes);
                for class in &mut classes {
                    random.shuffle(class);
                }
                let order = Order::from_distinct(classes.concat());
                for attempt in sim.observe(&plain(run, order)).attempts {
                    hidden.remove(&(attempt.test, attempt.outcome.evidence()));
                }
                if hidden.is_empty() {
                    break;
                }
            }
            assert!(hidden.is_empty(), "seed {seed}: {hidden:?}");
        }
    }

    #[test]
    fn a_recipe_gives_what_it_says() {
        let recipe = Recipe { n_tests: 2_000, webs: 1, ..Recipe::dense(0) };
        let sim = generate(&recipe, 3).unwrap();
        let n = |verdict| sim.truth().with_verdict(verdict).count();
        // Two victims, one of a group, a crashing and a hanging one, 27 in the web; 1 to 20 more in
        // the chain.
        assert!((33..=52).contains(&n(Verdict::OdVictim)));
        assert_eq!(n(Verdict::OdBrittle), 2);
        assert_eq!(n(Verdict::Ndod), 1);
        assert_eq!(n(Verdict::Ndoi), 4);
        for verdict in [Verdict::Id, Verdict::Nio, Verdict::AlwaysFailing] {
            assert_eq!(n(verdict), 1, "{verdict}");
        }
        let slow = Recipe { slow: 7, ..Recipe::calm(100) };
        let sim = generate(&slow, 0).unwrap();
        let is_slow = |t: &TestIndex| Duration::from_secs(30) <= sim.suite().duration(*t);
        assert_eq!(sim.suite().tests().filter(is_slow).count(), 7);
    }

    #[test]
    fn a_recipe_that_does_not_fit_is_refused_by_size() {
        assert_eq!(
            generate(&Recipe::dense(24), 0).unwrap_err().to_string(),
            "the recipe needs 25 tests, and is for `24`"
        );
        for n_tests in [19, 200, 500, 1_000] {
            assert!(generate(&Recipe::typical(n_tests), 0).is_ok(), "{n_tests}");
        }
    }

    #[test]
    fn a_hundred_thousand_tests_are_no_burden() {
        let sim = generate(&Recipe::typical(100_000), 1).unwrap();
        assert_eq!(sim.suite().n_tests(), 100_000);
        let mean = 100_000.0 / sim.suite().n_classes() as f64;
        assert!((4.5..5.6).contains(&mean), "{mean} tests a class");
        let largest = sim.suite().classes().iter().map(Vec::len).max();
        assert!(largest.is_some_and(|size| (50..=100).contains(&size)));
        assert!(900 <= sim.truth().with_verdict(Verdict::OdVictim).count());

        let n_failed = |tests: Vec<TestIndex>, run| {
            let observation = sim.observe(&plain(run, Order::from_distinct(tests)));
            assert_eq!(observation.attempts.len(), 100_000);
            let is_failure = |o: &Outcome| matches!(o, Outcome::Failed { .. } | Outcome::Error);
            observation.attempts.iter().filter(|a| is_failure(&a.outcome)).count()
        };
        let original = n_failed(sim.suite().tests().collect(), 0);
        let shuffled: usize = (1..6).map(|run| n_failed(shuffled(&sim, run), run)).max().unwrap();
        assert!(2 * original < shuffled, "{original} fail in the original order, then {shuffled}");
    }

    #[test]
    fn the_same_seed_gives_the_same_suite_and_another_seed_another() {
        let recipe = Recipe::typical(200);
        let [a, b, c] = [1, 1, 2].map(|seed| generate(&recipe, seed).unwrap());
        assert_eq!(a.truth(), b.truth());
        assert!(a.suite().tests().all(|t| a.behaviour(t) == b.behaviour(t)));
        assert_ne!(a.truth(), c.truth());
        let order = Order::from_distinct(shuffled(&a, 0));
        assert_eq!(a.observe(&plain(7, order.clone())), b.observe(&plain(7, order)));
    }

    proptest! {
        #![proptest_config(ProptestConfig {
            cases: 64,
            failure_persistence: None,
            ..ProptestConfig::default()
        })]

        /// Def 3.1 of detection.md 2.4: a victim fails exactly if a polluter comes before it and
        /// none of its cleaners in between; a brittle fails exactly if no setter comes before it.
        #[test]
        fn in_any_order_a_test_does_what_its_planted_roles_say(seed: u64, order_seed: u64) {
            let recipe = Recipe { victims: 5, ..Recipe::order_dependent(40) };
            let sim = generate(&Recipe { group_victims: 0, ..recipe }, seed).unwrap();
            let order = shuffled(&sim, order_seed);
            let position = |t: &TestIndex| order.iter().position(|u| u == t).unwrap();
            for (test, truth) in sim.truth().remarkable() {
                let end = position(&test);
                let pollutes = |p: &TestIndex, cleaners: &[TestIndex]| {
                    let from = position(p);
                    from < end && !cleaners.iter().any(|c| (from..end).contains(&position(c)))
                };
                let dependencies = &truth.dependencies;
                let expected = if truth.verdict == Verdict::OdVictim {
                    dependencies.cleaners.iter().any(|of| pollutes(&of.polluters[0], &of.cleaners))
                } else {
                    dependencies.state_setters.iter().all(|s| end < position(&s[0]))
                };
                let outcome = sim.outcome_without_noise(&order[..end], test);
                prop_assert_eq!(outcome.evidence() == Some(Evidence::Fail), expected);
            }
        }
    }
}
