//! The engine with real processes: an agent without a runner, whose tests hang, crash and kill.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests are outside of test functions, where clippy.toml allows it"
)]

mod common;

use std::fs;
use std::path::Path;
use std::thread;
use std::time::Duration;

use common::{AMPLE, experiment, launch, run_all, run_one, start};
use unflake_engine::process::{CommandLine, Exit, run_to_end};
use unflake_engine::{
    Ending, Engine, EngineError, Event, Interrupt, Level, Start, StartErrorKind, SubmitError,
};
use unflake_model::{Environment, Outcome, Phase, Repetition, RunId, TestIndex};

const PASSED: Outcome = Outcome::Passed;
const NOT_RUN: Outcome = Outcome::NotRun;
const FAILED: Outcome = Outcome::Failed { phase: Phase::Call };

/// Both ways of making runs must look the same from outside.
fn both_ways(tests: &[&str], check: impl Fn(&mut Engine)) {
    for start_as in [Start::Fork, Start::Cold] {
        let mut launch = launch(tests);
        launch.start = start_as;
        let mut engine = start(launch).unwrap();
        assert_eq!(engine.why_cold().is_some(), start_as == Start::Cold);
        check(&mut engine);
    }
}

#[test]
fn every_outcome_comes_back_under_its_test() {
    both_ways(&["passed", "failed", "error", "skipped"], |engine| {
        let told = run_one(engine, &[3, 1, 0, 2]);
        assert_eq!(told.failure(1).message, "said failed");
        let ended = told.only();
        assert_eq!(ended.outcomes(), [Outcome::Skipped, FAILED, PASSED, Outcome::Error]);
        assert_eq!(ended.ending, Ending::Complete);
        let tests: Vec<_> = ended.observation.attempts.iter().map(|a| a.test.get()).collect();
        assert_eq!(tests, [3, 1, 0, 2]);
        assert_eq!(ended.observation.attempts[0].duration, Duration::from_millis(250));
    });
}

#[test]
fn twice_is_two_attempts_in_a_row() {
    both_ways(&["passed", "failed"], |engine| {
        let mut experiment = experiment(4, &[1, 0]);
        experiment.repetition = Repetition::Twice;
        engine.submit(&experiment).unwrap();
        let told = run_all(engine);
        let starts = told.events.iter().filter_map(|event| match event {
            Event::TestStarted { run, test, attempt } => Some((run.0, test.get(), *attempt)),
            _ => None,
        });
        assert_eq!(starts.collect::<Vec<_>>(), [(4, 1, 0), (4, 1, 1), (4, 0, 0), (4, 0, 1)]);
        assert_eq!(told.only().outcomes(), [FAILED, FAILED, PASSED, PASSED]);
    });
}

#[test]
fn a_crash_blames_the_test_under_way_and_nobody_after_it() {
    both_ways(&["passed", "segv", "exit"], |engine| {
        let told = run_one(engine, &[0, 1, 2]);
        let failure = told.failure(1);
        assert_eq!(
            failure.message,
            "the process died while the test ran: killed by signal 11 (SIGSEGV)"
        );
        assert!(failure.text.contains("last words"), "{}", failure.text);
        let ended = told.only();
        assert_eq!(ended.outcomes(), [PASSED, Outcome::Crashed { signal: Some(11) }, NOT_RUN]);
        assert_eq!(ended.ending, Ending::Died(Exit { code: None, signal: Some(11) }));

        let ended = run_one(engine, &[2, 0]).only();
        assert_eq!(ended.outcomes(), [Outcome::Crashed { signal: None }, NOT_RUN]);
        assert_eq!(ended.ending, Ending::Died(Exit { code: Some(3), signal: None }));
        // The engine goes on working.
        assert_eq!(run_one(engine, &[0]).only().ending, Ending::Complete);
    });
}

#[test]
fn a_test_that_hangs_is_stopped_even_if_it_will_not_listen() {
    both_ways(&["passed", "hang", "stubborn"], |engine| {
        let after = Duration::from_millis(300);
        engine.set_test_timeout(after);
        for hanging in [1, 2] {
            let told = run_one(engine, &[hanging, 0]);
            assert!(told.failure(hanging).message.ends_with("it took too long"));
            let ended = told.only();
            assert_eq!(ended.outcomes(), [Outcome::TimedOut { after }, NOT_RUN]);
            assert_eq!(ended.ending, Ending::TestTimedOut);
        }
    });
}

#[test]
fn a_run_that_takes_too_long_is_stopped_and_blames_nobody() {
    let mut launch = launch(&["hang", "passed"]);
    launch.run_timeout = Some(Duration::from_millis(300));
    let ended = run_one(&mut start(launch).unwrap(), &[0, 1]).only();
    assert_eq!(ended.outcomes(), [NOT_RUN, NOT_RUN]);
    assert_eq!(ended.ending, Ending::RunTimedOut);
}

#[test]
fn a_test_that_closes_our_connection_is_still_heard() {
    both_ways(&["close", "failed"], |engine| {
        let ended = run_one(engine, &[0, 1]).only();
        assert_eq!(ended.outcomes(), [PASSED, FAILED]);
        assert_eq!(ended.ending, Ending::Complete);
    });
}

#[test]
fn a_session_ended_by_a_test_is_no_crash() {
    both_ways(&["stop", "passed"], |engine| {
        let ended = run_one(engine, &[0, 1]).only();
        assert_eq!(ended.outcomes(), [PASSED, NOT_RUN]);
        assert_eq!(ended.ending, Ending::CutShort);
    });
}

#[test]
fn strays_and_floods_harm_nobody() {
    both_ways(&["stray:group", "stray:session", "flood", "segv"], |engine| {
        assert_eq!(run_one(engine, &[0, 2]).only().ending, Ending::Complete);
        // The stray has left the group and holds the connection open.
        let ended = run_one(engine, &[1, 3]).only();
        assert_eq!(ended.outcomes(), [PASSED, Outcome::Crashed { signal: Some(11) }]);
    });
}

#[test]
fn a_run_that_kills_the_agent_is_found_out_and_the_others_are_not_harmed() {
    let mut launch = launch(&["kill-parent", "hang", "passed"]);
    launch.jobs = 2;
    launch.test_timeout = AMPLE;
    let mut engine = start(launch).unwrap();
    engine.submit(&experiment(1, &[2, 0])).unwrap();
    engine.submit(&experiment(2, &[2])).unwrap();
    engine.submit(&experiment(3, &[2])).unwrap();
    let told = run_all(&mut engine);
    assert_eq!(told.n_deaths(), 2);
    for ended in &told.ended {
        if ended.observation.run == RunId(1) {
            assert_eq!(ended.outcomes(), [PASSED, Outcome::Crashed { signal: None }]);
            assert_eq!(ended.ending, Ending::KilledAgent);
        } else {
            assert_eq!(ended.outcomes(), [PASSED]);
        }
    }
    assert_eq!(told.ended.len(), 3);
}

#[test]
fn an_agent_that_cannot_be_brought_up_again_is_given_up() {
    let folder = tempfile::tempdir().unwrap();
    let marker = format!("--die-next-time={}", folder.path().join("marker").display());
    let mut engine = start(launch(&[&marker, "kill-parent"])).unwrap();
    engine.submit(&experiment(1, &[0])).unwrap();
    let error = loop {
        match engine.next_event() {
            Ok(event) => assert_ne!(event, Event::Idle),
            Err(error) => break error,
        }
    };
    let EngineError::AgentKeepsDying { n_deaths: 3, last, stderr } = error else {
        panic!("{error}");
    };
    assert_eq!(last, "the process ended before the tests were collected: exit status 1");
    assert_eq!(stderr, "dying as told\n");
    assert!(engine.next_event().is_err(), "it stays so");
}

#[test]
fn at_most_so_many_run_at_once_and_the_rest_waits() {
    for (jobs, start_as) in [(1, Start::Fork), (3, Start::Fork), (2, Start::Cold)] {
        let mut launch = launch(&["passed"]);
        (launch.jobs, launch.start) = (jobs, start_as);
        let mut engine = start(launch).unwrap();
        for run in 0..10 {
            engine.submit(&experiment(run, &[0])).unwrap();
        }
        assert_eq!(engine.n_pending(), 10);
        let (mut n_running, mut n_ended) = (0, 0);
        loop {
            match engine.next_event().unwrap() {
                Event::RunStarted { .. } => n_running += 1,
                Event::RunEnded { .. } => (n_running, n_ended) = (n_running - 1, n_ended + 1),
                Event::Idle => break,
                _ => (),
            }
            // One more run waits at the agent that runs are forked from.
            assert!(n_running <= jobs + usize::from(start_as == Start::Fork));
        }
        assert_eq!(n_ended, 10);
    }
}

#[test]
fn what_isolation_held_is_told() {
    let mut launch = launch(&["passed"]);
    launch.isolation = vec![Level::Tree, Level::Net];
    let mut engine = start(launch).unwrap();
    let isolation = run_one(&mut engine, &[0]).only().isolation;
    assert_eq!(isolation.applied, [Level::Tree]);
    assert_eq!(isolation.refused[0].level, Level::Net);
    engine.set_isolation(Vec::new());
    assert_eq!(run_one(&mut engine, &[0]).only().isolation.applied, []);
}

#[test]
fn experiments_that_cannot_be_made_are_refused_with_the_reason() {
    let mut engine = start(launch(&["passed"])).unwrap();
    let mut perturbed = experiment(1, &[0]);
    perturbed.environment = Environment::open_choices(7);
    let run = RunId(1);
    assert_eq!(engine.submit(&perturbed), Err(SubmitError::Perturbed { run }));
    let unknown = SubmitError::UnknownTest { run, test: 5, n_tests: 1 };
    assert_eq!(engine.submit(&experiment(1, &[0, 5])), Err(unknown));
    engine.submit(&experiment(1, &[0])).unwrap();
    assert_eq!(engine.submit(&experiment(1, &[0])), Err(SubmitError::Duplicate { run }));
}

#[test]
fn names_we_cannot_speak_of_do_not_shift_the_others() {
    let mut engine = start(launch(&["passed:a", "passed:a", "bad\nname", "failed"])).unwrap();
    assert_eq!(engine.set_aside().len(), 2);
    let suite = engine.suite(|_| Duration::ZERO);
    assert_eq!(suite.n_tests(), 2);
    assert_eq!(suite.id(TestIndex::new(1)).as_str(), "failed");
    assert_eq!(run_one(&mut engine, &[1, 0]).only().outcomes(), [FAILED, PASSED]);
}

#[test]
fn ten_thousand_tests_are_one_run() {
    let names: Vec<String> = (0..10_000).map(|n| format!("passed:{n} [ü/{n}]")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut engine = start(launch(&names)).unwrap();
    let order: Vec<usize> = (0..10_000).rev().collect();
    let ended = run_one(&mut engine, &order).only();
    assert!(ended.outcomes().iter().all(|outcome| *outcome == PASSED));
    assert_eq!(ended.observation.attempts[0].test, TestIndex::new(9_999));
}

#[test]
fn each_way_of_not_starting_has_its_own_words() {
    let kind = |arguments: &[&str]| {
        let error = start(launch(arguments)).unwrap_err();
        (error.kind, error.stderr)
    };
    let (died, stderr) = kind(&["--die", "passed"]);
    assert!(matches!(died, StartErrorKind::Died(Exit { code: Some(1), .. })), "{died}");
    assert_eq!(stderr, "dying as told\n");
    let (empty, _) = kind(&[]);
    assert!(matches!(empty, StartErrorKind::NothingCollected { errors } if errors.len() == 1));
    let (version, _) = kind(&["--version=9", "passed"]);
    assert!(matches!(version, StartErrorKind::Version { found: 9, known: 1 }), "{version}");
    let (failed, _) = kind(&["--failed"]);
    assert_eq!(failed.to_string(), "told to fail");
    let (nonsense, _) = kind(&["--nonsense"]);
    assert!(nonsense.to_string().contains("`oops`"), "{nonsense}");

    let mut missing = launch(&[]);
    missing.program = "/no/such/python".into();
    let error = start(missing).unwrap_err();
    assert!(matches!(error.kind, StartErrorKind::Interpreter(_)));
    assert_eq!(error.to_string(), "cannot start the tests with `/no/such/python`");
    assert!(error.hint(Some("--program")).unwrap().contains("`--program`"));
    assert_eq!(error.hint(None), None, "there is no other program to name");

    let mut stuck = launch(&["--stuck"]);
    stuck.start_timeout = Duration::from_millis(200);
    let kind = start(stuck).unwrap_err().kind;
    assert!(matches!(kind, StartErrorKind::TimedOut { .. }), "{kind}");
}

#[test]
fn where_forking_is_unsafe_each_run_has_a_fresh_process_that_must_find_the_same_tests() {
    let mut engine = start(launch(&["--unsafe=threads", "passed"])).unwrap();
    assert_eq!(engine.why_cold(), Some("threads"));
    for _ in 0..3 {
        assert_eq!(run_one(&mut engine, &[0]).only().ending, Ending::Complete);
    }
    let mut engine = start(launch(&["--unsafe=threads", "--grow", "passed"])).unwrap();
    // The agent that has collected makes the first run; the next one collects again.
    assert_eq!(run_one(&mut engine, &[0]).only().ending, Ending::Complete);
    let ended = run_one(&mut engine, &[0]).only();
    assert_eq!(ended.outcomes(), [NOT_RUN]);
    let Ending::NotStarted { why, .. } = ended.ending else { panic!("{:?}", ended.ending) };
    assert!(why.starts_with("collecting again gave other tests: test 1 was `new:"), "{why}");
}

#[test]
fn an_interrupt_comes_through_while_a_test_hangs_and_killing_leaves_the_engine_usable() {
    for start_as in [Start::Fork, Start::Cold] {
        let mut launch = launch(&["hang", "passed"]);
        launch.start = start_as;
        let interrupt = Interrupt::default();
        let mut engine = Engine::start(launch, &interrupt).unwrap();
        engine.submit(&experiment(1, &[0])).unwrap();
        loop {
            match engine.next_event().unwrap() {
                Event::TestStarted { .. } => interrupt.raise(),
                Event::Interrupted => break,
                _ => (),
            }
        }
        engine.kill_all();
        assert_eq!(engine.next_event().unwrap(), Event::Idle);
        assert_eq!(run_one(&mut engine, &[1]).only().outcomes(), [PASSED]);
    }
}

#[test]
fn what_ended_before_a_run_was_interrupted_is_told_before_and_can_be_had() {
    let interrupt = Interrupt::default();
    let launch = launch(&["failed", "passed", "hang", "skipped"]);
    let mut engine = Engine::start(launch, &interrupt).unwrap();
    engine.submit(&experiment(1, &[0, 1, 2, 3])).unwrap();
    assert_eq!(engine.seen_so_far(RunId(1)), None);
    let mut n_ended = 0;
    loop {
        match engine.next_event().unwrap() {
            Event::TestEnded { .. } => n_ended += 1,
            Event::TestStarted { test, .. } if test == TestIndex::new(2) => interrupt.raise(),
            Event::Interrupted => break,
            _ => (),
        }
    }
    assert_eq!(n_ended, 2);
    let seen = engine.seen_so_far(RunId(1)).unwrap();
    let outcomes: Vec<Outcome> = seen.attempts.iter().map(|attempt| attempt.outcome).collect();
    assert_eq!(outcomes, [FAILED, PASSED, NOT_RUN, NOT_RUN]);
    engine.kill_all();
    assert_eq!(engine.seen_so_far(RunId(1)), None);
}

#[test]
fn who_waits_for_an_event_can_be_woken_while_a_test_hangs() {
    let mut engine = start(launch(&["hang"])).unwrap();
    let waker = engine.waker();
    engine.submit(&experiment(1, &[0])).unwrap();
    loop {
        match engine.next_event().unwrap() {
            Event::TestStarted { .. } => drop(thread::spawn({
                let waker = waker.clone();
                move || waker.wake()
            })),
            Event::Woken => break,
            event => assert!(matches!(event, Event::RunStarted { .. }), "{event:?}"),
        }
    }
    assert_eq!(engine.n_pending(), 1);
    engine.kill_all();
}

#[test]
fn nothing_is_left_of_a_dropped_engine() {
    for start_as in [Start::Fork, Start::Cold] {
        let folder = tempfile::tempdir().unwrap();
        let fifo = make_fifo(folder.path());
        let mut launch = launch(&[&format!("--marker={}", fifo.display()), "hang", "stray:group"]);
        launch.start = start_as;
        let reader = thread::spawn({
            let fifo = fifo.clone();
            move || fs::read(fifo).unwrap()
        });
        let mut engine = start(launch).unwrap();
        engine.submit(&experiment(1, &[1, 0])).unwrap();
        let hangs =
            |event: &Event| matches!(event, Event::TestStarted { test, .. } if test.get() == 0);
        while !hangs(&engine.next_event().unwrap()) {}
        drop(engine);
        // Every process of the engine inherited the pipe: this ends when the last of them is gone.
        assert_eq!(reader.join().unwrap(), b"");
    }
}

fn make_fifo(folder: &Path) -> std::path::PathBuf {
    let path = folder.join("fifo");
    let line = CommandLine {
        program: "mkfifo".into(),
        arguments: vec![path.clone().into()],
        current_dir: folder.to_owned(),
        env: Vec::new(),
    };
    let finished = run_to_end(&line, AMPLE, &Interrupt::default()).unwrap();
    assert_eq!(finished.exit.code, Some(0));
    path
}
