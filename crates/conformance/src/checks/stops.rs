//! What is left of a test that hangs when nobody waits for it any more.

use crate::fixture::{Apart, Fixture, Role, Scene, Stopped, Terms};
use crate::trial::{Departure, PASSED, Trial, player, same, wrong};

/// The pipe by which the test is known to be alive is another one in a work tree of its own.
fn open(fixture: &dyn Fixture) -> Result<Trial<'_>, Departure> {
    player(fixture, Role::Hangs)?;
    let terms = Terms { isolation: Apart::By(Vec::new()), ..Terms::default() };
    Trial::open_on(fixture, Scene::Wild, &terms)
}

pub(crate) fn interrupt(fixture: &dyn Fixture) -> Result<(), Departure> {
    let mut trial = open(fixture)?;
    let tests = trial.players(&[Role::Hangs, Role::IsCalm])?;
    let stopped = trial.subject.stop(tests[0]).or_else(wrong)?;
    let expected = Stopped { is_idle: true, is_gone: true };
    same("what is left after an interrupt", &expected, &stopped)?;
    trial.expect(&tests[1..], &[PASSED])?;
    Ok(())
}

pub(crate) fn leave(fixture: &dyn Fixture) -> Result<(), Departure> {
    let trial = open(fixture)?;
    let hanging = trial.player(Role::Hangs)?;
    let is_gone = trial.subject.leave(hanging).or_else(wrong)?;
    same("whether the test is gone with the engine", &true, &is_gone)
}
