//! Which functions tests call, against what the code of the tests says.

use unflake_model::{Calls, Look};

use crate::common::{market, run, run_watched, shop, start, start_tracing};
use crate::{FAILED, PASSED};

fn traced() -> Look {
    Look::at_calls(Calls::Noted)
}

#[test]
fn functions_are_told_of_the_test_that_calls_them() {
    let prepared = shop().prepare("calls");
    let mut engine = start_tracing(shop(), &prepared);
    let names = ["callsItsOwn", "takesOneBranch", "asksJava", "handsFunctionsOn"];
    let names = [&names[..], &["startsAThread", "hasParts", "loadsByItself", "fails"]];
    let names: Vec<String> = names.concat().iter().map(|it| format!("CallsTest#{it}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let ran = run_watched(&mut engine, &names, traced());
    let expected = [[PASSED; 7].as_slice(), &[FAILED]].concat();
    assert_eq!(ran.outcomes(), expected, "{:?}", ran.failures);
    let told = names
        .iter()
        .zip(&ran.calls)
        .map(|(name, calls)| format!("{name}\n  {}\n\n", calls.join("\n  ")));
    insta::assert_snapshot!("calls", told.collect::<String>());
}

#[test]
fn tests_of_junit_4_are_traced_and_so_are_those_that_gradle_builds() {
    for built in [shop(), market()] {
        let prepared = built.prepare("old");
        let mut engine = start_tracing(built, &prepared);
        let ran = run_watched(&mut engine, &["DiceTest#fallsWell"], traced());
        let called = |name: &str| ran.calls[0].iter().any(|it| it == name);
        assert!(called("java.util:Random.nextBoolean()"), "{:?}", ran.calls);
    }
}

#[test]
fn a_run_that_is_not_traced_tells_nothing_and_neither_does_an_engine_that_cannot() {
    let prepared = shop().prepare("calls");
    let name = ["CallsTest#callsItsOwn"];
    let mut engine = start_tracing(shop(), &prepared);
    assert_eq!(run_watched(&mut engine, &name, traced()).calls.len(), 1);
    assert_eq!(run_watched(&mut engine, &name, Look::NOTHING).calls.len(), 0);
    let ran = run(&mut start(&prepared), &name);
    assert_eq!((ran.outcomes(), ran.calls.len()), (vec![PASSED], 0));
}
