//! Any runner, through the engine: real processes, with a runner that hangs, crashes and lies.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests are outside of test functions, where clippy.toml allows it"
)]

mod common;

use std::fs;
use std::time::Duration;

use common::{ALL_LEVELS, AMPLE, Little, experiment, names, run, run_as, suite, words};
use unflake_adapter::{Around, Part};
use unflake_engine::process::Exit;
use unflake_engine::{Ending, Event, Interrupt, Level, PlainEnding, Start, StartErrorKind};
use unflake_model::{Outcome, OutcomeKind, Phase, Repetition, TestIndex};

const PASSED: Outcome = Outcome::Passed;
const NOT_RUN: Outcome = Outcome::NotRun;
const FAILED: Outcome = Outcome::Failed { phase: Phase::Call };

/// Every way to report, and to name tests: format and words behind the runner.
const WAYS: [(&str, &[&str]); 7] = [
    ("tap", &["{tests}"]),
    ("tap", &["--list={list}", "--report={report}"]),
    ("junit", &["--form=junit", "--report={report}", "{tests}"]),
    ("junit", &["--form=junit", "--joined={tests:|}"]),
    ("ctrf", &["--form=ctrf", "--report={report}", "--says=1", "--list={list}"]),
    ("ctrf", &["--form=ctrf", "{tests}"]),
    ("exit", &["--form=exit", "{tests}"]),
];

/// Names of every kind that has ever been torn apart.
const NAMES: [&str; 12] = [
    "a b",
    "x/y.py",
    "a::b",
    "[1]",
    "\u{fc}",
    "\u{65e5}\u{672c}",
    "it's",
    "\"q\"",
    "$HOME",
    "#",
    "<&>",
    "*?",
];

#[test]
fn the_order_and_the_outcomes_come_back_in_every_format() {
    for (report, words) in WAYS {
        let little = Little::new(&["passes", "fails", "skipped", "passes too"], report, words);
        let mut engine = little.start();
        let ran = run(&mut engine, &[3, 2, 1, 0]);
        assert_eq!(ran.ending, Ending::Complete, "{words:?}");
        // An exit code knows no skipping.
        let skipped = if report == "exit" { PASSED } else { Outcome::Skipped };
        assert_eq!(ran.outcomes(), [PASSED, skipped, FAILED, PASSED], "{words:?}");
        let failure = ran.failures.last().unwrap();
        let said = if report == "exit" { "exit status 1" } else { "1 != 2" };
        assert_eq!(failure.message, said, "{words:?}");
    }
}

#[test]
fn names_are_what_they_are_on_the_way_there_and_back() {
    for (report, words) in WAYS {
        let little = Little::new(&NAMES, report, words);
        let mut engine = little.start();
        let suite = suite(&engine);
        let listed: Vec<&str> = suite.tests().map(|test| suite.id(test).as_str()).collect();
        assert_eq!(listed, NAMES);
        let backwards: Vec<usize> = (0..NAMES.len()).rev().collect();
        let ran = run(&mut engine, &backwards);
        assert_eq!(ran.ending, Ending::Complete, "{words:?}");
        assert_eq!(ran.outcomes(), vec![PASSED; NAMES.len()]);
    }
}

#[test]
fn a_victim_fails_behind_its_polluter_and_nowhere_else() {
    let tests = ["victim", "pollutes", "cleans", "brittle"];
    for (report, words) in &WAYS[..6] {
        let little = Little::new(&tests, report, words);
        let mut engine = little.start();
        assert_eq!(run(&mut engine, &[0, 1, 3]).outcomes(), [PASSED; 3], "{words:?}");
        let ran = run(&mut engine, &[1, 0]);
        assert_eq!(ran.outcomes(), [PASSED, FAILED]);
        assert_eq!(ran.failures[0].message, "polluted by pollutes");
        assert_eq!(run(&mut engine, &[1, 2, 0]).outcomes(), [PASSED; 3]);
        assert_eq!(run(&mut engine, &[3]).outcomes(), [FAILED]);
    }
}

#[test]
fn what_is_written_is_found_in_the_same_run_and_in_no_other() {
    let tests = ["writes", "finds", "temporary", "variable"];
    for (report, words) in [WAYS[0], WAYS[6]] {
        let set = |row: &mut unflake_command::settings::Row| {
            row.env.insert("GIVEN".to_owned(), "a b".to_owned());
            // Not that of who runs these tests.
            row.env.insert("HOME".to_owned(), "/nonexistent".to_owned());
        };
        let little = Little::changed(&tests, report, words, set);
        let home = little.folder.path().join("home");
        fs::create_dir(&home).unwrap();
        let mut project = little.project.clone();
        project.settings.row.env.insert("HOME".to_owned(), home.display().to_string());
        let little = Little { project, ..little };
        let before = names(little.folder.path());
        let mut engine = little.start();
        let ran = run(&mut engine, &[0, 1]);
        assert_eq!(ran.outcomes(), [PASSED, FAILED]);
        assert_eq!(ran.isolation.refused, [], "these tests need namespaces");
        assert_eq!(run(&mut engine, &[1, 2, 3]).outcomes(), [PASSED; 3]);
        assert_eq!(names(little.folder.path()), before);
        assert_eq!(names(&home), [""; 0]);
    }
}

#[test]
fn levels_hold_one_by_one_and_all_together() {
    let little = Little::new(&["first", "connects", "strays"], "tap", &["{tests}"]);
    for level in ALL_LEVELS {
        let mut engine = little.try_start(|limits| limits.isolation = vec![level]).unwrap();
        let ran = run(&mut engine, &[0, 1]);
        assert_eq!((ran.isolation.applied, ran.isolation.refused), (vec![level], vec![]));
        // Process 1 is the guard; the runner is one of the next.
        let own_pid = if level == Level::Pid { PASSED } else { FAILED };
        assert_eq!(ran.observation.attempts[0].outcome, own_pid);
    }
    // Without a test, all that happens is that.
    let mut engine = little.start();
    let ran = run(&mut engine, &[]);
    assert_eq!((ran.ending, ran.isolation.refused), (Ending::Complete, vec![]));
    assert_eq!(ran.isolation.applied.len(), ALL_LEVELS.len());
    // The same port, at once, twice.
    let mut engine = little.try_start(|limits| limits.jobs = 2).unwrap();
    engine.submit(&experiment(1, &[1])).unwrap();
    engine.submit(&experiment(2, &[1])).unwrap();
    let mut n_passed = 0;
    loop {
        match engine.next_event().unwrap() {
            Event::TestEnded { outcome, .. } => n_passed += usize::from(outcome == PASSED),
            Event::Idle => break,
            _ => (),
        }
    }
    assert_eq!(n_passed, 2);
}

#[test]
fn without_isolation_runs_are_the_same_and_reset_clears_away() {
    let reset = |row: &mut unflake_command::settings::Row| row.reset = words(&["--reset"]);
    let little = Little::changed(&["writes", "finds"], "tap", &["{tests}"], reset);
    let home = little.folder.path().display().to_string();
    let mut project = little.project.clone();
    project.settings.row.env.insert("HOME".to_owned(), home);
    let little = Little { project, ..little };
    let mut engine = little.try_start(|limits| limits.isolation.clear()).unwrap();
    for _ in 0..2 {
        let ran = run(&mut engine, &[1, 0]);
        assert_eq!(ran.outcomes(), [PASSED, PASSED]);
        assert_eq!(ran.isolation.applied, []);
    }
    assert!(little.folder.path().join("left.txt").exists());

    let broken = |row: &mut unflake_command::settings::Row| row.reset = words(&["no test"]);
    let little = Little::changed(&["passes"], "tap", &["{tests}"], broken);
    let mut engine = little.start();
    let why = run(&mut engine, &[0]);
    assert_eq!(why.ending, Ending::Complete, "a test that is named passes");
    let broken = |row: &mut unflake_command::settings::Row| row.reset = vec!["false".to_owned()];
    let little = Little::changed(&["passes"], "tap", &["{tests}"], broken);
    let mut engine = little.start();
    let ran = run(&mut engine, &[0]);
    assert_eq!(ran.void().0, "`reset` of the runner did not succeed: exit status 1");
}

#[test]
fn a_crash_blames_the_test_under_way_and_nobody_after_it() {
    let tests = ["passes", "segv", "exits", "passes too"];
    let crash = Outcome::Crashed { signal: Some(11) };
    let exit = Outcome::Crashed { signal: None };
    let says: &[&str] = &["--form=junit", "--report={report}", "--says=1", "{tests}"];
    let starts = |row: &mut unflake_command::settings::Row| {
        row.starts = (row.report == "junit").then(|| "RUN {id}".to_owned());
    };
    for (report, words) in [WAYS[0], ("junit", says)] {
        let little = Little::changed(&tests, report, words, starts);
        let mut engine = little.start();
        let told = if report == "tap" { PASSED } else { NOT_RUN };
        let ran = run(&mut engine, &[0, 1, 3]);
        assert_eq!(ran.outcomes(), [told, crash, NOT_RUN], "{report}");
        assert_eq!(ran.ending, Ending::Died(Exit { code: None, signal: Some(11) }));
        let failure = &ran.failures[0];
        assert!(failure.text.contains("last words"), "{}", failure.text);
        assert_eq!(run(&mut engine, &[2, 0]).outcomes(), [exit, NOT_RUN]);
        // And it goes on.
        assert_eq!(run(&mut engine, &[0, 3]).outcomes(), [PASSED, PASSED]);
    }
    // Where nobody says which test is under way, one that is alone is known.
    let little = Little::new(&tests, WAYS[2].0, WAYS[2].1);
    let mut engine = little.start();
    assert_eq!(run(&mut engine, &[1]).outcomes(), [crash]);
    let ran = run(&mut engine, &[0, 1]);
    let (why, hint) = ran.void();
    assert!(why.starts_with("there is no report of the run, which left with killed by signal 11"));
    assert!(hint.contains("`starts`") && hint.contains("last words"), "{hint}");
    // Each test has its own process: the next one runs.
    let little = Little::new(&tests, WAYS[6].0, WAYS[6].1);
    let mut engine = little.start();
    assert_eq!(run(&mut engine, &[1, 2, 0]).outcomes(), [FAILED, FAILED, PASSED]);
}

#[test]
fn a_test_that_hangs_is_stopped_even_if_it_will_not_listen() {
    let (tap, exit) = (WAYS[0], WAYS[6]);
    for (way, levels, hanging) in [(tap, &ALL_LEVELS[..], 1), (tap, &[], 2), (exit, &[], 1)] {
        let little = Little::new(&["passes", "hangs", "stubborn"], way.0, way.1);
        let mut engine = little.try_start(|limits| limits.isolation = levels.to_vec()).unwrap();
        let after = Duration::from_secs(2);
        engine.set_test_timeout(after);
        let ran = run(&mut engine, &[0, hanging]);
        assert_eq!(ran.outcomes(), [PASSED, Outcome::TimedOut { after }], "{way:?}");
        assert_eq!(ran.ending, Ending::TestTimedOut);
    }
}

#[test]
fn a_run_that_says_nothing_for_too_long_is_stopped() {
    let little = Little::new(&["passes", "hangs"], WAYS[2].0, WAYS[2].1);
    let limit = |limits: &mut unflake_engine::Limits| {
        limits.run_timeout = Some(Duration::from_millis(500));
    };
    let mut engine = little.try_start(limit).unwrap();
    let ran = run(&mut engine, &[0, 1]);
    assert_eq!((ran.outcomes(), ran.ending), (vec![NOT_RUN; 2], Ending::RunTimedOut));
}

#[test]
fn a_runner_that_stops_at_the_first_failure_blames_nobody() {
    let little = Little::new(
        &["passes", "fails", "passes too"],
        "junit",
        &["--form=junit", "--fail-fast=1", "--report={report}", "{tests}"],
    );
    let mut engine = little.start();
    let ran = run(&mut engine, &[0, 1, 2]);
    assert_eq!((ran.outcomes(), ran.ending), (vec![PASSED, FAILED, NOT_RUN], Ending::CutShort));
}

#[test]
fn a_test_that_the_report_does_not_name_or_names_twice_is_an_error_said_as_such() {
    let tests = ["passes", "passes too"];
    let way = |more| ["--form=junit", "--report={report}", "{tests}", more];
    let little = Little::new(&tests, "junit", &way("--leave-out=passes"));
    let mut engine = little.start();
    let ran = run(&mut engine, &[1, 0]);
    let (why, hint) = ran.void();
    assert_eq!(why, "the report does not name `passes`");
    assert!(hint.contains("it has `passes too` in ``"), "{hint}");
    assert_eq!(ran.outcomes(), [NOT_RUN, NOT_RUN]);
    let little = Little::new(&tests, "junit", &way("--twice=passes"));
    let mut engine = little.start();
    assert_eq!(run(&mut engine, &[0, 1]).void().0, "the report names `passes` twice");
    // A pattern that makes other ids than those that were listed.
    let id =
        |row: &mut unflake_command::settings::Row| row.id = Some("{classname}#{name}".to_owned());
    let little = Little::changed(&tests, "junit", &way("--x=y"), id);
    let mut engine = little.start();
    assert_eq!(run(&mut engine, &[0]).void().0, "the report does not name `passes`");
    let little =
        Little::changed(&["C#passes", "D#fails"], "junit", &["--form=junit", "{tests}"], |row| {
            row.id = Some("{name}".to_owned());
        });
    let mut engine = little.start();
    assert_eq!(
        run(&mut engine, &[1, 0]).outcomes(),
        [PASSED, PASSED],
        "the first word is `D#fails`"
    );
}

#[test]
fn tests_that_are_run_apart_have_a_process_for_each_stretch() {
    let little = Little::new(&["pollutes", "victim", "cleans"], "junit", WAYS[2].1);
    let mut engine = little.start();
    let mut experiment = experiment(3, &[0, 2]);
    experiment.repetition = Repetition::Apart { n_common: 0, target: TestIndex::new(1) };
    let apart = run_as(&mut engine, &experiment);
    assert_eq!(apart.outcomes(), [PASSED, FAILED, PASSED, PASSED]);
}

#[test]
fn strays_and_floods_harm_nobody() {
    for (report, words) in [WAYS[2], WAYS[6]] {
        for levels in [&ALL_LEVELS[..], &[]] {
            let little = Little::new(&["strays", "floods", "passes"], report, words);
            let mut engine = little.try_start(|limits| limits.isolation = levels.to_vec()).unwrap();
            for _ in 0..2 {
                assert_eq!(run(&mut engine, &[0, 1, 2]).outcomes(), [PASSED; 3]);
            }
        }
    }
}

#[test]
fn a_fresh_agent_for_each_run_is_the_same_from_outside() {
    let little = Little::new(&["passes", "segv", "fails"], "tap", &["{tests}"]);
    let mut engine = little.try_start(|limits| limits.start = Start::Cold).unwrap();
    for _ in 0..2 {
        assert_eq!(run(&mut engine, &[2, 0]).outcomes(), [FAILED, PASSED]);
    }
    let crash = Outcome::Crashed { signal: Some(11) };
    assert_eq!(run(&mut engine, &[0, 1, 2]).outcomes(), [PASSED, crash, NOT_RUN]);
}

#[test]
fn each_way_of_not_listing_has_its_own_words() {
    let failed = |list: &[&str]| {
        let list: Vec<String> = list.iter().map(|&word| word.to_owned()).collect();
        let little = Little::changed(&["passes"], "tap", &["{tests}"], |row| row.list = list);
        little.try_start(|_| ()).unwrap_err()
    };
    let error = failed(&["/no/such/program", "--list"]);
    assert!(
        error
            .kind
            .to_string()
            .starts_with("`/no/such/program --list` does not list the tests: No such file"),
        "{}",
        error.kind
    );
    let error = failed(&["sh", "-c", "echo oops >&2; exit 3"]);
    let StartErrorKind::Failed { what, text } = error.kind else { panic!("{}", error.kind) };
    assert!(what.ends_with("does not list the tests: exit status: 3"), "{what}");
    assert_eq!(text, "oops\n");
    let error = failed(&["sh", "-c", "printf 'a\\tb\\n'"]);
    let StartErrorKind::NothingCollected { errors } = error.kind else { panic!("{}", error.kind) };
    assert_eq!(errors[0].0, "line 1 of `list`");
}

#[test]
fn a_runner_that_is_not_there_or_cannot_be_told_so_much_says_so() {
    let little = Little::changed(&["passes"], "tap", &["{tests}"], |row| {
        row.run = vec!["/no/such/runner".to_owned(), "{tests}".to_owned()];
    });
    let mut engine = little.start();
    for levels in [&ALL_LEVELS[..], &[]] {
        engine.set_isolation(levels.to_vec());
        let ran = run(&mut engine, &[0]);
        let (why, _) = ran.void();
        assert!(why.starts_with("cannot run `/no/such/runner`"), "{why}");
    }
    let long = "passes ".to_owned() + &"x".repeat(200_000);
    let little = Little::new(&[&long], "tap", &["{tests}"]);
    let mut engine = little.start();
    let ran = run(&mut engine, &[0]);
    assert!(ran.void().0.contains("name the tests in a file, with `{list}` in `run`"));
}

#[test]
fn ten_thousand_tests_are_one_run() {
    let names: Vec<String> = (0..10_000).map(|number| format!("passes {number}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let little = Little::new(&names, "junit", &["--form=junit", "--list={list}"]);
    let mut engine = little.start();
    let order: Vec<usize> = (0..10_000).rev().collect();
    let ran = run(&mut engine, &order);
    assert!(ran.outcomes().iter().all(|outcome| *outcome == PASSED));
}

#[test]
fn a_plain_run_says_the_same_and_leaves_the_tree_as_it_was() {
    let tests = ["victim", "pollutes", "writes", "finds", "skipped"];
    for (report, words) in WAYS {
        let little = Little::new(&tests, report, words);
        let mut project = little.project.clone();
        let home = little.folder.path().display().to_string();
        project.settings.row.env.insert("HOME".to_owned(), home);
        let little = Little { project, ..little };
        let before = names(little.folder.path());
        let outcomes = |ids: &[&str]| {
            let ran = little.plain().run(ids, &Interrupt::default()).unwrap();
            assert_eq!(ran.ending, PlainEnding::Complete, "{words:?}: {}", ran.output);
            ran.tests.iter().map(|said| said.outcome).collect::<Vec<_>>()
        };
        let behind = if report == "exit" { PASSED } else { FAILED };
        for _ in 0..2 {
            assert_eq!(outcomes(&["pollutes", "victim"]), [PASSED, behind], "{words:?}");
            assert_eq!(outcomes(&["writes", "finds"]), [PASSED, FAILED], "{words:?}");
            assert_eq!(outcomes(&["finds"]), [PASSED], "{words:?}");
        }
        assert_eq!(names(little.folder.path()), before);
    }
}

#[test]
fn a_test_is_run_twice_by_the_plain_runner_where_that_can_repeat() {
    let twice = |repeats, test: &str| {
        let change = |row: &mut unflake_command::settings::Row| row.repeats = repeats;
        let little = Little::changed(&["once", "passes", "segv"], "junit", WAYS[2].1, change);
        let engine = little.start();
        let around = Around {
            collected: engine.collected(),
            interrupt: &Interrupt::default(),
            start_time: Duration::ZERO,
            test_timeout: AMPLE,
        };
        let part: &dyn Part = &little.project;
        part.plain(around).run_twice(&test.parse().unwrap(), Duration::ZERO)
    };
    assert_eq!(twice(true, "once"), Ok(Some(OutcomeKind::Failed)));
    assert_eq!(twice(true, "passes"), Ok(Some(OutcomeKind::Passed)));
    assert_eq!(twice(true, "segv"), Ok(Some(OutcomeKind::Crashed)));
    assert_eq!(twice(false, "once"), Ok(None));
}

#[test]
fn a_plain_run_that_dies_hangs_or_is_interrupted_says_so() {
    let little = Little::new(&["segv", "hangs", "passes"], "junit", WAYS[2].1);
    let mut plain = little.plain();
    let ran = plain.run(&["passes", "segv"], &Interrupt::default()).unwrap();
    assert_eq!(ran.ending, PlainEnding::Died(Exit { code: None, signal: Some(11) }));
    let ran = plain.run(&["segv"], &Interrupt::default()).unwrap();
    assert_eq!(ran.tests[0].outcome, Outcome::Crashed { signal: Some(11) });
    plain.time_max = Duration::from_millis(500);
    let ran = plain.run(&["hangs"], &Interrupt::default()).unwrap();
    assert_eq!(ran.ending, PlainEnding::TimedOut);
}
