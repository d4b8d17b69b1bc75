//! Every test of an order runs once, even if some end the process.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests are outside of test functions, where clippy.toml allows it"
)]

use std::rc::Rc;

use unflake_detect::Analysis;
use unflake_detect::whole_order::{Reach, run_whole};
use unflake_model::{
    Budget, Confidence, Experiment, Look, NotStarted, Observation, Order, StateLook, Suite,
    TestIndex,
};
use unflake_sim::behaviour::Ending;
use unflake_sim::phenomenon::{Pollution, Together};
use unflake_sim::{Phenomenon, SimSuite, Timing};

/// Tests 2 and 5 crash after 0.
fn crashing() -> SimSuite {
    let phenomenon = Phenomenon::Victims {
        victims: vec![TestIndex::new(2), TestIndex::new(5)],
        pollutions: vec![Pollution {
            polluters: Together::single(TestIndex::new(0)),
            cleaners: Vec::new(),
        }],
        ending: Ending::Crash,
    };
    let suite = Suite::of_sizes(&[7]).unwrap();
    SimSuite::planted(suite, &[phenomenon], Timing::USUAL, 1).unwrap()
}

fn run(
    sim: &SimSuite,
    mut answer: impl FnMut(&Experiment) -> Observation,
) -> (Reach, Vec<Experiment>) {
    let (suite, look) = (Rc::new(sim.suite().clone()), Look::at_state(StateLook::all()));
    let order = Order::original(&suite);
    let mut asked = Vec::new();
    let analysis = Analysis::new(suite, Budget::unlimited(Confidence::USUAL), |lab| {
        run_whole(lab, order, look)
    });
    let (reach, _) = analysis.drive(4, |batch| {
        asked.extend(batch.clone());
        batch.iter().map(&mut answer).collect()
    });
    (reach, asked)
}

#[test]
fn what_a_crash_cuts_off_is_run_in_another_process_with_the_same_look() {
    let sim = crashing();
    let (reach, asked) = run(&sim, |it| sim.observe(it));
    let orders: Vec<Vec<usize>> =
        asked.iter().map(|it| it.order.tests().iter().map(|test| test.get()).collect()).collect();
    assert_eq!(reach, Reach::Whole);
    // Nothing pollutes the second process.
    assert_eq!(orders, [vec![0, 1, 2, 3, 4, 5, 6], vec![3, 4, 5, 6]]);
    assert!(asked.iter().all(|it| it.look == Look::at_state(StateLook::all())));
}

#[test]
fn where_no_test_can_be_started_there_is_an_end_to_it() {
    let sim = crashing();
    let failed = || NotStarted::Failed("no memory".to_owned());
    let (reach, asked) = run(&sim, |it| Observation::not_started(it, failed()));
    assert_eq!((reach, asked.len()), (Reach::Stuck, 3));
}
