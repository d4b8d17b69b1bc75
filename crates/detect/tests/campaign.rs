//! Campaigns on generated suites find what was planted and confirm nothing else.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests are outside of test functions, where clippy.toml allows it"
)]

mod common;
#[path = "common/truth.rs"]
mod truth;

use common::{at, drive, unlimited};
use truth::sorted;
use unflake_detect::Depth;
use unflake_detect::campaign::{SuiteEnd, SuiteFindings, SuiteSettings, campaign};
use unflake_detect::explain::explain;
use unflake_model::{
    Budget, Confidence, Control, Factors, Finding, HashSeeds, OutcomeKind, Spent, Suite, TestIndex,
    Verdict,
};
use unflake_sim::behaviour::{Chance, Ending};
use unflake_sim::phenomenon::{Pollution, Together};
use unflake_sim::{Phenomenon, Recipe, SimSuite, Timing, generate};
use unflake_stats::rate::Rate;

fn settings(seed: u64) -> SuiteSettings {
    SuiteSettings {
        seed,
        tries: 3,
        depth: Depth::Roles,
        hash_seeds: HashSeeds::Varied,
        perturbed_runs: 5,
        choices: Factors::OPEN_CHOICES,
        dirty: Vec::new(),
        flake_rate_min: Rate::new(0.05).unwrap(),
    }
}

/// Asks to see a test that fails in 5 % of the orders with 95 % confidence: 59 orders.
fn run(sim: &SimSuite, seed: u64, width: usize) -> (SuiteFindings, Spent) {
    let budget = Budget::unlimited(Confidence::USUAL);
    drive(sim, budget, width, |lab| campaign(lab, settings(seed)))
}

fn found(report: &SuiteFindings, test: TestIndex) -> Option<&Finding> {
    report.findings.iter().find(|finding| finding.test == test)
}

/// 20 typical suites, and 10 that have one of everything in 40 tests.
fn suites() -> impl Iterator<Item = (String, u64, SimSuite)> {
    let typical = (0..20).map(|seed| {
        let n_tests = 60 + 3 * usize::try_from(seed).unwrap();
        (format!("typical {n_tests}, seed {seed}"), seed, Recipe::typical(n_tests))
    });
    let dense = (0..10).map(|seed| (format!("dense, seed {seed}"), seed, Recipe::dense(40)));
    typical.chain(dense).map(|(name, seed, recipe)| (name, seed, generate(&recipe, seed).unwrap()))
}

/// Confirmed verdicts are the planted ones; "undecided" about the order is right for every
/// non-deterministic test. Groups that were found are planted ones.
fn assert_confirms_only_truth(sim: &SimSuite, finding: &Finding, what: &str) {
    if !finding.confirmed {
        return;
    }
    let truth = sim.truth().of(finding.test);
    let what = format!("{what}, test {}", finding.test);
    if finding.verdict == Verdict::NodUndecided {
        assert!(truth.verdict.is_non_deterministic(), "{what}: nod, truth {}", truth.verdict);
        return;
    }
    assert_eq!(finding.verdict, truth.verdict, "{what}");
    let (found, planted) = (sorted(&finding.dependencies), &truth.dependencies);
    // In the truth, tests that only move a failure rate are not polluters.
    if finding.verdict.is_order_dependent() {
        assert!(found.polluters.iter().all(|g| planted.polluters.contains(g)), "{what}: {found:?}");
        let setters = &planted.state_setters;
        assert!(found.state_setters.iter().all(|g| setters.contains(g)), "{what}: {found:?}");
    }
}

#[test]
fn no_confirmed_verdict_contradicts_the_truth_at_any_width() {
    for (name, seed, sim) in suites() {
        for width in [1, 5] {
            let (report, _) = run(&sim, seed, width);
            assert_eq!(report.ended, SuiteEnd::Confident, "{name}");
            for finding in &report.findings {
                assert_confirms_only_truth(&sim, finding, &format!("{name}, width {width}"));
            }
        }
    }
}

#[test]
fn every_brittle_is_found_with_all_that_makes_it_pass() {
    let mut n_brittles = 0;
    for (name, seed, sim) in suites() {
        let (report, _) = run(&sim, seed, 3);
        for test in sim.truth().with_verdict(Verdict::OdBrittle) {
            let finding = found(&report, test).expect("isolation shows every brittle");
            assert_eq!((finding.verdict, finding.confirmed), (Verdict::OdBrittle, true), "{name}");
            let planted = &sim.truth().of(test).dependencies;
            assert_eq!(sorted(&finding.dependencies), *planted, "{name}, test {test}");
            n_brittles += 1;
        }
    }
    assert!(30 <= n_brittles, "{n_brittles} brittles");
}

/// Test 200 of 400 passes after any other, so it fails in one order of 400: 59 orders show that
/// with 14 % probability, running it alone with certainty.
#[test]
fn a_brittle_that_any_other_test_makes_pass_is_found() {
    for seed in 0..5 {
        let setters = (0..400).filter(|i| *i != 200).map(|i| Together::single(at(i))).collect();
        let phenomenon = Phenomenon::Brittle { brittle: at(200), setters, pollutes: vec![] };
        let suite = Suite::of_sizes(&[5; 80]).unwrap();
        let sim = SimSuite::planted(suite, &[phenomenon], Timing::USUAL, seed).unwrap();
        let settings = SuiteSettings { depth: Depth::Kind, ..settings(seed) };
        let budget = Budget::unlimited(Confidence::USUAL);
        let (report, _) = drive(&sim, budget, 5, |lab| campaign(lab, settings));
        let verdict = found(&report, at(200)).map(|f| (f.verdict, f.confirmed));
        assert_eq!(verdict, Some((Verdict::OdBrittle, true)), "seed {seed}");
    }
}

/// Only suites in which no test ends the process and cuts short the run of everything twice.
#[test]
fn every_non_idempotent_test_is_found() {
    for seed in 0..20 {
        let recipe = Recipe { non_idempotent: 5, ..Recipe::typical(90) };
        let sim = generate(&recipe, seed).unwrap();
        let (report, _) = run(&sim, seed, 3);
        for test in sim.truth().with_verdict(Verdict::Nio) {
            let verdict = found(&report, test).map(|f| (f.verdict, f.confirmed));
            assert_eq!(verdict, Some((Verdict::Nio, true)), "seed {seed}, test {test}");
        }
    }
}

/// Finds all tests that depend on one other test without cleaners: the original order and its
/// reverse put every test before every other.
#[test]
fn every_victim_that_nothing_cleans_is_found() {
    for seed in 0..10 {
        let recipe = Recipe { victims: 8, ..Recipe::order_dependent(80) };
        let sim = generate(&recipe, seed).unwrap();
        let (report, _) = run(&sim, seed, 3);
        for (test, truth) in sim.truth().remarkable() {
            let is_clean = |group: &Vec<TestIndex>| {
                let cleaners = truth.dependencies.cleaners.iter();
                cleaners.filter(|of| of.polluters == *group).all(|of| of.cleaners.is_empty())
            };
            let mut groups = truth.dependencies.polluters.iter();
            if groups.any(|group| group.len() == 1 && is_clean(group)) {
                let verdict = found(&report, test).map(|f| (f.verdict, f.confirmed));
                assert_eq!(verdict, Some((Verdict::OdVictim, true)), "seed {seed}, test {test}");
            }
        }
    }
}

#[test]
fn a_test_that_fails_in_the_original_order_is_reported_from_set_up_and_looked_into() {
    for seed in 0..10 {
        let recipe = Recipe { always_failing: 2, red_share: 0.5, ..Recipe::typical(80) };
        let sim = generate(&recipe, seed).unwrap();
        let (report, _) = run(&sim, seed, 1);
        assert_eq!(report.set_up.tries, 3, "it never passes");
        for test in sim.truth().with_verdict(Verdict::AlwaysFailing) {
            assert!(report.set_up.failing.contains(&test), "seed {seed}, test {test}");
            let verdict = found(&report, test).map(|f| (f.verdict, f.confirmed));
            assert_eq!(verdict, Some((Verdict::AlwaysFailing, false)), "seed {seed}, test {test}");
        }
        for test in &report.set_up.failing {
            assert!(found(&report, *test).is_some(), "seed {seed}, test {test} is not dropped");
        }
    }
}

#[test]
fn a_calm_suite_takes_one_try_and_has_nothing_to_report() {
    let sim = generate(&Recipe::calm(70), 0).unwrap();
    for width in [1, 5] {
        let (report, _) = run(&sim, 0, width);
        assert_eq!((report.set_up.tries, report.set_up.failing.len()), (1, 0));
        assert!(report.findings.is_empty() && report.causes.is_empty());
        assert_eq!(report.changes, []);
        assert_eq!(report.ended, SuiteEnd::Confident);
        // ln 0.05 / ln 0.95 = 58.4, and two orders run under the hash seed of all plain runs.
        assert!((60..60 + width as u64).contains(&report.n_orders), "{}", report.n_orders);
        assert!((59..59 + width as u64).contains(&report.n_seeds), "{}", report.n_seeds);
        assert!(report.flake_rate_detectable <= 0.05);
    }
}

#[test]
fn a_test_that_is_skipped_in_some_orders_shows_as_a_change_and_not_as_flaky() {
    for seed in 0..10 {
        let suite = Suite::of_sizes(&[5; 8]).unwrap();
        let (test, skipper) = if seed % 2 == 0 { (at(10), at(30)) } else { (at(30), at(10)) };
        let phenomenon = Phenomenon::ChangingSkip { test, skipper };
        let sim = SimSuite::planted(suite, &[phenomenon], Timing::USUAL, seed).unwrap();
        let (report, _) = run(&sim, seed, 2);
        assert!(report.findings.is_empty());
        let [change] = report.changes.as_slice() else {
            panic!("one test changes, not {:?}", report.changes);
        };
        assert_eq!(change.test, test);
        let kinds = [change.first.1, change.later.1];
        assert!(kinds.contains(&OutcomeKind::Passed) && kinds.contains(&OutcomeKind::Skipped));
    }
    for (name, seed, sim) in suites() {
        let (report, _) = run(&sim, seed, 2);
        for finding in &report.findings {
            let is_shown = report.changes.iter().any(|change| change.test == finding.test);
            let is_mixed = finding.tally.is_mixed();
            assert!(is_shown || !is_mixed, "{name}, test {}", finding.test);
        }
    }
}

#[test]
fn findings_are_in_original_order_and_each_has_one_cause() {
    for (name, seed, sim) in suites().step_by(3) {
        let (report, _) = run(&sim, seed, 5);
        let tests: Vec<TestIndex> = report.findings.iter().map(|finding| finding.test).collect();
        assert!(tests.is_sorted() && !tests.is_empty(), "{name}");
        let mut caused: Vec<TestIndex> =
            report.causes.iter().flat_map(|cause| cause.tests.clone()).collect();
        caused.sort_unstable();
        assert_eq!(caused, tests, "{name}");
    }
}

#[test]
fn the_same_seed_gives_the_same_campaign() {
    let sim = generate(&Recipe::dense(40), 2).unwrap();
    for width in [1, 5] {
        let ((first, spent), (again, spent_again)) = (run(&sim, 4, width), run(&sim, 4, width));
        assert_eq!(first.findings, again.findings);
        assert_eq!((first.causes, spent), (again.causes, spent_again));
    }
}

#[test]
fn a_finding_of_a_test_that_passes_and_fails_names_a_passing_and_a_failing_run() {
    for (name, seed, sim) in suites().step_by(3) {
        let (report, _) = run(&sim, seed, 5);
        for finding in &report.findings {
            if finding.verdict.is_order_dependent() || finding.verdict.is_non_deterministic() {
                let (passed, failed) = (finding.passed_in, finding.failed_in);
                assert!(passed.is_some() && failed.is_some(), "{name}, test {}", finding.test);
                assert_ne!(passed, failed, "{name}, test {}", finding.test);
            }
        }
    }
}

/// Where classes stay together there are no tours, and each victim is searched for by itself.
#[test]
fn what_was_found_for_a_victim_makes_its_siblings_cheap() {
    let victims: Vec<TestIndex> = (40..60).map(at).collect();
    let polluters = Together::single(at(5));
    let pollutions = vec![Pollution { polluters, cleaners: vec![at(30)] }];
    let phenomena =
        [Phenomenon::Victims { victims: victims.clone(), pollutions, ending: Ending::Fail }];
    let suite = Suite::of_sizes(&[80]).unwrap().controlled(Control::CLASSES);
    let sim = SimSuite::planted(suite, &phenomena, Timing::USUAL, 1).unwrap();
    let (report, _) = run(&sim, 3, 2);
    let mut attempts = Vec::new();
    for victim in victims {
        let finding = found(&report, victim).expect("it fails in half of the orders");
        assert!(finding.confirmed && finding.is_complete);
        assert_eq!(sorted(&finding.dependencies), sim.truth().of(victim).dependencies);
        attempts.push(finding.spent.attempts);
    }
    attempts.sort_unstable();
    assert!(2 * attempts[10] < attempts[19], "the median and the dearest: {attempts:?}");
}

/// If a runner only knows the order in which tests are listed, every victim behind its polluter is
/// found and nothing else is reported: the orders can only be repeated.
#[test]
fn a_fixed_order_shows_what_comes_before_and_nothing_wrong_is_said() {
    let victim = |victims: &[usize], polluter| Phenomenon::Victims {
        victims: victims.iter().map(|it| at(*it)).collect(),
        pollutions: vec![Pollution { polluters: Together::single(at(polluter)), cleaners: vec![] }],
        ending: Ending::Fail,
    };
    let brittle = Phenomenon::Brittle {
        brittle: at(20),
        setters: vec![Together::single(at(4))],
        pollutes: vec![],
    };
    let phenomena =
        [victim(&[7], 3), victim(&(24..40).collect::<Vec<_>>(), 22), victim(&[9], 30), brittle];
    let suite = Suite::of_sizes(&[20, 20]).unwrap().controlled(Control::FIXED);
    let sim = SimSuite::planted(suite, &phenomena, Timing::USUAL, 1).unwrap();
    for width in [1, 4] {
        let (report, _) = run(&sim, 3, width);
        for victim in (24..40).chain([7, 20]) {
            let finding = found(&report, at(victim)).expect("what it depends on is listed before");
            assert!(finding.confirmed, "test {victim}");
            assert_confirms_only_truth(&sim, finding, "fixed");
        }
        assert!(found(&report, at(9)).is_none(), "its polluter never comes before it");
        assert_eq!(report.findings.len(), 18);
    }
}

/// 100,000 tests in classes of 5: test 20,000 pollutes 70,000 and 50,000 cleans it, and 33,333
/// needs 7.
fn large() -> SimSuite {
    let polluters = Together::single(at(20_000));
    let pollutions = vec![Pollution { polluters, cleaners: vec![at(50_000)] }];
    let phenomena = [
        Phenomenon::Victims { victims: vec![at(70_000)], pollutions, ending: Ending::Fail },
        Phenomenon::Brittle {
            brittle: at(33_333),
            setters: vec![Together::single(at(7))],
            pollutes: vec![],
        },
        Phenomenon::Random {
            test: at(90_000),
            chance: Chance::Independent { rate: 0.5 },
            ending: Ending::Fail,
        },
    ];
    let suite = Suite::of_sizes(&vec![5; 20_000]).unwrap();
    SimSuite::planted(suite, &phenomena, Timing::USUAL, 1).unwrap()
}

#[test]
fn twenty_runs_of_100_000_tests_give_a_report() {
    let sim = large();
    let budget = Budget::unlimited(Confidence::USUAL).with_runs(20).unwrap();
    let (report, spent) = drive(&sim, budget, 4, |lab| campaign(lab, settings(1)));
    assert_eq!(report.ended, SuiteEnd::OutOfBudget);
    assert!(spent.runs <= 20);
    assert!(2 <= report.n_orders, "the original order and its reverse");
    let brittle = found(&report, at(33_333)).expect("test 7 stands before it, or behind");
    assert!(brittle.passed_in.is_some() && brittle.failed_in.is_some());
    for finding in &report.findings {
        assert_confirms_only_truth(&sim, finding, "large");
    }
}

#[test]
fn a_victim_and_a_brittle_among_100_000_tests_are_explained() {
    let sim = large();
    for target in [at(70_000), at(33_333)] {
        let (finding, _) = drive(&sim, unlimited(), 1, |lab| explain(lab, target, Depth::Roles));
        let truth = sim.truth().of(target);
        assert_eq!((finding.verdict, finding.confirmed), (truth.verdict, true));
        assert_eq!(sorted(&finding.dependencies), truth.dependencies);
    }
}

/// One mishap has many victims: investigating each by itself took hundreds of runs for each.
#[test]
fn hundreds_that_fail_together_are_one_cause_found_with_few_runs() {
    let victims: Vec<TestIndex> = (100..400).map(at).collect();
    let pollutions = vec![Pollution { polluters: Together::single(at(5)), cleaners: vec![] }];
    let phenomena =
        [Phenomenon::Victims { victims: victims.clone(), pollutions, ending: Ending::Fail }];
    for keeps_classes in [false, true] {
        let suite = Suite::of_sizes(&[20; 25]).unwrap();
        let suite = if keeps_classes { suite.controlled(Control::CLASSES) } else { suite };
        let sim = SimSuite::planted(suite, &phenomena, Timing::USUAL, 1).unwrap();
        let (report, spent) = run(&sim, 3, 2);
        for victim in &victims {
            let finding = found(&report, *victim).expect("it fails in half of the orders");
            assert_eq!((finding.verdict, finding.confirmed), (Verdict::OdVictim, true));
            assert_eq!(finding.dependencies.polluters, [[at(5)]]);
        }
        assert_eq!(report.causes.len(), 1);
        // Each test is run alone once.
        assert!(spent.runs < 500 + 400, "{} runs", spent.runs);
    }
}

/// In the original order and its reverse, a cleaner stands on both sides of the polluter.
#[test]
fn who_leaves_something_behind_is_run_before_all_others() {
    let victims: Vec<TestIndex> = (30..34).map(at).collect();
    let cleaners = vec![at(9), at(11)];
    let pollutions = vec![Pollution { polluters: Together::single(at(10)), cleaners }];
    let phenomena =
        [Phenomenon::Victims { victims: victims.clone(), pollutions, ending: Ending::Fail }];
    let suite = Suite::of_sizes(&[10; 6]).unwrap();
    let sim = SimSuite::planted(suite, &phenomena, Timing::USUAL, 1).unwrap();
    // The budget only covers a few orders.
    let budget = Budget::unlimited(Confidence::USUAL).with_attempts(60 * 6).unwrap();
    let flaky = |dirty: Vec<TestIndex>| {
        let settings = SuiteSettings { dirty, depth: Depth::Kind, ..settings(1) };
        let (report, _) = drive(&sim, budget, 1, |lab| campaign(lab, settings));
        victims.iter().filter(|victim| found(&report, **victim).is_some()).count()
    };
    assert_eq!(flaky(vec![]), 0);
    assert_eq!(flaky(vec![at(10)]), 4);
}

/// A test that hangs takes the whole time limit, each time.
#[test]
fn who_hangs_every_time_is_left_out_after_a_few_orders_and_reported() {
    let phenomenon = Phenomenon::Random {
        test: at(12),
        chance: Chance::Independent { rate: 1.0 - 1e-9 },
        ending: Ending::Hang,
    };
    let suite = Suite::of_sizes(&[10; 3]).unwrap();
    let sim = SimSuite::planted(suite, &[phenomenon], Timing::USUAL, 1).unwrap();
    let (report, _) = run(&sim, 1, 1);
    let finding = found(&report, at(12)).expect("it never passes");
    assert_eq!(finding.verdict, Verdict::AlwaysFailing);
    assert!(finding.tally.attempts < 30, "{:?}", finding.tally);
}
