//! The scheduler of reruns on suites with planted truth: what it finds, and in how much time.

#![expect(clippy::unwrap_used, reason = "what was planted is there")]

use std::rc::Rc;
use std::time::Duration;

use unflake_detect::Analysis;
use unflake_detect::reruns::belief::{Belief, Rates};
use unflake_detect::reruns::schedule::{Candidate, Done, Exposure, Schedule, Terms};
use unflake_detect::reruns::{RerunEnd, RerunFindings, RerunSettings, reruns};
use unflake_model::random::Random;
use unflake_model::{
    Budget, Confidence, Experiment, OutcomeKind, Spent, Suite, TestIndex, Verdict,
};
use unflake_sim::behaviour::{Chance, Ending};
use unflake_sim::phenomenon::{Pollution, Together};
use unflake_sim::reruns::{Costs, Played, Policy, Rerunnable, Rounds, Until, play};
use unflake_sim::{Phenomenon, SimSuite, Timing};

const FORKED: Costs = Costs { start: 0.01, tracing: 0.1 };

struct Scheduled(Schedule);

impl Policy for Scheduled {
    fn next_batch(&mut self) -> Vec<TestIndex> {
        self.0.next_batch().unwrap_or_default()
    }

    fn tell(&mut self, test: TestIndex, outcome: OutcomeKind) {
        self.0.tell(test, outcome);
    }
}

/// Tests, quick and slow ones, one in twenty of which fails at random.
fn tests(n: usize, seed: u64) -> Vec<Rerunnable> {
    let mut random = Random::new(seed);
    (0..n)
        .map(|_| {
            let is_random = random.chance(0.05);
            let rate = *random.pick(&[0.01, 0.05, 0.3, 0.9]).unwrap();
            Rerunnable {
                fail: if is_random { rate } else { 0.0 },
                skip: 0.0,
                seconds: 0.001 * 4_f64.powf(6.0 * random.unit()),
                is_exposed: random.chance(if is_random { 0.9 } else { 0.4 }),
            }
        })
        .collect()
}

fn scheduled(tests: &[Rerunnable], exposure: impl Fn(&Rerunnable) -> Exposure) -> Scheduled {
    scheduled_on(Terms::FORKED, tests, exposure)
}

fn scheduled_on(
    terms: Terms,
    tests: &[Rerunnable],
    exposure: impl Fn(&Rerunnable) -> Exposure,
) -> Scheduled {
    let candidate = |test: &Rerunnable| Candidate {
        duration: Duration::from_secs_f64(test.seconds),
        exposure: exposure(test),
        ..Candidate::default()
    };
    let candidates: Vec<Candidate> = tests.iter().map(candidate).collect();
    Scheduled(Schedule::new(&candidates, Belief::new(&Rates::PUBLISHED), terms))
}

fn all(tests: &[Rerunnable]) -> Rounds {
    let indices = (0..tests.len()).map(TestIndex::new).collect();
    Rounds::new(vec![indices], tests.len(), 200)
}

fn told(test: &Rerunnable) -> Exposure {
    if test.is_exposed { Exposure::Cause("Time".into()) } else { Exposure::Nothing }
}

/// An exposure that has nothing to do with the truth.
fn misled(test: &Rerunnable) -> Exposure {
    let is_exposed = test.seconds.to_bits().count_ones().is_multiple_of(2);
    told(&Rerunnable { is_exposed, ..*test })
}

/// How long rerunning everything takes to reach each mark, and how long we take, in one suite.
fn race(seed: u64, exposure: fn(&Rerunnable) -> Exposure) -> Vec<(f64, f64)> {
    let tests = tests(600, seed);
    let game = |policy: &mut dyn Policy, until| play(&tests, FORKED, policy, seed, until);
    let unlimited = Until { seconds: f64::INFINITY, n_found: usize::MAX };
    let rerun_all = game(&mut all(&tests), unlimited);
    let n_all = rerun_all.found_at.len();
    let until = Until { seconds: 2.0 * rerun_all.seconds, n_found: n_all };
    let ours = game(&mut scheduled(&tests, exposure), until);
    let marks = [20, 50, 80, 95].map(|share| n_all * share / 100);
    marks.map(|n| (time_of(&rerun_all, n), time_of(&ours, n))).to_vec()
}

#[test]
fn it_is_never_slower_than_rerunning_everything() {
    for seed in 0..6 {
        for exposure in [told, |_: &Rerunnable| Exposure::Unknown] {
            for (theirs, ours) in race(seed, exposure) {
                assert!(ours <= theirs, "seed {seed}: {ours} {theirs}");
            }
        }
    }
}

#[test]
fn with_a_trace_that_says_nothing_it_is_still_not_slower_on_average() {
    let races: Vec<Vec<(f64, f64)>> = (0..6).map(|seed| race(seed, misled)).collect();
    for mark in 0..4 {
        let theirs: f64 = races.iter().map(|race| race[mark].0).sum();
        let ours: f64 = races.iter().map(|race| race[mark].1).sum();
        assert!(ours <= theirs, "mark {mark}: {ours} {theirs}");
    }
}

fn time_of(played: &Played, n_found: usize) -> f64 {
    played.time_of(n_found).unwrap_or(f64::INFINITY)
}

#[test]
fn where_tests_are_alike_it_costs_what_rerunning_everything_costs() {
    let tests: Vec<Rerunnable> = (0..300)
        .map(|index| Rerunnable {
            fail: if index % 30 == 0 { 0.03 } else { 0.0 },
            skip: 0.0,
            seconds: 0.02,
            is_exposed: false,
        })
        .collect();
    let until = Until { seconds: 60.0 * 300.0 * 0.02, n_found: usize::MAX };
    let rerun_all = play(&tests, FORKED, &mut all(&tests), 3, until);
    let ours = play(&tests, FORKED, &mut scheduled(&tests, |_| Exposure::Unknown), 3, until);
    assert_eq!(ours.n_batches, rerun_all.n_batches);
    assert_eq!(ours.found_at.len(), rerun_all.found_at.len());
}

/// As in a real project (pymemorydb): nearly all tests call a random number generator, and the one
/// that fails because of it takes as long as all others together.
#[test]
fn the_slowest_test_of_a_quick_suite_is_not_left_for_last() {
    let test = |index| Rerunnable {
        fail: if index == 30 { 0.2 } else { 0.0 },
        skip: 0.0,
        seconds: if index == 30 { 0.04 } else { 0.000_5 },
        is_exposed: index % 4 != 0 || index == 30,
    };
    let tests: Vec<Rerunnable> = (0..47).map(test).collect();
    let until = Until { seconds: 60.0, n_found: 1 };
    let mean = |policy: &dyn Fn() -> Box<dyn Policy>| {
        let played = (0..40).map(|seed| play(&tests, FORKED, &mut *policy(), seed, until));
        played.map(|played| time_of(&played, 1)).sum::<f64>() / 40.0
    };
    let rerun_all = mean(&|| Box::new(all(&tests)));
    let ours = mean(&|| Box::new(scheduled(&tests, told)));
    let terms = Terms { opening: Duration::ZERO, ..Terms::FORKED };
    let chosen = mean(&|| Box::new(scheduled_on(terms, &tests, told)));
    assert!(ours <= 1.1 * rerun_all, "{ours} {rerun_all}");
    assert!(3.0 * rerun_all < chosen, "that is what the opening is for: {chosen} {rerun_all}");
}

#[test]
fn ten_thousand_tests_are_scheduled_by_looking_at_few() {
    // A million attempts; choosing by looking at all tests each time would take minutes.
    let tests = tests(10_000, 1);
    let until = Until { seconds: 10_000.0, n_found: usize::MAX };
    let played = play(&tests, FORKED, &mut scheduled(&tests, told), 1, until);
    assert!(300 < played.n_batches, "{}", played.n_batches);
    assert!(100 < played.found_at.len(), "{}", played.found_at.len());
}

fn at(test: usize) -> TestIndex {
    TestIndex::new(test)
}

/// Forty tests in four classes: two random ones, a victim with its polluter, one always failing.
fn planted(seed: u64) -> SimSuite {
    let random = |test, rate| Phenomenon::Random {
        test: at(test),
        chance: Chance::Independent { rate },
        ending: Ending::Fail,
    };
    let pollution = Pollution { polluters: Together::single(at(5)), cleaners: Vec::new() };
    let victims = Phenomenon::Victims {
        victims: vec![at(25)],
        pollutions: vec![pollution],
        ending: Ending::Fail,
    };
    let phenomena =
        vec![random(3, 0.2), random(17, 0.5), victims, Phenomenon::AlwaysFailing { test: at(30) }];
    let suite = Suite::of_sizes(&[10, 10, 10, 10]).unwrap();
    SimSuite::planted(suite, &phenomena, Timing::USUAL, seed).unwrap()
}

fn run(sim: &SimSuite, width: usize, budget: Budget) -> (RerunFindings, Spent) {
    let missed = Some(0.05);
    let terms = Terms { overhead: Duration::from_millis(500), missed, ..Terms::FORKED };
    let settings = RerunSettings { seed: 1, terms, rates: Rates::PUBLISHED };
    let suite = Rc::new(sim.suite().clone());
    let candidate =
        |test| Candidate { duration: sim.suite().duration(test), ..Candidate::default() };
    let candidates: Vec<Candidate> = sim.suite().tests().map(candidate).collect();
    let analysis = Analysis::new(suite, budget, |lab| reruns(lab, settings, candidates));
    let answer = |experiments: Vec<Experiment>| {
        experiments.iter().map(|experiment| sim.observe(experiment)).collect()
    };
    analysis.drive(width, answer)
}

#[test]
fn random_tests_are_told_from_those_that_depend_on_the_order() {
    for (seed, width) in [(1, 1), (2, 4)] {
        let sim = planted(seed);
        let (report, _) = run(&sim, width, Budget::unlimited(Confidence::USUAL));
        assert_eq!(report.ended, RerunEnd::Done(Done::FewHidden));
        let verdict = |test| {
            report.findings.iter().find(|it| it.test == at(test)).map(|finding| finding.verdict)
        };
        assert!(verdict(3).is_some_and(Verdict::is_non_deterministic), "{:?}", verdict(3));
        assert!(verdict(17).is_some_and(Verdict::is_non_deterministic), "{:?}", verdict(17));
        assert_eq!(verdict(25), Some(Verdict::OdVictim), "seed {seed}");
        assert_eq!(verdict(30), None, "it never passed");
        assert_eq!(report.findings.len(), 3);
        assert!(report.hidden < 1.0, "{}", report.hidden);
        assert!(2 < report.runs_min, "{}", report.runs_min);
    }
}

#[test]
fn a_random_test_is_said_to_be_random_before_the_budget_ends() {
    for seed in 1..=8 {
        let budget = Budget::unlimited(Confidence::USUAL).with_runs(150).unwrap();
        let (report, _) = run(&planted(seed), 2, budget);
        let verdict = report.findings.iter().find(|it| it.test == at(17)).map(|it| it.verdict);
        assert_eq!(verdict, Some(Verdict::NodUndecided), "seed {seed}");
    }
}

#[test]
fn the_end_of_the_budget_ends_it_with_what_is_known() {
    let budget = Budget::unlimited(Confidence::USUAL).with_runs(12).unwrap();
    let (report, spent) = run(&planted(1), 2, budget);
    assert_eq!(report.ended, RerunEnd::OutOfBudget);
    assert!(spent.runs <= 12, "{spent:?}");
}
