//! What is reported about one test is what was planted: must show 6, the worked examples of
//! detection.md section 3, and tests that crash, hang, or fail by chance.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests are outside of test functions, where clippy.toml allows it"
)]

mod common;
#[path = "common/truth.rs"]
mod truth;

use common::{at, drive, unlimited};
use std::rc::Rc;
use std::time::Duration;
use truth::sorted;

use unflake_detect::Analysis;
use unflake_detect::Depth;
use unflake_detect::explain::explain;
use unflake_model::{
    Attempt, Confidence, Control, Dependencies, Evidence, Experiment, Finding, Group, Observation,
    Order, Outcome, Phase, Suite, TestIndex, Verdict,
};
use unflake_sim::behaviour::{Chance, Ending};
use unflake_sim::phenomenon::{Pollution, Together};
use unflake_sim::scenario::{self, Case, Scenario, Setting};
use unflake_sim::{Phenomenon, Recipe, SimSuite, Timing, generate};

fn ask_about(sim: &SimSuite, target: TestIndex, depth: Depth, width: usize) -> Finding {
    drive(sim, unlimited(), width, |lab| explain(lab, target, depth)).0
}

/// The finding is confirmed, and says what was planted.
fn assert_is_truth(sim: &SimSuite, target: TestIndex, width: usize, what: &str) {
    let finding = ask_about(sim, target, Depth::Roles, width);
    let truth = sim.truth().of(target);
    let what = format!("{what}, test {target}, width {width}");
    assert_eq!(finding.verdict, truth.verdict, "{what}");
    assert_eq!(sorted(&finding.dependencies), truth.dependencies, "{what}");
    assert!(finding.confirmed, "{what}");
    if finding.verdict.is_order_dependent() {
        // 10 runs alone and 25 after the group: (10/35)^10 (25/35)^25, see `classify`.
        let error = finding.confidence.map(Confidence::error);
        assert!(error.is_some_and(|error| error < 8.06e-10), "{what}: {error:?}");
    }
}

fn assert_cases_are_truth(noise: f64, seeds: std::ops::Range<u64>) {
    for seed in seeds {
        for case in Case::ALL.into_iter().filter(|case| *case != Case::RandomFailure) {
            let Scenario { sim, targets } = case.scenario(Setting { n_tests: 1_000, noise, seed });
            for width in [1, 8] {
                let what = format!("{}, noise {noise}, seed {seed}", case.name());
                assert_is_truth(&sim, targets[0], width, &what);
            }
        }
    }
}

#[test]
fn every_case_among_1_000_tests_is_explained_as_planted() {
    assert_cases_are_truth(0.0, 0..6);
}

#[test]
fn every_case_among_1_000_tests_is_explained_as_planted_in_spite_of_20_percent_noise() {
    assert_cases_are_truth(0.2, 0..3);
}

#[test]
fn a_test_that_fails_at_random_depends_on_nobody() {
    for noise in [0.0, 0.2] {
        for seed in 0..6 {
            let Scenario { sim, targets } =
                Case::RandomFailure.scenario(Setting { n_tests: 1_000, noise, seed });
            for width in [1, 8] {
                let finding = ask_about(&sim, targets[0], Depth::Roles, width);
                let what = format!("noise {noise}, seed {seed}, width {width}");
                assert!(
                    matches!(finding.verdict, Verdict::Ndoi | Verdict::NodUndecided),
                    "{what}: {}",
                    finding.verdict
                );
                assert_eq!(finding.dependencies, Dependencies::default(), "{what}");
            }
        }
    }
}

/// Deciding it for all of them took over a thousand runs each.
#[test]
fn whether_a_random_test_heeds_the_order_is_decided_mostly_and_with_few_runs() {
    let (mut n_open, mut n_long) = (0, 0);
    for seed in 0..1_000 {
        let setting = Setting { n_tests: 20, noise: 0.1, seed };
        let Scenario { sim, targets } = Case::RandomFailure.scenario(setting);
        let finding = ask_about(&sim, targets[0], Depth::Roles, 2);
        n_open += u64::from(finding.verdict == Verdict::NodUndecided);
        let is_random = matches!(finding.verdict, Verdict::Ndoi | Verdict::NodUndecided);
        assert!(is_random, "seed {seed}: {}", finding.verdict);
        // A hint of a difference is followed up, which is rare if there is none.
        n_long += u64::from(240 < finding.spent.runs);
    }
    assert!(n_open < 350 && n_long < 50, "{n_open} open, {n_long} long");
}

#[test]
fn the_order_dependent_tests_of_the_worked_examples_are_explained_as_planted() {
    let examples = [
        ("example 2, elastic-job", scenario::elastic_job as fn(u64) -> Scenario),
        ("example 5, Hadoop", scenario::hadoop),
        ("example 11, dubbo", scenario::dubbo),
        ("example 12, wildfly", scenario::wildfly),
        ("web", scenario::web),
    ];
    for (name, example) in examples {
        for (seed, width) in [(0, 1), (1, 8)] {
            let Scenario { sim, targets } = example(seed);
            for target in targets {
                assert_is_truth(&sim, target, width, name);
            }
        }
    }
}

/// Example 1: t1 is a victim; t3, which pollutes it, fails in 1 of 8 runs whatever the order.
#[test]
fn the_two_flaky_tests_of_example_1_are_told_apart() {
    for seed in 0..10 {
        let Scenario { sim, targets } = scenario::fig_2_1(seed);
        assert_is_truth(&sim, targets[0], 1, "t1");
        let t3 = ask_about(&sim, targets[1], Depth::Roles, 1);
        assert!(!t3.verdict.is_order_dependent() && t3.verdict != Verdict::Ndod, "seed {seed}");
        assert_eq!(t3.dependencies, Dependencies::default(), "seed {seed}");
    }
}

#[test]
fn a_victim_that_no_order_of_the_project_has_shown_is_explained() {
    for case in [Case::CleanerBetween, Case::VictimBeforePolluter] {
        let setting = Setting { n_tests: 200, noise: 0.0, seed: 11 };
        let Scenario { sim, targets } = case.scenario(setting);
        let original: Vec<TestIndex> = sim.suite().tests().collect();
        let prefix = &original[..targets[0].get()];
        let outcome = sim.outcome_without_noise(prefix, targets[0]);
        assert_eq!(outcome.evidence(), Some(Evidence::Pass), "the original order is green");
        assert_is_truth(&sim, targets[0], 1, case.name());
    }
}

#[test]
fn the_kind_alone_costs_less_than_the_roles_and_is_the_same() {
    for case in Case::ALL.into_iter().filter(|case| *case != Case::RandomFailure) {
        let setting = Setting { n_tests: 200, noise: 0.0, seed: 3 };
        let Scenario { sim, targets } = case.scenario(setting);
        let kind = ask_about(&sim, targets[0], Depth::Kind, 1);
        let roles = ask_about(&sim, targets[0], Depth::Roles, 1);
        assert_eq!((kind.verdict, kind.confirmed), (roles.verdict, true), "{}", case.name());
        assert!(kind.spent.attempts < roles.spent.attempts, "{}", case.name());
        let n_groups = kind.dependencies.polluters.len() + kind.dependencies.state_setters.len();
        assert_eq!(n_groups, 1, "{}: one group proves the kind", case.name());
    }
}

fn planted(phenomena: &[Phenomenon], seed: u64) -> SimSuite {
    let suite = Suite::of_sizes(&[5; 8]).unwrap();
    SimSuite::planted(suite, phenomena, Timing::USUAL, seed).unwrap()
}

fn victim(target: TestIndex, polluter: TestIndex, ending: Ending) -> Phenomenon {
    let polluters = Together::single(polluter);
    let pollutions = vec![Pollution { polluters, cleaners: Vec::new() }];
    Phenomenon::Victims { victims: vec![target], pollutions, ending }
}

#[test]
fn a_test_that_always_passes_and_one_that_always_fails_are_called_so() {
    let sim = planted(&[Phenomenon::AlwaysFailing { test: at(7) }], 0);
    for width in [1, 8] {
        let passing = ask_about(&sim, at(6), Depth::Roles, width);
        assert_eq!(passing.verdict, Verdict::NotFlaky);
        assert_eq!((passing.tally.failures, passing.failed_in), (0, None));
        let failing = ask_about(&sim, at(7), Depth::Roles, width);
        assert_eq!((failing.verdict, failing.confirmed), (Verdict::AlwaysFailing, false));
        assert_eq!((failing.tally.passes(), failing.passed_in), (0, None));
    }
}

#[test]
fn a_victim_that_errs_crashes_or_hangs_is_a_victim() {
    for ending in [Ending::Error, Ending::Crash, Ending::Hang] {
        for (polluter, target) in [(3, 30), (30, 3)] {
            let sim = planted(&[victim(at(target), at(polluter), ending)], 0);
            for width in [1, 8] {
                assert_is_truth(&sim, at(target), width, &format!("{ending:?}"));
            }
        }
    }
}

/// A victim of test 3, and other tests that crash or hang once in a while before it.
#[test]
fn tests_that_sometimes_end_the_process_do_not_hide_a_victim() {
    for seed in 0..10 {
        let end = |test, ending| {
            let chance = Chance::Independent { rate: 0.1 };
            Phenomenon::Random { test: at(test), chance, ending }
        };
        let ends = [end(10, Ending::Crash), end(20, Ending::Hang)];
        let sim =
            planted(&[&[victim(at(30), at(3), Ending::Fail)], ends.as_slice()].concat(), seed);
        let finding = ask_about(&sim, at(30), Depth::Roles, 1);
        assert_eq!((finding.verdict, finding.confirmed), (Verdict::OdVictim, true), "seed {seed}");
        assert_eq!(finding.dependencies.polluters, [vec![at(3)]], "seed {seed}");
    }
}

/// Spec 2.3: pairs find all single polluters and state-setters, triples all their cleaners. The
/// test is suspected as in a campaign: it was seen to end differently than alone.
#[test]
fn asking_about_every_single_test_finds_every_single_role() {
    for seed in 0..20 {
        let sim = generate(&Recipe::dense(30), seed).unwrap();
        let truths = sim.truth().remarkable();
        for (test, truth) in truths.filter(|(_, truth)| truth.verdict.is_order_dependent()) {
            let planted = &truth.dependencies;
            let groups = [planted.polluters.as_slice(), &planted.state_setters].concat();
            if groups.iter().any(|group| 1 < group.len()) {
                continue;
            }
            for depth in [Depth::Exhaustive, Depth::OneByOne] {
                let seen = Order::from_distinct([groups[0][0], test]);
                let (finding, _) = drive(&sim, unlimited(), 8, |lab| async move {
                    lab.run(seen).await.unwrap();
                    explain(lab, test, depth).await
                });
                let what = format!("seed {seed}, test {test}, {depth:?}");
                assert_eq!(finding.verdict, truth.verdict, "{what}");
                assert_eq!(sorted(&finding.dependencies), *planted, "{what}");
                assert!(finding.confirmed, "{what}");
            }
        }
    }
}

/// If nothing can be put back, passes say little that is true, and cost time; but no role is named
/// that is not there, and none is missed that asking with one process per question finds.
#[test]
fn passes_that_put_nothing_back_mislead_nobody() {
    for seed in 0..20 {
        let sim = generate(&Recipe::dense(30), seed).unwrap().without_putting_back();
        let truths = sim.truth().remarkable();
        for (test, _) in truths.filter(|(_, truth)| truth.verdict.is_order_dependent()) {
            let roles = |depth| sorted(&ask_about(&sim, test, depth, 8).dependencies);
            let slow = roles(Depth::OneByOne);
            let quick = roles(Depth::Exhaustive);
            let singles = |groups: &[Group]| -> Vec<Group> {
                groups.iter().filter(|group| group.len() == 1).cloned().collect()
            };
            let what = format!("seed {seed}, test {test}");
            assert_eq!(singles(&quick.polluters), singles(&slow.polluters), "{what}");
            assert_eq!(singles(&quick.state_setters), singles(&slow.state_setters), "{what}");
        }
    }
}

#[test]
fn passes_ask_a_fifth_of_the_questions_at_most() {
    for case in Case::ALL {
        let scenario = case.scenario(Setting { n_tests: 300, noise: 0.0, seed: 1 });
        for target in &scenario.targets {
            let quick = ask_about(&scenario.sim, *target, Depth::Exhaustive, 2);
            let slow = ask_about(&scenario.sim, *target, Depth::OneByOne, 2);
            assert_eq!(quick.verdict, slow.verdict, "{case:?}");
            let is_dependent = quick.verdict.is_order_dependent();
            let (few, many) = (quick.questions, slow.questions);
            assert!(!is_dependent || 5 * few <= many, "{case:?}: {few} and {many} questions");
            assert_eq!(
                sorted(&quick.dependencies),
                scenario.sim.truth().of(*target).dependencies,
                "{case:?}"
            );
        }
    }
}

#[test]
fn one_test_or_two_to_blame_are_seen_at_a_glance() {
    use Case::{Brittle, BrittleOfTwo, OnePolluter, PairTogether, VictimBeforePolluter};
    for case in [OnePolluter, PairTogether, Brittle, BrittleOfTwo, VictimBeforePolluter] {
        for (seed, n_tests) in (0..6).zip([200, 1_000].into_iter().cycle()) {
            let Scenario { sim, targets } = case.scenario(Setting { n_tests, noise: 0.0, seed });
            let finding = ask_about(&sim, targets[0], Depth::Roles, 2);
            let what = format!("{} among {n_tests}, seed {seed}", case.name());
            // Searching a stretch took 19 for a pair.
            assert!(finding.questions <= 10, "{what}: {} questions", finding.questions);
        }
    }
}

/// Bursts look like the same outcome many times in a row; only contradictions tell them apart.
#[test]
fn a_test_that_fails_at_random_is_never_called_order_dependent() {
    for seed in 0..300 {
        let rate = 0.3 + 0.05 * (seed % 9) as f64;
        let runs = 2 + seed % 8;
        for chance in [Chance::Independent { rate }, Chance::Burst { rate, runs }] {
            let ending = Ending::Fail;
            let sim = planted(&[Phenomenon::Random { test: at(17), chance, ending }], seed);
            for width in [1, 8] {
                let Finding { verdict, confirmed, .. } =
                    ask_about(&sim, at(17), Depth::Roles, width);
                let is_wrong = verdict.is_order_dependent() || verdict == Verdict::Ndod;
                assert!(
                    !(confirmed && is_wrong),
                    "{chance:?}, seed {seed}, width {width}: confirmed {verdict}"
                );
            }
        }
    }
}

/// Answers like a runner that keeps classes together, and knows no other order.
fn class_by_class(suite: &Suite, experiment: &Experiment) -> Observation {
    let tests = experiment.repetition.attempts(&experiment.order);
    let mut classes: Vec<_> = tests.iter().map(|test| suite.class_of(*test)).collect();
    classes.dedup();
    let mut distinct = classes.clone();
    distinct.sort_unstable();
    distinct.dedup();
    assert_eq!(classes.len(), distinct.len(), "{tests:?} parts a class");
    // Test 7 fails after test 2 of another class, and after 5 and 6 of its own class together.
    let place = |test| tests.iter().position(|it| *it == at(test));
    let is_before = |test| place(test).is_some_and(|there| Some(there) < place(7));
    let fails = is_before(2) || (is_before(5) && is_before(6));
    let attempt = |test: TestIndex| {
        let failed = Outcome::Failed { phase: Phase::Call };
        let outcome = if test == at(7) && fails { failed } else { Outcome::Passed };
        Attempt { test, outcome, duration: Duration::from_millis(1) }
    };
    Observation::of(
        experiment.run,
        tests.iter().copied().map(attempt).collect(),
        Duration::from_millis(9),
    )
}

#[test]
fn classes_are_never_parted_where_the_runner_keeps_them_together() {
    let suite = Rc::new(Suite::of_sizes(&[4, 4, 4, 1]).unwrap().controlled(Control::CLASSES));
    for depth in [Depth::Roles, Depth::Exhaustive] {
        let analysis =
            Analysis::new(Rc::clone(&suite), unlimited(), |lab| explain(lab, at(7), depth));
        let answer = |asked: Vec<Experiment>| {
            asked.iter().map(|experiment| class_by_class(&suite, experiment)).collect()
        };
        let (finding, _) = analysis.drive(2, answer);
        assert_eq!(finding.verdict, Verdict::OdVictim);
        assert_eq!(finding.dependencies.polluters, [vec![at(2)], vec![at(5), at(6)]]);
    }
}

/// Answers like a runner that only knows the order in which tests are listed: test 5 fails after
/// test 2 unless test 3 comes in between.
fn as_listed(experiment: &Experiment) -> Observation {
    let tests = experiment.order.tests();
    assert!(tests.is_sorted(), "{tests:?} cannot be run");
    let fails = tests.contains(&at(2)) && !tests.contains(&at(3));
    let attempt = |test: TestIndex| {
        let failed = Outcome::Failed { phase: Phase::Call };
        let outcome = if test == at(5) && fails { failed } else { Outcome::Passed };
        Attempt { test, outcome, duration: Duration::from_millis(1) }
    };
    Observation::of(
        experiment.run,
        tests.iter().copied().map(attempt).collect(),
        Duration::from_millis(9),
    )
}

#[test]
fn only_subsequences_are_run_where_the_runner_keeps_the_listed_order() {
    let suite = Rc::new(Suite::of_sizes(&[5, 5]).unwrap().controlled(Control::FIXED));
    let answer =
        |asked: Vec<Experiment>| -> Vec<Observation> { asked.iter().map(as_listed).collect() };
    for depth in [Depth::Roles, Depth::Exhaustive, Depth::OneByOne] {
        for width in [1, 4] {
            let analysis =
                Analysis::new(Rc::clone(&suite), unlimited(), |lab| explain(lab, at(6), depth));
            let (finding, _) = analysis.drive(width, answer);
            assert_eq!(finding.verdict, Verdict::NotFlaky, "{depth:?}");
        }
    }
    // Its cleaner is in every whole order, so only the one-by-one search sees the victim.
    let analysis =
        Analysis::new(Rc::clone(&suite), unlimited(), |lab| explain(lab, at(5), Depth::OneByOne));
    let (finding, _) = analysis.drive(2, answer);
    assert_eq!((finding.verdict, finding.confirmed), (Verdict::OdVictim, true));
    assert_eq!(finding.dependencies.polluters, [[at(2)]]);
    assert_eq!(finding.dependencies.cleaners[0].cleaners, [at(3)]);
}
