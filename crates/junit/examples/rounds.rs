//! How many rounds a minute, and what is found in them?
//!
//! `rounds FOLDER CACHE ROUNDS SEED JOBS [OPTION OF MAVEN ...]` does with our engine what iDFlakies
//! does with `random-class-method`: the original order three times, then rounds in which classes
//! and the methods in them are shuffled. A test that ends otherwise than in the original order is
//! put to the test again, once in each of the two orders, up to it: depends on the order if both
//! come out as before, else it does not. `bench/java` shows both side by side.

#![expect(clippy::print_stdout, reason = "a program to look at")]

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::time::{Duration, Instant};

use serde_json::json;
use unflake_engine::{Engine, Event, Interrupt};
use unflake_junit::{Limits, Prepared, Project, Surroundings};
use unflake_model::random::Random;
use unflake_model::{
    Environment, Evidence, Experiment, Order, Repetition, RunId, Suite, TestIndex,
};

const LONG: Duration = Duration::from_mins(9);
const N_ORIGINAL: usize = 3;

type Fault = Box<dyn Error>;
/// How the tests of a run ended, as far as that says something.
type Ends = BTreeMap<TestIndex, Evidence>;

/// How much to do.
struct Plan {
    n_rounds: usize,
    seed: u64,
    jobs: usize,
}

fn main() -> Result<(), Fault> {
    let mut arguments = std::env::args_os().skip(1);
    let mut next = || arguments.next().ok_or("usage: rounds FOLDER CACHE ROUNDS SEED JOBS ...");
    let (folder, cache) = (next()?.into(), next()?.into());
    let mut number = || next()?.to_string_lossy().parse::<u64>().map_err(Fault::from);
    let (n_rounds, seed, jobs) = (number()?, number()?, number()?);
    let plan = Plan { n_rounds: usize::try_from(n_rounds)?, seed, jobs: usize::try_from(jobs)? };
    let options = arguments.collect();
    let around = Surroundings { folder, options, cache, build_time_max: LONG };
    let (project, build) = timed(|| Project::find(&around, &Interrupt::default()));
    for module in project?.modules {
        let (prepared, collect) = timed(|| module.prepare(LONG, &Interrupt::default()));
        let mut found = look(&prepared?, &plan)?;
        found["module"] = json!(module.name);
        found["build_s"] = json!((build + collect).as_secs_f64());
        println!("{found}");
    }
    Ok(())
}

fn look(prepared: &Prepared, plan: &Plan) -> Result<serde_json::Value, Fault> {
    let limits =
        Limits { start_timeout: LONG, test_timeout: LONG, run_timeout: None, jobs: plan.jobs };
    let mut engine = Engine::start(prepared.launch(limits), &Interrupt::default())?;
    let suite = engine.suite(|_| Duration::from_millis(1));
    let original = Order::original(&suite);
    let (first, took_first) = timed(|| run(&mut engine, &vec![original.clone(); N_ORIGINAL]));
    let first = first?;
    let mut random = Random::new(plan.seed);
    let rounds: Vec<Order> = (0..plan.n_rounds).map(|_| shuffled(&suite, &mut random)).collect();
    let (seen, took_rounds) = timed(|| run(&mut engine, &rounds));
    let mut suspects: BTreeMap<TestIndex, (Order, Evidence)> = BTreeMap::new();
    for (order, ends) in rounds.iter().zip(seen?) {
        for (test, end) in ends {
            if first[0].get(&test).is_some_and(|usual| *usual != end) {
                suspects.entry(test).or_insert_with(|| (order.clone(), end));
            }
        }
    }
    let trials: Vec<Order> = suspects
        .iter()
        .flat_map(|(test, (order, _))| [order.truncated_at(*test), original.truncated_at(*test)])
        .flatten()
        .collect();
    let (again, took_trials) = timed(|| run(&mut engine, &trials));
    let again = again?;
    let (mut dependent, mut others) = (BTreeSet::new(), BTreeSet::new());
    for ((test, (_, end)), pair) in suspects.iter().zip(again.chunks(2)) {
        let is_usual = |ends: &Ends| ends.get(test) == first[0].get(test);
        let holds = pair[0].get(test) == Some(end) && pair[1..].iter().all(is_usual);
        let list = if holds && first.iter().all(is_usual) { &mut dependent } else { &mut others };
        list.insert(suite.id(*test).to_string());
    }
    Ok(json!({
        "tests": suite.n_tests(),
        "rounds": plan.n_rounds,
        "runs": rounds.len() + trials.len(),
        "original_s": took_first.as_secs_f64(),
        "rounds_s": took_rounds.as_secs_f64(),
        "verify_s": took_trials.as_secs_f64(),
        "od": dependent,
        "nod": others,
    }))
}

fn shuffled(suite: &Suite, random: &mut Random) -> Order {
    let mut classes = suite.classes().to_vec();
    random.shuffle(&mut classes);
    for tests in &mut classes {
        random.shuffle(tests);
    }
    Order::from_distinct(classes.concat())
}

fn run(engine: &mut Engine, orders: &[Order]) -> Result<Vec<Ends>, Fault> {
    for (number, order) in orders.iter().enumerate() {
        engine.submit(&Experiment {
            run: RunId(u64::try_from(number)?),
            order: order.clone(),
            environment: Environment::Plain,
            repetition: Repetition::Once,
        })?;
    }
    let mut all = vec![Ends::new(); orders.len()];
    let mut n_over = 0;
    while n_over < orders.len() {
        if let Event::RunEnded { observation, .. } = engine.next_event()? {
            n_over += 1;
            let place = usize::try_from(observation.run.0)?;
            let ends = observation.attempts.iter();
            let said = ends.filter_map(|end| Some((end.test, end.outcome.evidence()?)));
            all[place] = said.collect();
        }
    }
    Ok(all)
}

#[expect(clippy::disallowed_methods, reason = "to measure is what it is for")]
fn timed<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let begun = Instant::now();
    let done = work();
    (done, begun.elapsed())
}
