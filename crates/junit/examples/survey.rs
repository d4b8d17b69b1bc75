//! What does unflake see in a Java project, and does it see what Surefire sees?
//!
//! `survey FOLDER CACHE [OPTION OF MAVEN ...]` builds the project, and says for each module how
//! many tests were collected, what the original order comes to under the engine and under Surefire,
//! and what it costs to start an agent.

#![expect(clippy::print_stdout, reason = "a program to look at")]

use std::error::Error;
use std::time::{Duration, Instant};

use unflake_engine::{Engine, Event, Interrupt, Limits};
use unflake_junit::{Plain, Prepared, Project, Surroundings};
use unflake_model::{Experiment, Observation, Order, RunId};

const LONG: Duration = Duration::from_mins(9);
const N_STARTS: u32 = 5;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args_os().skip(1);
    let (Some(folder), Some(cache)) = (arguments.next(), arguments.next()) else {
        return Err("usage: survey FOLDER CACHE [OPTION OF MAVEN ...]".into());
    };
    let around = Surroundings {
        folder: folder.into(),
        options: arguments.collect(),
        cache: cache.into(),
        build_time_max: LONG,
    };
    let interrupt = Interrupt::default();
    let (project, build) = timed(|| Project::find(&around, &interrupt));
    let project = project?;
    println!("built in {build:.1?} with Java {}", project.jdk.version);
    for without in &project.left_out {
        println!("left out: {}: {}", without.module, without.why);
    }
    for module in &project.modules {
        let (prepared, took) = timed(|| module.prepare(LONG, &interrupt));
        let prepared = prepared?;
        println!("{}: {} tests, collected in {took:.1?}", module.name, prepared.ids().count());
        module.notes.iter().for_each(|note| println!("  {note}"));
        look(&project, &prepared)?;
    }
    Ok(())
}

fn look(project: &Project, prepared: &Prepared) -> Result<(), Box<dyn Error>> {
    let interrupt = Interrupt::default();
    let limits = Limits::each_within(LONG);
    let (engine, took) = timed(|| Engine::start(prepared.launch(&limits), &interrupt));
    let mut engine = engine?;
    for error in &engine.collected().errors {
        println!("  cannot collect {}: {}", error.place, error.text.lines().next().unwrap_or(""));
    }
    println!("  from start to collected: {took:.2?}");
    let suite = engine.suite(|_| Duration::from_millis(1));
    let ours = run(&mut engine, Order::original(&suite))?;
    println!("  the original order: {:.1?}", ours.duration);
    let first = suite.tests().next().ok_or("no test")?;
    let alone = (0..N_STARTS)
        .map(|_| Ok(run(&mut engine, Order::from_distinct([first]))?.duration))
        .collect::<Result<Vec<Duration>, Box<dyn Error>>>()?;
    println!("  one test alone: {:.2?}", alone.iter().sum::<Duration>() / N_STARTS);
    let theirs = Plain { project, prepared, time_max: LONG }.run_suite(&interrupt)?;
    println!("  under Surefire: {:?}, {:.1?}", theirs.ending, theirs.duration);
    println!("  in the same order: {}; strangers: {:?}", theirs.is_in_order, theirs.strangers);
    let mut n_same = 0;
    for ((id, ours), theirs) in prepared.ids().zip(&ours.attempts).zip(&theirs.tests) {
        if ours.outcome == theirs.outcome {
            n_same += 1;
        } else {
            println!("  {id}: {:?} here, {:?} there", ours.outcome, theirs.outcome);
        }
    }
    println!("  the same outcome: {n_same}");
    Ok(())
}

fn run(engine: &mut Engine, order: Order) -> Result<Observation, Box<dyn Error>> {
    engine.submit(&Experiment::new(RunId(0), order))?;
    let mut seen = None;
    loop {
        match engine.next_event()? {
            Event::RunEnded { observation, .. } => seen = Some(observation),
            Event::Idle => return seen.ok_or_else(|| "no run".into()),
            _ => (),
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "to measure is what it is for")]
fn timed<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let begun = Instant::now();
    let done = work();
    (done, begun.elapsed())
}
