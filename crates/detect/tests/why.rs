//! What is reported about one test is what was planted, even if the order explains nothing.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests are outside of test functions, where clippy.toml allows it"
)]

mod common;

use std::collections::BTreeSet;

use common::{at, drive, unlimited};
use unflake_detect::Depth;
use unflake_detect::why::{Known, Plan, why};
use unflake_model::{
    Budget, Factor, Factors, Finding, HashSeeds, Spent, Suite, TestIndex, Verdict,
};
use unflake_sim::behaviour::{Chance, Ending};
use unflake_sim::phenomenon::{Pollution, Together};
use unflake_sim::{Phenomenon, Recipe, SimSuite, Timing, generate};
use unflake_stats::rate::Rate;

/// The plan for Python projects.
fn plan() -> Plan {
    Plan {
        depth: Depth::Roles,
        seed: 7,
        flake_rate_min: Rate::new(0.05).unwrap(),
        hash_seeds: HashSeeds::Varied,
        choices: Factors::NONE,
        circumstances: [Factor::Date, Factor::TimeZone].into_iter().collect(),
        orders_time_max: None,
    }
}

fn ask_about(sim: &SimSuite, test: TestIndex, budget: Budget, width: usize) -> (Finding, Spent) {
    drive(sim, budget, width, |lab| why(lab, test, plan(), Known::default()))
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

/// Running a test twice must not make something else look non-idempotent.
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

/// A suite of 20 tests with these phenomena.
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
    // Eleven runs twice in a row: one shows it, ten confirm it.
    let n_order = spent.runs - 11;
    for (n_runs, verdict) in [
        (n_order, Verdict::InsufficientEvidence),
        (n_order + 1, Verdict::Nio),
        (n_order + 5, Verdict::Nio),
    ] {
        let budget = unlimited().with_runs(n_runs).unwrap();
        let (finding, _) = ask_about(&sim, at(7), budget, 1);
        assert_eq!(finding.verdict, verdict, "after {n_runs}");
        assert!(!finding.is_complete && !finding.confirmed, "after {n_runs}");
    }
    assert!(whole.is_complete && whole.confirmed);
}

/// There are cleaners on both sides of every polluter: no order of many tests shows it.
#[test]
fn a_victim_whose_polluter_is_always_cleaned_up_after_is_not_cleared() {
    for seed in 0..20 {
        let cleaners: Vec<TestIndex> = (0..20).filter(|n| ![7, 12].contains(n)).map(at).collect();
        let pollutions = vec![Pollution { polluters: Together::single(at(12)), cleaners }];
        let victims = vec![at(7)];
        let sim =
            planted(&[Phenomenon::Victims { victims, pollutions, ending: Ending::Fail }], seed);
        let (finding, _) = ask_about(&sim, at(7), unlimited(), 2);
        assert_eq!((finding.verdict, finding.confirmed), (Verdict::OdVictim, true), "seed {seed}");
        assert_eq!(finding.dependencies.polluters, [[at(12)]], "seed {seed}");
    }
}

#[test]
fn who_is_cleared_was_tried_in_every_way_and_it_is_said_how_far() {
    let sim = planted(&[], 1);
    let (finding, spent) = ask_about(&sim, at(7), unlimited(), 2);
    assert_eq!(finding.verdict, Verdict::NotFlaky);
    assert!(finding.is_complete && finding.confidence.is_some());
    let tried = finding.tried;
    // 99 % confidence to see what fails in 5 % of runs: ln 0.01 / ln 0.95 = 89.8.
    assert!(90 <= tried.runs && 90 <= tried.orders && 90 <= tried.seeds && 90 <= tried.changed);
    assert_eq!(tried.neighbours, 19);
    assert_eq!((finding.spent, finding.tally.failures), (spent, 0));

    let budget = unlimited().with_runs(spent.runs - 5).unwrap();
    let (short, _) = ask_about(&sim, at(7), budget, 2);
    assert_eq!(short.verdict, Verdict::InsufficientEvidence);
    assert!(!short.is_complete && short.confidence.is_none());
    assert!(short.tried.seeds < tried.seeds && 90 <= short.tried.runs);
}

#[test]
fn who_was_seen_to_flake_before_is_not_cleared() {
    let sim = planted(&[], 1);
    let known = Known { flaked_in: Some(200), ..Known::default() };
    let (finding, _) = drive(&sim, unlimited(), 2, |lab| why(lab, at(7), plan(), known));
    assert_eq!(finding.verdict, Verdict::Ud);
    assert!(200 <= finding.tried.runs);
}

#[test]
fn of_a_choice_it_is_said_under_how_many_seeds_it_fails() {
    for seed in 0..20 {
        let sim = planted(&[Phenomenon::OpenChoice { test: at(7), rate: 0.3 }], seed);
        let (finding, _) = ask_about(&sim, at(7), unlimited(), 1);
        assert_eq!((finding.verdict, finding.confirmed), (Verdict::Id, true), "seed {seed}");
        let tally = finding.tally;
        assert!(0 < tally.failures && tally.attempts < 60, "seed {seed}: {tally:?}");
    }
}

/// What earlier campaigns found is a hint: right ones may save runs, wrong ones mislead nobody.
#[test]
fn leads_right_or_wrong_change_no_answer() {
    let mut n_asked = 0;
    for seed in 0..6 {
        let sim = generate(&Recipe::typical(60), seed).unwrap();
        for test in sim.truth().with_verdict(Verdict::OdVictim) {
            let (without, _) = ask_about(&sim, test, unlimited(), 1);
            let wrong = sim.suite().tests().find(|it| *it != test).unwrap();
            let right = without.dependencies.polluters.iter().cloned();
            let leads = [vec![wrong], vec![test]].into_iter().chain(right).collect();
            let known = Known { leads, ..Known::default() };
            let (with, _) = drive(&sim, unlimited(), 1, |lab| why(lab, test, plan(), known));
            let answer = |it: &Finding| {
                let polluters: BTreeSet<_> = it.dependencies.polluters.iter().cloned().collect();
                (it.verdict, it.confirmed, polluters)
            };
            assert_eq!(answer(&with), answer(&without), "seed {seed}, test {test}");
            n_asked += 1;
        }
    }
    assert!(0 < n_asked);
}
