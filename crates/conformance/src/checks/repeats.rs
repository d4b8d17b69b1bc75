//! Tests that are run more than once in a run.

use unflake_engine::Ending;
use unflake_model::{Outcome, Repetition};

use super::orders::{diarists, diary, pages};
use crate::fixture::{Fixture, Role, Scene};
use crate::trial::{Departure, FAILED, PASSED, Trial, excluded, outcomes, same};

pub(crate) fn twice(fixture: &dyn Fixture) -> Result<(), Departure> {
    let mut trial = Trial::open(fixture, Scene::Calm)?;
    let test = trial.player(Role::SpoilsItself)?;
    let ran = trial.repeat(&[test], Repetition::Twice)?;
    let repeats = trial.subject.abilities().control.repeats;
    // Who cannot repeat says so of the second attempt, and the first stands.
    let second = if repeats { FAILED } else { Outcome::Skipped };
    trial.hold(&ran, &[test, test], &[PASSED, second])?;
    let attempts: Vec<usize> = ran.told.iter().map(|told| told.attempt).collect();
    same("the numbers of the attempts", &vec![0, 1], &attempts)?;
    trial.expect(&[test], &[PASSED])?;
    if !repeats {
        return Ok(());
    }
    let tests = diarists(&trial)?;
    let ran = trial.repeat(&tests[..2], Repetition::Twice)?;
    same("the diary of two tests, each twice", &pages(&[1, 1, 2, 2]), &diary(&ran)?)
}

pub(crate) fn between(fixture: &dyn Fixture) -> Result<(), Departure> {
    let mut trial = Trial::open(fixture, Scene::Calm)?;
    let tests = diarists(&trial)?;
    let again = Repetition::Between { test: tests[2], stride: 1 };
    let ran = trial.repeat(&tests[..2], again)?;
    if trial.subject.abilities().control.repeats {
        return same("the diary", &pages(&[1, 3, 2, 3]), &diary(&ran)?);
    }
    let is_refused = matches!(ran.ending, Ending::NotStarted { .. });
    same(format!("whether it was refused, given {:?}", ran.ending), &true, &is_refused)?;
    same("the outcomes", &vec![Outcome::NotRun; 4], &outcomes(&ran))
}

pub(crate) fn apart(fixture: &dyn Fixture) -> Result<(), Departure> {
    let mut trial = Trial::open(fixture, Scene::Calm)?;
    if !trial.subject.abilities().control.restores {
        return excluded("it does not put state back between tests");
    }
    let tests = diarists(&trial)?;
    let apart = Repetition::Apart { n_common: 1, target: tests[3] };
    let ran = trial.repeat(&tests[..3], apart)?;
    let expected = [pages(&[1, 2, 4]), pages(&[1, 3, 4])].concat();
    same("the diary", &expected, &diary(&ran)?)
}
