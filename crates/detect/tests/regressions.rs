//! Faults of detection found by experiment, each with the suite that showed it.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests are outside of test functions, where clippy.toml allows it"
)]

mod common;

use std::rc::Rc;
use std::time::Duration;

use common::{at, drive, unlimited};
use unflake_detect::Analysis;
use unflake_detect::Depth;
use unflake_detect::campaign::{SuiteEnd, SuiteFindings, SuiteSettings, campaign};
use unflake_detect::categorise::categorise;
use unflake_detect::explain::explain;
use unflake_model::{
    Budget, Confidence, Environment, Experiment, Factors, Finding, Outcome, Suite, Verdict,
};
use unflake_model::{HashSeeds, random::Random};
use unflake_sim::behaviour::{Behaviour, Chance, Condition, Ending, Rule, Variable, Write};
use unflake_sim::phenomenon::{Pollution, Together};
use unflake_sim::scenario::{Case, Setting};
use unflake_sim::{Phenomenon, Recipe, SimSuite, Timing, Truth, answer_all, generate};
use unflake_stats::rate::Rate;

/// Forty tests in eight classes, one of which (30) fails after another (10).
fn forty(polluter: usize, cleaners: &[usize], others: &[Phenomenon]) -> SimSuite {
    let pollution = Pollution {
        polluters: Together::single(at(polluter)),
        cleaners: cleaners.iter().copied().map(at).collect(),
    };
    let victims = Phenomenon::Victims {
        victims: vec![at(30)],
        pollutions: vec![pollution],
        ending: Ending::Fail,
    };
    let phenomena = [vec![victims], others.to_vec()].concat();
    let suite = Suite::of_sizes(&[5; 8]).unwrap();
    SimSuite::planted(suite, &phenomena, Timing::USUAL, 1).unwrap()
}

fn often(test: usize, rate: f64, ending: Ending) -> Phenomenon {
    Phenomenon::Random { test: at(test), chance: Chance::Independent { rate }, ending }
}

fn ask(sim: &SimSuite, depth: Depth) -> Finding {
    drive(sim, unlimited(), 1, |lab| explain(lab, at(30), depth)).0
}

fn settings(seed: u64, depth: Depth, perturbed_runs: u64) -> SuiteSettings {
    let flake_rate_min = Rate::new(0.05).unwrap();
    let (hash_seeds, choices) = (HashSeeds::Fixed, Factors::OPEN_CHOICES);
    SuiteSettings {
        seed,
        tries: 3,
        depth,
        hash_seeds,
        perturbed_runs,
        choices,
        dirty: Vec::new(),
        flake_rate_min,
    }
}

fn detect(sim: &SimSuite, budget: Budget) -> SuiteFindings {
    let settings = settings(0, Depth::Kind, 0);
    drive(sim, budget, 1, |lab| campaign(lab, settings)).0
}

#[test]
fn a_test_that_ends_the_process_does_not_make_a_victim_not_flaky() {
    for ending in [Ending::Crash, Ending::Hang] {
        let sim = forty(3, &[], &[often(10, 0.999, ending)]);
        let finding = ask(&sim, Depth::Roles);
        assert_eq!(finding.verdict, Verdict::OdVictim, "{ending:?}");
        assert_eq!(finding.dependencies.polluters, [vec![at(3)]], "{ending:?}");
    }
}

#[test]
fn a_polluter_that_cleaners_hide_in_both_directions_is_found() {
    let sim = forty(10, &[5, 15], &[]);
    for depth in [Depth::Roles, Depth::Exhaustive] {
        let finding = ask(&sim, depth);
        assert_eq!(finding.verdict, Verdict::OdVictim, "{depth:?}");
        assert_eq!(finding.dependencies.polluters, [vec![at(10)]], "{depth:?}");
        assert_eq!(finding.dependencies.cleaners[0].cleaners, [at(5), at(15)], "{depth:?}");
    }
}

#[test]
fn asking_about_every_single_test_finds_what_every_arrangement_hides() {
    // Every other test is a cleaner: only a run with the polluter right before the victim shows it.
    let cleaners: Vec<usize> = (0..40).filter(|test| ![10, 30].contains(test)).collect();
    let sim = forty(10, &cleaners, &[]);
    let finding = ask(&sim, Depth::Exhaustive);
    assert_eq!(finding.verdict, Verdict::OdVictim);
    assert_eq!(finding.dependencies.polluters, [vec![at(10)]]);
}

#[test]
fn groups_are_named_in_a_fixed_order() {
    let scenario = Case::TwoIndependent.scenario(Setting { n_tests: 60, noise: 0.0, seed: 3 });
    for width in [1, 3, 8] {
        let target = scenario.targets[0];
        let analysis = |lab| explain(lab, target, Depth::Roles);
        let finding = drive(&scenario.sim, unlimited(), width, analysis).0;
        assert_eq!(finding.dependencies, scenario.sim.truth().of(target).dependencies);
    }
}

#[test]
fn what_was_never_seen_to_pass_is_not_confirmed_to_fail_always() {
    // One or two bursts of six runs look like a test that always fails.
    for seed in 0..50 {
        let burst = Phenomenon::Random {
            test: at(30),
            chance: Chance::Burst { rate: 0.5, runs: 6 },
            ending: Ending::Fail,
        };
        let suite = Suite::of_sizes(&[40]).unwrap();
        let sim = SimSuite::planted(suite, &[burst], Timing::USUAL, seed).unwrap();
        let finding = ask(&sim, Depth::Roles);
        assert!(finding.verdict.is_non_deterministic() || !finding.confirmed, "seed {seed}");
    }
}

#[test]
fn the_five_steps_conclude_nothing_from_runs_that_say_nothing() {
    // The only test after which the target fails crashes every other time: in some of these suites
    // when the failing pair is repeated.
    let polluted = Variable(0);
    let verdict = |seed| {
        let mut behaviours = vec![Behaviour::default(); 40];
        let chance = Chance::Independent { rate: 0.5 };
        let crash = Rule { when: Condition::always(), chance, ending: Ending::Crash };
        behaviours[10].rules.push(crash);
        behaviours[10].writes.push(Write::always(polluted, 1));
        let (chance, ending) = (Chance::Certain, Ending::Fail);
        let fail = Rule { when: Condition::is(polluted, 1), chance, ending };
        behaviours[30].rules.push(fail);
        let suite = Suite::of_sizes(&[40]).unwrap();
        let sim = SimSuite::new(suite, behaviours, Truth::default(), Timing::USUAL, seed).unwrap();
        drive(&sim, unlimited(), 1, |lab| categorise(lab, at(30), 1)).0
    };
    let n_open = (0..40).filter(|seed| verdict(*seed) == Ok(Verdict::InsufficientEvidence)).count();
    assert!((1..39).contains(&n_open), "{n_open} of 40");
}

#[test]
fn a_non_idempotent_test_is_reported_even_if_the_budget_ends_before_it_is_confirmed() {
    let suite = Suite::of_sizes(&[40]).unwrap();
    let phenomenon = Phenomenon::NonIdempotent { test: at(9) };
    let sim = SimSuite::planted(suite, &[phenomenon], Timing::USUAL, 1).unwrap();
    for (n_runs, confirmed) in [(46, false), (50, false), (120, true)] {
        let budget = unlimited().with_runs(n_runs).unwrap();
        let findings = detect(&sim, budget).findings;
        assert_eq!(findings.len(), 1, "{n_runs} runs");
        assert_eq!(findings[0].verdict, Verdict::Nio, "{n_runs} runs");
        assert_eq!(findings[0].confirmed, confirmed, "{n_runs} runs");
    }
}

#[test]
fn tests_behind_a_crash_are_not_lost() {
    for seed in [27, 32, 39, 105] {
        let sim = generate(&Recipe::dense(40), seed).unwrap();
        let report = detect(&sim, unlimited());
        let found =
            |test, verdict| report.findings.iter().any(|f| f.test == test && f.verdict == verdict);
        for test in sim.truth().with_verdict(Verdict::Nio) {
            assert!(found(test, Verdict::Nio), "seed {seed}, test {test}");
        }
        for test in sim.truth().with_verdict(Verdict::AlwaysFailing) {
            assert!(report.set_up.failing.contains(&test), "seed {seed}, test {test}");
        }
    }
}

#[test]
fn the_time_limit_holds_once_the_cost_of_a_process_is_known() {
    let sim = generate(&Recipe::order_dependent(60), 1).unwrap();
    for seconds in [60, 600] {
        let limit = Duration::from_secs(seconds);
        let budget = Budget::unlimited(Confidence::USUAL).with_time(limit).unwrap();
        let settings = SuiteSettings {
            seed: 0,
            tries: 1,
            depth: Depth::Kind,
            hash_seeds: HashSeeds::Fixed,
            perturbed_runs: 0,
            choices: Factors::NONE,
            dirty: Vec::new(),
            flake_rate_min: Rate::new(0.01).unwrap(),
        };
        let (_, spent) = drive(&sim, budget, 1, |lab| campaign(lab, settings));
        // One run may take longer than expected, as long as nothing is known.
        assert!(spent.time <= limit + sim.timing().process_start * 2, "{:?}", spent.time);
    }
}

/// One test moves the failure rate of another. That did not show for the test by itself, but it did
/// with others beside it, and each run after which the target failed seemed to contain another such
/// group: searching for them took three million runs.
#[test]
fn the_search_for_what_moves_a_rate_comes_to_an_end() {
    let sim = generate(&Recipe::typical(43), 729).unwrap();
    let settings = settings(729, Depth::Roles, 10);
    let mut random = Random::new(0);
    let suite = Rc::new(sim.suite().clone());
    let (report, _) = Analysis::new(suite, unlimited(), |lab| campaign(lab, settings))
        .drive(1, |experiments| answer_all(&sim, experiments, &mut random));
    let finding = report.findings.iter().find(|finding| finding.verdict == Verdict::Ndod).unwrap();
    assert!(finding.questions < 2_000, "{} questions", finding.questions);
}

#[test]
fn runs_that_cannot_be_started_do_not_use_up_the_budget() {
    // The names of tests in marshmallow contain the time of day: a process with another hash seed
    // collects different ones.
    let sim = forty(10, &[], &[]);
    let budget = unlimited().with_runs(1_000).unwrap();
    let mut n_refused = 0;
    let analysis = Analysis::new(Rc::new(sim.suite().clone()), budget, |lab| {
        campaign(lab, settings(0, Depth::Kind, 5))
    });
    let (report, _) = analysis.drive(1, |experiments| {
        let answer = |experiment: Experiment| {
            let mut observation = sim.observe(&experiment);
            if experiment.environment != Environment::Plain {
                n_refused += 1;
                observation.attempts.iter_mut().for_each(|it| it.outcome = Outcome::NotRun);
            }
            observation
        };
        experiments.into_iter().map(answer).collect()
    });
    assert_eq!((report.ended, n_refused), (SuiteEnd::Confident, 2));
    assert!(report.findings.iter().any(|finding| finding.test == at(30)));
}
