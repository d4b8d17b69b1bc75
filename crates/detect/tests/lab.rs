//! An analysis asks for no more than room and budget allow, takes answers in any order, and always
//! has an answer of its own.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests are outside of test functions, where clippy.toml allows it"
)]

mod common;
#[path = "common/truth.rs"]
mod truth;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

use common::{at, drive, unlimited};
use futures_util::future::{join, join_all, ready, select};
use proptest::prelude::*;
use truth::sorted;
use unflake_detect::Depth;
use unflake_detect::campaign::{self, campaign};
use unflake_detect::explain::explain;
use unflake_detect::{Analysis, Lab, OutOfBudget, Urgency};
use unflake_model::{
    Attempt, Budget, Dependencies, Experiment, Factors, Finding, Limit, Observation, Order,
    Outcome, RunId, Spent, Suite, Verdict,
};
use unflake_model::{HashSeeds, random::Random};
use unflake_sim::scenario::{Case, Scenario, Setting};
use unflake_sim::{Recipe, SimSuite, generate};
use unflake_stats::rate::Rate;

fn suite(n_tests: usize) -> Rc<Suite> {
    Rc::new(Suite::of_sizes(&[n_tests]).unwrap())
}

fn alone(test: usize) -> Order {
    Order::from_distinct([at(test)])
}

/// An observation in which all tests passed.
fn passing(experiment: &Experiment) -> Observation {
    let attempt =
        |test| Attempt { test, outcome: Outcome::Passed, duration: std::time::Duration::ZERO };
    Observation::of(
        experiment.run,
        experiment.order.tests().iter().copied().map(attempt).collect(),
        std::time::Duration::ZERO,
    )
}

fn tests_of(experiments: &[Experiment]) -> Vec<usize> {
    experiments.iter().map(|e| e.order.tests()[0].get()).collect()
}

/// Runs ten tests alone, all asked for at once.
async fn ten_alone(lab: Lab) -> usize {
    let runs = join_all((0..10).map(|test| lab.run(alone(test)))).await;
    runs.into_iter().flatten().count()
}

#[test]
fn experiments_come_in_the_order_asked_and_never_more_than_there_is_room() {
    let mut analysis = Analysis::new(suite(10), unlimited(), ten_alone);
    let first = analysis.ask(3);
    assert_eq!(tests_of(&first), [0, 1, 2]);
    assert_eq!(analysis.ask(0), []);
    let second = analysis.ask(5);
    assert_eq!(tests_of(&second), [3, 4, 5, 6, 7]);
    assert_eq!(tests_of(&analysis.ask(100)), [8, 9]);
    assert_eq!(analysis.ask(100), [], "everything is under way");
    assert!(analysis.take_answer().is_none());
    for experiment in second.iter().chain(&first).rev() {
        analysis.tell(&passing(experiment));
    }
    assert_eq!(analysis.ask(1), []);
    assert!(analysis.take_answer().is_none(), "two answers are owed");
    assert_eq!(analysis.spent().runs, 8);
}

#[test]
fn stopping_concludes_from_what_is_known() {
    let mut analysis = Analysis::new(suite(10), unlimited(), ten_alone);
    let experiments = analysis.ask(4);
    analysis.stop();
    assert_eq!(analysis.ask(4), [], "no further experiment is granted");
    assert!(analysis.take_answer().is_none(), "what is under way is waited for");
    for experiment in &experiments {
        analysis.tell(&passing(experiment));
    }
    assert_eq!(analysis.ask(4), []);
    assert_eq!(analysis.take_answer(), Some(4));
}

#[test]
fn abandoning_concludes_without_what_is_under_way() {
    let mut analysis = Analysis::new(suite(10), unlimited(), ten_alone);
    let experiments = analysis.ask(4);
    analysis.tell(&passing(&experiments[2]));
    analysis.abandon();
    assert_eq!(analysis.ask(4), []);
    assert_eq!(analysis.take_answer(), Some(1));
    assert_eq!(analysis.spent().runs, 1);
}

#[test]
fn a_refused_run_leaves_room_for_the_analysis_to_do_something_smaller() {
    let budget = unlimited().with_attempts(3).unwrap();
    let mut analysis = Analysis::new(suite(5), budget, |lab| async move {
        let all = lab.run(Order::original(lab.suite())).await.map(|_| ());
        (all, lab.run(alone(4)).await.is_ok())
    });
    let experiments = analysis.ask(1);
    assert_eq!(tests_of(&experiments), [4]);
    analysis.tell(&passing(&experiments[0]));
    assert_eq!(analysis.ask(1), []);
    assert_eq!(analysis.take_answer(), Some((Err(OutOfBudget), true)));
}

#[test]
fn a_question_nobody_waits_for_any_more_is_not_asked() {
    let mut analysis = Analysis::new(suite(5), unlimited(), |lab| async move {
        let given_up = Box::pin(lab.run(alone(1)));
        // `select` polls the first, so that it is waiting at the desk, and then drops it.
        drop(select(given_up, ready(())).await);
        lab.run(alone(2)).await.is_ok()
    });
    let experiments = analysis.ask(9);
    assert_eq!(tests_of(&experiments), [2]);
    assert_eq!(experiments[0].run, RunId(0), "it took no number either");
    analysis.tell(&passing(&experiments[0]));
    assert_eq!(analysis.ask(9), []);
    assert_eq!(analysis.take_answer(), Some(true));
    assert_eq!(analysis.spent(), Spent { runs: 1, attempts: 1, ..Spent::default() });
}

#[test]
fn investigations_go_before_exploration() {
    let analysis = Analysis::new(suite(5), unlimited(), |lab| async move {
        let (explore, investigate) = (lab.part(Urgency::Explore), lab.part(Urgency::Investigate));
        let explored = join(explore.run(alone(0)), explore.run(alone(1)));
        let investigated = join(investigate.run(alone(2)), investigate.run(alone(3)));
        let runs = join(explored, investigated).await;
        assert!(matches!(runs, ((Ok(_), Ok(_)), (Ok(_), Ok(_)))));
        (explore.spent().runs, investigate.spent().runs, lab.spent().runs)
    });
    let mut asked = Vec::new();
    let (spent, _) = analysis.drive(1, |experiments| {
        asked.extend(tests_of(&experiments));
        experiments.iter().map(passing).collect()
    });
    assert_eq!(asked, [2, 3, 0, 1]);
    assert_eq!(spent, (2, 2, 0), "each part has its own account");
}

/// Beyond half of the budget, exploration leaves alone what was put aside for investigations.
#[test]
fn what_is_put_aside_is_left_to_investigations() {
    let budget = unlimited().with_runs(10).unwrap();
    let n_granted = |urgency, aside| {
        let analysis = Analysis::new(suite(10), budget, move |lab| {
            lab.put_aside(Spent { runs: aside, ..Spent::default() });
            ten_alone(lab.part(urgency))
        });
        analysis.drive(3, |experiments| experiments.iter().map(passing).collect()).0
    };
    assert_eq!(n_granted(Urgency::Explore, 0), 10);
    assert_eq!(n_granted(Urgency::Explore, 3), 7);
    assert_eq!(n_granted(Urgency::Explore, 9), 5);
    assert_eq!(n_granted(Urgency::Investigate, 9), 10);
}

#[test]
fn an_answer_to_another_question_is_a_fault_of_the_caller() {
    let experiment_of = |analysis: &mut Analysis<usize>| analysis.ask(1).remove(0);
    let is_refused = |falsify: fn(&mut Observation)| {
        let mut analysis = Analysis::new(suite(10), unlimited(), ten_alone);
        let mut observation = passing(&experiment_of(&mut analysis));
        falsify(&mut observation);
        catch_unwind(AssertUnwindSafe(|| analysis.tell(&observation))).is_err()
    };
    assert!(!is_refused(|_| ()));
    assert!(is_refused(|o| o.attempts[0].test = at(7)), "other tests");
    assert!(is_refused(|o| o.attempts.clear()), "fewer tests");
    assert!(is_refused(|o| o.attempts.push(o.attempts[0])), "more tests");
    assert!(is_refused(|o| o.run = RunId(99)), "another run");
    let mut analysis = Analysis::new(suite(10), unlimited(), ten_alone);
    let observation = passing(&experiment_of(&mut analysis));
    analysis.tell(&observation);
    let again = catch_unwind(AssertUnwindSafe(|| analysis.tell(&observation)));
    assert!(again.is_err(), "told twice");
}

/// Asks for a random number of experiments, answers a random one of those under way, and so on.
fn drive_at_random<T: 'static>(sim: &SimSuite, mut analysis: Analysis<T>, seed: u64) -> T {
    let mut random = Random::new(seed);
    let mut under_way: Vec<Experiment> = Vec::new();
    loop {
        under_way.extend(analysis.ask(1 + random.below(6)));
        if let Some(answer) = analysis.take_answer() {
            return answer;
        }
        let experiment = under_way.swap_remove(random.below(under_way.len()));
        analysis.tell(&sim.observe(&experiment));
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 60, failure_persistence: None, ..ProptestConfig::default()
    })]

    #[test]
    fn answers_in_any_order_and_at_any_width_lead_to_the_same_finding(
        case in proptest::sample::select(Case::ALL.to_vec()), seed: u64,
    ) {
        prop_assume!(case != Case::RandomFailure);
        let Scenario { sim, targets } =
            case.scenario(Setting { n_tests: 80, noise: 0.0, seed: 5 });
        let target = targets[0];
        let analysis = Analysis::new(Rc::new(sim.suite().clone()), unlimited(), |lab| {
            explain(lab, target, Depth::Roles)
        });
        let finding = drive_at_random(&sim, analysis, seed);
        let truth = sim.truth().of(target);
        prop_assert_eq!(finding.verdict, truth.verdict);
        prop_assert!(finding.confirmed);
        prop_assert_eq!(&sorted(&finding.dependencies), &truth.dependencies);
    }
}

fn settings() -> campaign::SuiteSettings {
    campaign::SuiteSettings {
        seed: 1,
        tries: 3,
        depth: Depth::Roles,
        hash_seeds: HashSeeds::Varied,
        perturbed_runs: 3,
        choices: Factors::OPEN_CHOICES,
        dirty: Vec::new(),
        flake_rate_min: Rate::new(0.1).unwrap(),
    }
}

/// A confirmed verdict about the order is the planted one.
fn assert_not_confirmed_and_wrong(sim: &SimSuite, finding: &Finding, what: &str) {
    let truth = sim.truth().of(finding.test);
    let claims_order = finding.verdict.is_order_dependent() || finding.verdict == Verdict::Ndod;
    if finding.confirmed && claims_order {
        assert_eq!(finding.verdict, truth.verdict, "{what}, test {}", finding.test);
    }
}

fn budgets() -> Vec<Budget> {
    let runs = (1..40).chain([50, 75, 100, 150, 200, 300]);
    let attempts = [1, 2, 3, 5, 10, 29, 30, 31, 60, 100, 200, 500, 1_000, 3_000, 10_000];
    let by_runs = runs.map(|n| unlimited().with_runs(n).unwrap());
    let by_attempts = attempts.into_iter().map(|n| unlimited().with_attempts(n).unwrap());
    by_runs.chain(by_attempts).collect()
}

#[test]
fn no_budget_is_exceeded_and_every_budget_gets_an_answer_about_one_test() {
    for seed in 0..3 {
        let sim = generate(&Recipe::dense(30), seed).unwrap();
        for budget in budgets() {
            for (target, _) in sim.truth().remarkable() {
                for width in [1, 5] {
                    let (finding, spent) =
                        drive(&sim, budget, width, |lab| explain(lab, target, Depth::Roles));
                    let what = format!("seed {seed}, width {width}, {budget:?}");
                    assert_eq!(finding.test, target);
                    assert_eq!(budget.exceeded_by(spent), None, "{what}");
                    assert_not_confirmed_and_wrong(&sim, &finding, &what);
                }
            }
        }
    }
}

#[test]
fn no_budget_is_exceeded_and_every_budget_gets_a_report() {
    for seed in 0..3 {
        let sim = generate(&Recipe::dense(30), seed).unwrap();
        for budget in budgets() {
            for width in [1, 5] {
                let (report, spent) = drive(&sim, budget, width, |lab| campaign(lab, settings()));
                let what = format!("seed {seed}, width {width}, {budget:?}");
                assert_eq!(budget.exceeded_by(spent), None, "{what}");
                for finding in &report.findings {
                    assert_not_confirmed_and_wrong(&sim, finding, &what);
                }
            }
        }
    }
}

#[test]
fn one_run_says_little_and_that_is_what_is_said() {
    let Scenario { sim, targets } =
        Case::OnePolluter.scenario(Setting { n_tests: 80, noise: 0.0, seed: 0 });
    let budget = unlimited().with_runs(1).unwrap();
    let (finding, spent) = drive(&sim, budget, 1, |lab| explain(lab, targets[0], Depth::Roles));
    assert_eq!(spent.runs, 1);
    assert_eq!((finding.verdict, finding.confirmed), (Verdict::NotFlaky, false));
    assert_eq!(finding.tally.attempts, 1);
    assert_eq!(finding.dependencies, Dependencies::default());
    assert_eq!(budget.exceeded_by(Spent { runs: 2, ..spent }), Some(Limit::Runs));
}
