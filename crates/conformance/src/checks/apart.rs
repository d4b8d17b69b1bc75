//! What reaches from one test to another, and from one run to another.

use unflake_engine::{Level, Start};
use unflake_model::{Outcome, TestIndex};

use super::outcomes;
use crate::experiments::once;
use crate::fixture::{Apart, Fixture, Role, Scene, Terms};
use crate::trial::{Departure, FAILED, PASSED, Trial, excluded, same, wrong};

/// More than run at once, so that some wait and some are asked for ahead.
const N_RUNS: u64 = 6;

pub(crate) fn state(fixture: &dyn Fixture) -> Result<(), Departure> {
    tour(&mut Trial::open(fixture, Scene::Calm)?)
}

/// Each kind of dependency, before and after runs in which the state was spoiled.
fn tour(trial: &mut Trial<'_>) -> Result<(), Departure> {
    let tests = trial.players(&[
        Role::Polluter,
        Role::Cleaner,
        Role::Victim,
        Role::Setter,
        Role::Brittle,
    ])?;
    let [polluter, cleaner, victim, setter, brittle] = tests[..] else {
        return wrong("a role has no test");
    };
    for (tests, expected) in [
        (&[victim][..], &[PASSED][..]),
        (&[polluter, victim], &[PASSED, FAILED]),
        (&[victim], &[PASSED]),
        (&[polluter, cleaner, victim], &[PASSED; 3]),
        (&[setter, brittle], &[PASSED, PASSED]),
        (&[brittle], &[FAILED]),
        (&[brittle, setter], &[FAILED, PASSED]),
    ] {
        if trial.is_possible(tests) {
            trial.expect(tests, expected)?;
        }
    }
    Ok(())
}

pub(crate) fn files(fixture: &dyn Fixture) -> Result<(), Departure> {
    let mut trial = Trial::open(fixture, Scene::Calm)?;
    if !trial.subject.abilities().isolation.contains(&Level::Tree) {
        return excluded("its runs share the work tree");
    }
    let tests = trial.players(&[Role::Writes, Role::Finds])?;
    for _ in 0..2 {
        trial.expect(&tests, &[PASSED, FAILED])?;
        trial.expect(&tests[1..], &[PASSED])?;
    }
    Ok(())
}

pub(crate) fn levels(fixture: &dyn Fixture) -> Result<(), Departure> {
    let trial = Trial::open(fixture, Scene::Calm)?;
    let offered = trial.subject.abilities().isolation;
    if offered.is_empty() {
        return excluded("its runs cannot be isolated");
    }
    drop(trial);
    let each = offered.iter().map(|level| vec![*level]);
    for asked in each.chain([Vec::new(), offered.to_vec()]) {
        let terms = Terms { isolation: Apart::By(asked.clone()), ..Terms::default() };
        let mut trial = Trial::open_on(fixture, Scene::Calm, &terms)?;
        let test = trial.player(Role::Passes)?;
        let ran = trial.expect(&[test], &[PASSED])?;
        same("the levels that were refused", &Vec::new(), &ran.isolation.refused)?;
        let mut applied = ran.isolation.applied;
        applied.sort_unstable();
        let mut asked = asked;
        asked.sort_unstable();
        same("the levels that hold", &asked, &applied)?;
    }
    Ok(())
}

pub(crate) fn at_once(fixture: &dyn Fixture) -> Result<(), Departure> {
    let terms = Terms { jobs: 2, ..Terms::default() };
    let mut trial = Trial::open_on(fixture, Scene::Calm, &terms)?;
    let pair = trial.players(&[Role::Polluter, Role::Victim])?;
    let kinds: [(&[TestIndex], &[Outcome]); 2] =
        [(&pair, &[PASSED, FAILED]), (&pair[1..], &[PASSED])];
    let asked: Vec<_> = (0..N_RUNS).zip(kinds.iter().cycle()).collect();
    let runs: Vec<_> = asked.iter().map(|(run, (tests, _))| once(*run, *tests)).collect();
    let ran = trial.make(&runs)?;
    for ((_, (tests, expected)), ran) in asked.iter().zip(&ran) {
        trial.hold(ran, tests, expected)?;
    }
    Ok(())
}

pub(crate) fn afresh(fixture: &dyn Fixture) -> Result<(), Departure> {
    let terms = Terms { start: Start::Cold, ..Terms::default() };
    tour(&mut Trial::open_on(fixture, Scene::Calm, &terms)?)?;
    outcomes::hangs(fixture, Start::Cold)
}
