//! The five steps of Fig 4.3, one test for each row of its table (detection.md 2.8).

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests are outside of test functions, where clippy.toml allows it"
)]

mod common;

use std::rc::Rc;
use std::time::Duration;

use common::{at, drive, unlimited};
use unflake_detect::categorise::categorise;
use unflake_detect::{Analysis, OutOfBudget};
use unflake_model::{
    Attempt, Environment, Experiment, Observation, Outcome, Phase, Suite, TestIndex, Verdict,
};
use unflake_sim::behaviour::{Chance, Ending};
use unflake_sim::phenomenon::{Pollution, Together};
use unflake_sim::scenario::{self, Scenario};
use unflake_sim::{Phenomenon, SimSuite, Timing};

/// "100 runs for each applicable step".
const N_RUNS: u64 = 100;

const N_TESTS: u64 = 10;

/// The category of test 7, and how many runs it took.
fn category(phenomenon: Phenomenon) -> (Verdict, u64) {
    let suite = Suite::of_sizes(&[5, 5]).unwrap();
    let sim = SimSuite::planted(suite, &[phenomenon], Timing::USUAL, 3).unwrap();
    category_of(&sim, at(7))
}

fn category_of(sim: &SimSuite, test: TestIndex) -> (Verdict, u64) {
    let (verdict, spent) = drive(sim, unlimited(), 8, |lab| categorise(lab, test, N_RUNS));
    (verdict.unwrap(), spent.runs)
}

/// The category of test 7, if it ends as this function says.
fn category_if(outcome: impl Fn(&Experiment) -> Outcome) -> Verdict {
    let suite = Rc::new(Suite::of_sizes(&[5, 5]).unwrap());
    let analysis = Analysis::new(suite, unlimited(), |lab| categorise(lab, at(7), N_RUNS));
    let answer = |experiment: &Experiment| {
        let of = |test| if test == at(7) { outcome(experiment) } else { Outcome::Passed };
        let attempt = |test| Attempt { test, outcome: of(test), duration: Duration::ZERO };
        Observation::of(
            experiment.run,
            experiment.order.tests().iter().copied().map(attempt).collect(),
            Duration::ZERO,
        )
    };
    analysis.drive(4, |experiments| experiments.iter().map(answer).collect()).0.unwrap()
}

const FAILED: Outcome = Outcome::Failed { phase: Phase::Call };

fn failed_if(failed: bool) -> Outcome {
    if failed { FAILED } else { Outcome::Passed }
}

#[test]
fn step_1_always_fails_alone_is_a_brittle() {
    let phenomenon = Phenomenon::Brittle {
        brittle: at(7),
        setters: vec![Together::single(at(2))],
        pollutes: vec![],
    };
    assert_eq!(category(phenomenon), (Verdict::OdBrittle, N_RUNS));
}

#[test]
fn step_1_sometimes_fails_alone_is_non_deterministic() {
    let chance = Chance::Independent { rate: 0.2 };
    let phenomenon = Phenomenon::Random { test: at(7), chance, ending: Ending::Fail };
    assert_eq!(category(phenomenon), (Verdict::NodUndecided, N_RUNS));
}

#[test]
fn step_3_always_fails_under_the_same_seed_is_implementation_dependent() {
    let phenomenon = Phenomenon::OpenChoice { test: at(7), rate: 0.3 };
    assert_eq!(category(phenomenon), (Verdict::Id, 3 * N_RUNS));
}

#[test]
fn step_3_sometimes_or_never_fails_under_the_same_seed_is_non_deterministic() {
    let is_seed = |e: &Experiment, seed| e.environment == Environment::open_choices(seed);
    // Steps 1 and 2 are runs 0 to 199; seed 4 fails in run 104.
    let sometimes = category_if(|e| failed_if(is_seed(e, 4) && e.run.0 % 2 == 0));
    assert_eq!(sometimes, Verdict::NodUndecided);
    let never = category_if(|e| failed_if(is_seed(e, 4) && e.run.0 < 200));
    assert_eq!(never, Verdict::NodUndecided);
    let always = category_if(|e| failed_if(is_seed(e, 4)));
    assert_eq!(always, Verdict::Id);
}

#[test]
fn step_4_no_single_test_makes_it_fail_is_unknown_dependent() {
    let other = Phenomenon::AlwaysFailing { test: at(0) };
    assert_eq!(category(other), (Verdict::Ud, 2 * N_RUNS + N_TESTS - 1));
}

#[test]
fn step_5_always_fails_after_the_same_test_is_a_victim() {
    for (polluter, ending) in [(2, Ending::Fail), (9, Ending::Crash), (0, Ending::Hang)] {
        let phenomenon = Phenomenon::Victims {
            victims: vec![at(7)],
            pollutions: vec![Pollution {
                polluters: Together::single(at(polluter)),
                cleaners: vec![],
            }],
            ending,
        };
        assert_eq!(category(phenomenon), (Verdict::OdVictim, 3 * N_RUNS + N_TESTS - 1));
    }
}

#[test]
fn step_5_sometimes_passes_after_the_same_test_is_non_deterministic() {
    let phenomenon = Phenomenon::MovedRate {
        test: at(7),
        movers: vec![at(2)],
        rate_before: 0.0,
        rate_after: 0.9,
    };
    assert_eq!(category(phenomenon), (Verdict::NodUndecided, 3 * N_RUNS + N_TESTS - 1));
}

/// Example 11: each victim fails after two polluters only, so every pair passes.
#[test]
fn the_victims_of_dubbo_are_unknown_dependent() {
    let Scenario { sim, targets } = scenario::dubbo(0);
    for target in targets {
        assert_eq!(sim.truth().of(target).verdict, Verdict::OdVictim);
        assert_eq!(category_of(&sim, target).0, Verdict::Ud);
    }
}

#[test]
fn a_test_that_never_says_anything_alone_has_no_category() {
    assert_eq!(category_if(|_| Outcome::Skipped), Verdict::InsufficientEvidence);
    assert_eq!(category_if(|_| Outcome::NotRun), Verdict::InsufficientEvidence);
}

#[test]
fn a_budget_too_small_for_the_next_step_gives_no_category() {
    let Scenario { sim, targets } = scenario::dubbo(0);
    let all = 2 * N_RUNS + sim.suite().n_tests() as u64 - 1;
    let within = |runs| {
        let budget = unlimited().with_runs(runs).unwrap();
        drive(&sim, budget, 8, |lab| categorise(lab, targets[0], N_RUNS)).0
    };
    assert_eq!(within(all), Ok(Verdict::Ud));
    for runs in [1, N_RUNS, 2 * N_RUNS, all - 1] {
        assert_eq!(within(runs), Err(OutOfBudget), "{runs} runs");
    }
}
