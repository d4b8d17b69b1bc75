//! The same sources as under Maven, built by Gradle.

use std::collections::BTreeMap;
use std::fs;

use unflake_engine::{Ending, Interrupt, PlainEnding};
use unflake_junit::{Project, ProjectError};
use unflake_model::{Order, Outcome, Repetition};

use crate::common::{
    each_kind_behaves_as_planted, market, run_order, start, suite, surroundings, turn,
};
use crate::{FAILED, PASSED, paste};

#[test]
fn every_project_with_tests_is_found_and_one_that_does_not_compile_is_named() {
    let project = &market().project;
    let mut names: Vec<&str> = project.modules.iter().map(|module| module.name.as_str()).collect();
    names.sort_unstable();
    assert_eq!(names, ["choices", "new", "old"]);
    let [broken] = project.left_out.as_slice() else { panic!("{:?}", project.left_out) };
    assert_eq!(broken.module, "broken");
    assert!(broken.why.contains("Broken.java:4: error: "), "{}", broken.why);
}

#[test]
fn the_original_order_comes_out_as_under_gradle_which_reports_the_same() {
    let prepared = market().prepare("old");
    let mut engine = start(&prepared);
    let suite = suite(&engine);
    assert_eq!(prepared.ids().count(), 22);
    let ours = run_order(&mut engine, Order::original(&suite), Repetition::Once);
    assert_eq!(ours.ending, Ending::Complete);
    let _turn = turn();
    let theirs = market().plain(&prepared).run_suite(&Interrupt::default()).unwrap();
    assert_eq!(theirs.ending, PlainEnding::Complete, "{}", theirs.output);
    assert!(theirs.is_in_order, "{}", theirs.output);
    assert_eq!(theirs.strangers, [""; 0]);
    let reported = reported(&prepared.module.folder.join("build/test-results/test"));
    for ((id, ours), theirs) in prepared.ids().zip(ours.outcomes()).zip(theirs.tests) {
        // This one falls as it likes.
        assert!(ours == theirs.outcome || id.contains("DiceTest"), "{id} {ours:?} {theirs:?}");
        let is_failed = theirs.outcome == FAILED;
        assert_eq!(reported.get(id), Some(&is_failed), "{id}");
    }
}

/// Whether each test failed, by Gradle's reports.
fn reported(folder: &std::path::Path) -> BTreeMap<String, bool> {
    let mut tests = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|ending| ending == "xml") {
            let xml = fs::read_to_string(path).unwrap();
            for case in xml.split("<testcase ").skip(1) {
                let value = |name: &str| {
                    let (_, after) = case.split_once(&format!("{name}=\"")).unwrap();
                    after.split('"').next().unwrap()
                };
                let case_only = case.split("</testcase>").next().unwrap();
                let id = format!("{}#{}", value("classname"), value("name"));
                tests.insert(id, case_only.contains("<failure "));
            }
        }
    }
    tests
}

#[test]
fn order_dependent_tests_of_each_kind_behave_as_planted_with_junit_4_and_5() {
    for module in ["old", "new"] {
        each_kind_behaves_as_planted(&market().prepare(module));
    }
}

/// Classes come as Gradle finds them, so of two orders one can be shown by Gradle.
#[test]
fn the_command_that_is_shown_shows_it_and_gradle_runs_what_it_can_order() {
    let prepared = market().prepare("old");
    let plain = market().plain(&prepared);
    let pair = ["com.acme.CheckoutTest#paysInDollars", "com.acme.AmountTest#isShownInEuro"];
    let reverse = [pair[1], pair[0]];
    assert_ne!(plain.can_express(&pair), plain.can_express(&reverse));
    let (shown, expected) = if plain.can_express(&pair) {
        (pair, [PASSED, FAILED])
    } else {
        (reverse, [PASSED, PASSED])
    };
    let command = plain.command(&shown);
    assert!(command.starts_with("gradle :old:cleanTest :old:test --tests com.acme."), "{command}");
    let _turn = turn();
    // What failed in the last run would be run first.
    for _ in 0..2 {
        let ran = plain.run_order(&shown, &Interrupt::default()).unwrap().unwrap();
        assert_eq!(ran.ending, PlainEnding::Complete, "{}", ran.output);
        assert!(ran.is_in_order, "{}", ran.output);
        let outcomes: Vec<Outcome> = ran.tests.iter().map(|test| test.outcome).collect();
        assert_eq!(outcomes, expected);
    }
    let fixed = ["com.acme.FixedOrderTest#b", "com.acme.FixedOrderTest#a"];
    assert!(!plain.can_express(&fixed));
    let (status, output) = paste(&plain.command(&fixed));
    assert_eq!(status, Some(1), "{output}");
    assert!(output.contains("failed  com.acme.FixedOrderTest#b"), "{output}");
    let parameters = ["com.acme.RateTest#isLow[1]"];
    let ran = plain.run_order(&parameters, &Interrupt::default()).unwrap().unwrap();
    assert_eq!(ran.tests[0].outcome, FAILED, "{}", ran.output);
    assert_eq!(ran.strangers, [""; 0]);
}

#[test]
fn a_build_without_tests_or_with_a_mistake_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let around = surroundings(folder.path(), folder.path());
    let error = |text: &str| {
        fs::write(folder.path().join("build.gradle"), text).unwrap();
        Project::find(&around, &Interrupt::default()).unwrap_err()
    };
    let empty = error("apply plugin: 'java'\n");
    assert!(matches!(empty, ProjectError::NoTests { .. }), "{empty:?}");
    let wrong = error("apply plugin: 'no-such-plugin'\n");
    assert!(wrong.to_string().contains("no-such-plugin"), "{wrong:?}");
}
