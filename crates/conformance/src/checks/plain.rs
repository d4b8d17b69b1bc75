//! The project's own runner: does it say what the agent says?

use std::time::Duration;

use unflake_adapter::Outcomes;
use unflake_model::{OutcomeKind, Repetition, TestId, TestIndex};

use crate::fixture::{Fixture, Role, Scene};
use crate::trial::{Departure, FAILED, PASSED, Trial, excluded, outcomes, same, wrong};

/// The tests take no time.
const NO_TIME: Duration = Duration::ZERO;

pub(crate) fn orders(fixture: &dyn Fixture) -> Result<(), Departure> {
    let mut trial = Trial::open(fixture, Scene::Calm)?;
    let tests = trial.players(&[Role::Passes, Role::Polluter, Role::Cleaner, Role::Victim])?;
    let [passes, polluter, cleaner, victim] = tests[..] else {
        return wrong("a role has no test");
    };
    let mut orders = vec![vec![polluter, victim], vec![victim, polluter]];
    if !trial.subject.plain().is_dear() {
        orders.extend([vec![victim], vec![polluter, cleaner, victim], vec![victim, passes]]);
    }
    orders.retain(|order| trial.is_possible(order));
    let n_orders = orders.len();
    for tests in orders {
        agrees(&mut trial, &tests)?;
    }
    same("whether there was an order to run", &true, &(0 < n_orders))
}

/// Whether the plain runner says of an order what the agent says, and how to do it by hand.
fn agrees(trial: &mut Trial<'_>, tests: &[TestIndex]) -> Result<(), Departure> {
    let ours = kinds(trial, tests)?;
    let ids: Vec<&TestId> = tests.iter().map(|test| trial.suite.id(*test)).collect();
    let plain = trial.subject.plain();
    let what = format!("a plain run of {}", trial.names(tests));
    let theirs = plain.run(&ids, NO_TIME).or_else(|why| wrong(format!("{what}: {why}")))?;
    same(format!("the outcomes of {what}"), &ours, &theirs)?;
    let command = plain.command(&ids).unwrap_or_default();
    same(format!("whether there is a command for {what}"), &false, &command.trim().is_empty())
}

/// How tests end in a run of ours.
fn kinds(trial: &mut Trial<'_>, tests: &[TestIndex]) -> Result<Outcomes, Departure> {
    let ran = trial.run(tests)?;
    let ended = tests.iter().zip(outcomes(&ran));
    Ok(ended.map(|(test, outcome)| (trial.suite.id(*test).clone(), outcome.kind())).collect())
}

pub(crate) fn suite(fixture: &dyn Fixture) -> Result<(), Departure> {
    let mut trial = Trial::open(fixture, Scene::Calm)?;
    let tests: Vec<TestIndex> = trial.suite.tests().collect();
    let ours = kinds(&mut trial, &tests)?;
    let theirs = trial.subject.plain().run_suite(NO_TIME).or_else(wrong)?;
    let differing = |kinds: &Outcomes, others: &Outcomes| -> Outcomes {
        let others = |id: &TestId| others.get(id).copied();
        let kinds = kinds.iter().filter(|(id, kind)| others(id) != Some(**kind));
        kinds.map(|(id, kind)| (id.clone(), *kind)).collect()
    };
    let (expected, came) = (differing(&ours, &theirs), differing(&theirs, &ours));
    same("the outcomes that differ from ours", &expected, &came)
}

pub(crate) fn names(fixture: &dyn Fixture) -> Result<(), Departure> {
    let mut trial = Trial::open(fixture, Scene::Odd)?;
    let mut tests = Vec::new();
    for odd in fixture.odd() {
        let test = trial.find(&odd.id)?;
        if odd.is_typed {
            tests.push(test);
        } else {
            let id = trial.suite.id(test);
            let is_refused = trial.subject.plain().run(&[id], NO_TIME).is_err();
            same(format!("whether a plain run of `{id}` is refused"), &true, &is_refused)?;
        }
    }
    agrees(&mut trial, &tests)
}

pub(crate) fn twice(fixture: &dyn Fixture) -> Result<(), Departure> {
    let mut trial = Trial::open(fixture, Scene::Calm)?;
    for (role, outcome) in [(Role::SpoilsItself, FAILED), (Role::Passes, PASSED)] {
        let test = trial.player(role)?;
        let id = trial.suite.id(test).clone();
        let came = trial.subject.plain().run_twice(&id, NO_TIME).or_else(wrong)?;
        let Some(came) = came else {
            return excluded("its plain runner does not tell two attempts apart");
        };
        let ran = trial.repeat(&[test], Repetition::Twice)?;
        trial.hold(&ran, &[test, test], &[PASSED, outcome])?;
        same::<OutcomeKind>(format!("a plain run of `{id}`, twice"), &outcome.kind(), &came)?;
        let command = trial.subject.plain().command_twice(&id).unwrap_or_default();
        same(format!("whether `{id}` can be typed twice"), &false, &command.trim().is_empty())?;
    }
    Ok(())
}
