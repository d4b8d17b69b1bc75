//! Real projects, a real Maven, a real Gradle, a real Java, the real agent.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests are outside of test functions, where clippy.toml allows it"
)]

mod archive;
mod calls;
mod common;
mod gradle;
mod state;

use std::time::Duration;

use common::{
    AMPLE, each_kind_behaves_as_planted, find, run, run_order, run_with, shop, start, start_with,
    suite, surroundings, turn,
};
use unflake_engine::{Ending, Interrupt, PlainEnding};
use unflake_junit::{Project, ProjectError};
use unflake_model::{Order, Outcome, OutcomeKind, Phase, Repetition};

pub(crate) const PASSED: Outcome = Outcome::Passed;
const SKIPPED: Outcome = Outcome::Skipped;
const NOT_RUN: Outcome = Outcome::NotRun;
pub(crate) const FAILED: Outcome = Outcome::Failed { phase: Phase::Call };

#[test]
fn every_module_with_tests_is_found_and_one_that_does_not_compile_is_named() {
    let project = &shop().project;
    let names: Vec<&str> = project.modules.iter().map(|module| module.name.as_str()).collect();
    assert_eq!(names, ["old", "new", "mixed", "state", "calls", "hazard"]);
    let [broken] = project.left_out.as_slice() else { panic!("{:?}", project.left_out) };
    assert_eq!(broken.module, "broken");
    assert!(broken.why.contains("Broken.java:[4,13]"), "{}", broken.why);
}

#[test]
fn the_original_order_comes_out_as_under_surefire() {
    for (module, n_tests) in [("old", 22), ("new", 22), ("mixed", 5)] {
        let prepared = shop().prepare(module);
        let mut engine = start(&prepared);
        let suite = suite(&engine);
        assert_eq!(prepared.ids().count(), n_tests, "{module}");
        let ours = run_order(&mut engine, Order::original(&suite), Repetition::Once);
        assert_eq!(ours.ending, Ending::Complete);
        let _turn = turn();
        let theirs = shop().plain(&prepared).run_suite(&Interrupt::default()).unwrap();
        assert_eq!(theirs.ending, PlainEnding::Complete, "{}", theirs.output);
        assert!(theirs.is_in_order, "{}", theirs.output);
        assert_eq!(theirs.strangers, [""; 0]);
        for ((id, ours), theirs) in prepared.ids().zip(ours.outcomes()).zip(theirs.tests) {
            // This one falls as it likes.
            assert!(ours == theirs.outcome || id.contains("DiceTest"), "{id} {ours:?} {theirs:?}");
        }
    }
}

#[test]
fn order_dependent_tests_of_each_kind_behave_as_planted() {
    for module in ["old", "new"] {
        each_kind_behaves_as_planted(&shop().prepare(module));
    }
}

#[test]
fn a_pair_of_junit_4_and_5_is_run_in_both_orders() {
    let prepared = shop().prepare("mixed");
    let mut engine = start(&prepared);
    let (polluter, victim) = ("CheckoutTest#paysInDollars", "AmountTest#isShownInEuro");
    assert_eq!(run(&mut engine, &[polluter, victim]).outcomes(), [PASSED, FAILED]);
    assert_eq!(run(&mut engine, &[victim, polluter]).outcomes(), [PASSED, PASSED]);
}

#[test]
fn methods_are_run_in_any_order_also_where_the_class_fixes_it() {
    let in_class = |names: [&str; 5]| names.map(|name| format!("FixedOrderTest#{name}"));
    for module in ["old", "new"] {
        let prepared = shop().prepare(module);
        let mut engine = start(&prepared);
        let names = in_class(["b", "a", "e", "d", "c"]);
        let ran = run(&mut engine, &names.each_ref().map(String::as_str));
        assert_eq!(ran.outcomes(), [FAILED, PASSED, PASSED, SKIPPED, SKIPPED], "{module}");
        let (message, text) = &ran.failures[0];
        assert!(message.contains("b before a") && !message.contains('\n'), "{message}");
        assert!(text.contains("more") && text.contains("FixedOrderTest.java:"), "{text}");
        assert!(!text.contains("unflake"), "{text}");
    }
}

#[test]
fn a_class_is_set_up_once_for_tests_that_stand_together_and_again_for_others() {
    for module in ["old", "new"] {
        let prepared = shop().prepare(module);
        let mut engine = start(&prepared);
        let names = ["FixedOrderTest#a", "FixedOrderTest#b", "SettingsTest#areReset"];
        let between =
            Repetition::Between { test: find(&suite(&engine), "FixedOrderTest#e"), stride: 1 };
        let ran = run_with(&mut engine, &names, between);
        let expected = [PASSED, PASSED, PASSED, PASSED, PASSED, FAILED];
        assert_eq!(ran.outcomes(), expected, "{module}: {:?}", ran.failures);
        let twice = run_with(&mut engine, &names[..2], Repetition::Twice);
        assert_eq!(twice.outcomes(), [PASSED; 4], "{module}");
    }
}

#[test]
fn parameters_invocations_overloads_and_nested_classes_have_names_that_maven_knows() {
    let prepared = shop().prepare("old");
    let mut engine = start(&prepared);
    let names = ["RateTest#isLow[1]", "RateTest#isPositive[0]", "RateTest#isLow[0]"];
    assert_eq!(run(&mut engine, &names).outcomes(), [FAILED, PASSED, PASSED]);
    let names = ["AncientTest#testFew", "AncientTest#testCounts"];
    let twice = run_with(&mut engine, &names, Repetition::Twice);
    assert_eq!(twice.outcomes(), [PASSED; 4]);
    let prepared = shop().prepare("new");
    let mut engine = start(&prepared);
    let names = ["$Inner#second", "#h", "$Inner#first", "#g", "#f"]
        .map(|name| format!("FixedOrderTest{name}"));
    let ran = run(&mut engine, &names.each_ref().map(String::as_str));
    assert_eq!(ran.outcomes(), [PASSED, PASSED, PASSED, PASSED, FAILED], "{:?}", ran.failures);
}

#[test]
fn what_fails_around_tests_is_an_error_of_all_or_of_the_last() {
    let prepared = shop().prepare("new");
    let mut engine = start(&prepared);
    let names = ["BrokenSetupTest#two", "BrokenSetupTest#one"];
    assert_eq!(run(&mut engine, &names).outcomes(), [Outcome::Error; 2]);
    let names = ["BrokenTeardownTest#two", "BrokenTeardownTest#one", "SettingsTest#areReset"];
    let teardown = Outcome::Failed { phase: Phase::TearDown };
    assert_eq!(run(&mut engine, &names).outcomes(), [PASSED, teardown, PASSED]);
}

#[test]
fn a_process_that_dies_or_hangs_is_the_fault_of_the_test_under_way() {
    let prepared = shop().prepare("hazard");
    let mut engine = start(&prepared);
    for name in ["exits", "crashes"] {
        let names = ["calm", name, "leavesAThread"].map(|name| format!("HazardTest#{name}"));
        let ran = run(&mut engine, &names.each_ref().map(String::as_str));
        let outcomes = ran.outcomes();
        assert_eq!((outcomes[0], outcomes[2]), (PASSED, NOT_RUN), "{name}");
        assert_eq!(outcomes[1].kind(), OutcomeKind::Crashed, "{name}");
        assert!(matches!(ran.ending, Ending::Died(_)), "{name}: {:?}", ran.ending);
    }
    // Jupiter gives up when memory does.
    let ran = run(&mut engine, &["HazardTest#fillsMemory", "HazardTest#calm"]);
    assert_eq!((ran.outcomes(), ran.ending), (vec![FAILED, NOT_RUN], Ending::CutShort));
    let names = ["leavesAnInterruptedThread", "closesTheStandardStreams", "leavesAThread", "calm"]
        .map(|name| format!("HazardTest#{name}"));
    let ran = run(&mut engine, &names.each_ref().map(String::as_str));
    assert_eq!((ran.outcomes(), ran.ending), (vec![PASSED; 4], Ending::Complete));
    let limit = Duration::from_secs(5);
    let mut engine = start_with(&prepared, |limits| limits.test_timeout = limit);
    for name in ["hangs", "spins", "deadlocks"] {
        let ran = run(&mut engine, &[&format!("HazardTest#{name}"), "HazardTest#calm"]);
        assert_eq!(ran.outcomes(), [Outcome::TimedOut { after: limit }, NOT_RUN], "{name}");
    }
    let ran = run(&mut engine, &["HazardTest#calm"]);
    assert_eq!(ran.outcomes(), [PASSED], "the rest goes on");
}

#[test]
fn the_command_that_is_shown_shows_it() {
    let prepared = shop().prepare("old");
    let plain = shop().plain(&prepared);
    let pair = ["com.acme.CheckoutTest#paysInDollars", "com.acme.AmountTest#isShownInEuro"];
    let command = plain.command(&pair);
    assert!(command.starts_with("mvn test -pl old -am "), "{command}");
    let ran = {
        let _turn = turn();
        plain.run_order(&pair, &Interrupt::default()).unwrap().unwrap()
    };
    assert_eq!(ran.ending, PlainEnding::Complete, "{}", ran.output);
    assert!(ran.is_in_order, "{}", ran.output);
    assert_eq!(ran.tests.iter().map(|t| t.outcome).collect::<Vec<_>>(), [PASSED, FAILED]);
    let fixed = ["com.acme.FixedOrderTest#b", "com.acme.FixedOrderTest#a"];
    assert!(!plain.can_express(&fixed));
    let (status, output) = paste(&plain.command(&fixed));
    assert_eq!(status, Some(1), "{output}");
    assert!(output.contains("failed  com.acme.FixedOrderTest#b"), "{output}");
    assert!(output.contains("passed  com.acme.FixedOrderTest#a"), "{output}");
}

pub(crate) fn paste(command: &str) -> (Option<i32>, String) {
    let line = unflake_engine::process::CommandLine {
        program: "sh".into(),
        arguments: vec!["-c".into(), command.into()],
        current_dir: "/".into(),
        env: Vec::new(),
    };
    let done = unflake_engine::process::run_to_end(&line, AMPLE, &Interrupt::default()).unwrap();
    (done.exit.code, done.stdout + &done.stderr)
}

#[test]
fn a_folder_without_a_build_or_without_tests_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let around = surroundings(folder.path(), folder.path());
    let error = |around| Project::find(around, &Interrupt::default()).unwrap_err();
    assert!(matches!(error(&around), ProjectError::NoBuild(_)));
}
