//! What is said about one test is what was planted, also where the order explains nothing.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests are outside of test functions, where clippy.toml allows it"
)]

mod common;

use common::{at, drive, unlimited};
use unflake_detect::explain::Depth;
use unflake_detect::why::why;
use unflake_model::{Budget, Finding, Spent, Suite, TestIndex, Verdict};
use unflake_sim::behaviour::{Chance, Ending};
use unflake_sim::{Phenomenon, Recipe, SimSuite, Timing, generate};

/// As many as for Python projects.
const N_PERTURBED: u64 = 5;

fn ask_about(sim: &SimSuite, test: TestIndex, budget: Budget, width: usize) -> (Finding, Spent) {
    drive(sim, budget, width, |lab| why(lab, test, Depth::Roles, N_PERTURBED))
}

#[test]
fn every_non_idempotent_test_is_named_at_any_width() {
    let mut n_asked = 0;
    for seed in 0..20 {
        let recipe = Recipe { non_idempotent: 5, ..Recipe::typical(90) };
        let sim = generate(&recipe, seed).unwrap();
        for test in sim.truth().with_verdict(Verdict::Nio) {
            n_asked += 1;
            for width in [1, 8] {
                let (finding, _) = ask_about(&sim, test, unlimited(), width);
                let what = format!("seed {seed}, test {test}, width {width}");
                assert_eq!((finding.verdict, finding.confirmed), (Verdict::Nio, true), "{what}");
                assert!(finding.is_complete && finding.confidence.is_some(), "{what}");
                assert_eq!(finding.tally.failures, 0, "{what}: it never fails the first time");
            }
        }
    }
    assert_eq!(n_asked, 100);
}

/// Whoever runs a test twice must not take for non-idempotent what is something else.
#[test]
fn no_other_test_is_called_non_idempotent() {
    let mut n_asked = 0;
    for seed in 0..4 {
        for recipe in [Recipe::dense(40), Recipe::typical(60)] {
            let sim = generate(&recipe, seed).unwrap();
            let suite = sim.suite().clone();
            for test in suite.tests().filter(|it| sim.truth().of(*it).verdict != Verdict::Nio) {
                let (finding, _) = ask_about(&sim, test, unlimited(), 3);
                assert_ne!(finding.verdict, Verdict::Nio, "seed {seed}, test {test}");
                n_asked += 1;
            }
        }
    }
    assert!(300 < n_asked, "{n_asked}");
}

/// One test of 20 with this the matter.
fn planted(phenomena: &[Phenomenon], seed: u64) -> SimSuite {
    let suite = Suite::of_sizes(&[5; 4]).unwrap();
    SimSuite::planted(suite, phenomena, Timing::USUAL, seed).unwrap()
}

/// Seven of them pass in all orders by luck, and then fail the second time by chance.
#[test]
fn a_test_that_fails_at_random_is_not_taken_for_one_that_spoils_itself() {
    for seed in 0..500 {
        let (chance, ending) = (Chance::Independent { rate: 0.05 }, Ending::Fail);
        let sim = planted(&[Phenomenon::Random { test: at(7), chance, ending }], seed);
        let (finding, _) = ask_about(&sim, at(7), unlimited(), 2);
        assert_ne!(finding.verdict, Verdict::Nio, "seed {seed}");
    }
}

#[test]
fn a_choice_behind_it_is_still_found() {
    for seed in 0..20 {
        let sim = planted(&[Phenomenon::OpenChoice { test: at(7), rate: 0.9 }], seed);
        let (finding, _) = ask_about(&sim, at(7), unlimited(), 2);
        assert_eq!((finding.verdict, finding.confirmed), (Verdict::Id, true), "seed {seed}");
    }
}

#[test]
fn where_the_budget_ends_before_it_was_run_twice_the_answer_is_not_complete() {
    let sim = planted(&[Phenomenon::NonIdempotent { test: at(7) }], 1);
    let (whole, spent) = ask_about(&sim, at(7), unlimited(), 1);
    // Eleven runs twice: one that shows it, ten that confirm it.
    let n_order = spent.runs - 11;
    for (n_runs, verdict) in
        [(n_order, Verdict::NotFlaky), (n_order + 1, Verdict::Nio), (n_order + 5, Verdict::Nio)]
    {
        let budget = unlimited().with_runs(n_runs).unwrap();
        let (finding, _) = ask_about(&sim, at(7), budget, 1);
        assert_eq!(finding.verdict, verdict, "after {n_runs}");
        assert!(!finding.is_complete && !finding.confirmed, "after {n_runs}");
    }
    assert!(whole.is_complete && whole.confirmed);
}
