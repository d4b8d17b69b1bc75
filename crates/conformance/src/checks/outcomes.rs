//! How tests end, one kind at a time and side by side.

use std::time::Duration;

use unflake_engine::{Ending, Failure, Start};
use unflake_model::{Outcome, Phase};

use crate::fixture::{AMPLE, Fixture, ON_STDERR, ON_STDOUT, Ran, Role, SAID, Scene, Terms};
use crate::trial::{Departure, FAILED, PASSED, Trial, outcomes, same, wrong};

/// Soon over, and yet never before a test that hangs for ever.
const SOON: Duration = Duration::from_millis(500);

const TORN_DOWN: Outcome = Outcome::Failed { phase: Phase::TearDown };

pub(crate) fn passed(fixture: &dyn Fixture) -> Result<(), Departure> {
    let failure = ends(fixture, Role::Passes, PASSED)?;
    same("what a test that passes complains about", &String::new(), &failure.message)
}

pub(crate) fn failed(fixture: &dyn Fixture) -> Result<(), Departure> {
    complains(&ends(fixture, Role::Fails, FAILED)?)
}

pub(crate) fn set_up(fixture: &dyn Fixture) -> Result<(), Departure> {
    complains(&ends(fixture, Role::BreaksInSetUp, Outcome::Error)?)
}

pub(crate) fn clean_up(fixture: &dyn Fixture) -> Result<(), Departure> {
    complains(&ends(fixture, Role::BreaksInCleanUp, TORN_DOWN)?)
}

pub(crate) fn skipped(fixture: &dyn Fixture) -> Result<(), Departure> {
    let failure = ends(fixture, Role::Skipped, Outcome::Skipped)?;
    contains("why it was skipped", &failure.message, SAID)
}

/// A test alone, and what it had to say.
fn ends(fixture: &dyn Fixture, role: Role, outcome: Outcome) -> Result<Failure, Departure> {
    let mut trial = Trial::open(fixture, Scene::Calm)?;
    let test = trial.player(role)?;
    let ran = trial.expect(&[test], &[outcome])?;
    let told = ran.told.into_iter().next();
    told.map_or_else(|| wrong("nothing was told of the test"), |told| Ok(told.failure))
}

fn complains(failure: &Failure) -> Result<(), Departure> {
    let is_line = !failure.message.trim().is_empty() && !failure.message.contains('\n');
    same("whether the complaint is a line", &true, &is_line)
}

fn contains(what: &str, text: &str, part: &str) -> Result<(), Departure> {
    if text.contains(part) {
        return Ok(());
    }
    wrong(format!("{what}: expected `{part}` in it, came {text:?}"))
}

pub(crate) fn together(fixture: &dyn Fixture) -> Result<(), Departure> {
    let mut trial = Trial::open(fixture, Scene::Calm)?;
    let mut ends = Vec::new();
    for (role, outcome) in [
        (Role::Passes, PASSED),
        (Role::Fails, FAILED),
        (Role::BreaksInSetUp, Outcome::Error),
        (Role::BreaksInCleanUp, TORN_DOWN),
        (Role::Skipped, Outcome::Skipped),
    ] {
        // Those that there cannot be are excluded one by one.
        match trial.player(role) {
            Ok(test) => ends.push((test, outcome)),
            Err(Departure::Excluded(_)) => (),
            Err(departure) => return Err(departure),
        }
    }
    ends.sort_by_key(|(test, _)| *test);
    let backwards = ends.iter().rev().copied().collect();
    let (mut n_run, mut n_kinds) = (0, 0);
    for ends in [ends, backwards] {
        let (tests, expected): (Vec<_>, Vec<_>) = ends.into_iter().unzip();
        n_kinds = expected.len();
        if trial.is_possible(&tests) {
            trial.expect(&tests, &expected)?;
            n_run += 1;
        }
    }
    same("whether two outcomes stood beside each other", &true, &(0 < n_run && 1 < n_kinds))
}

pub(crate) fn told(fixture: &dyn Fixture) -> Result<(), Departure> {
    let mut trial = Trial::open(fixture, Scene::Calm)?;
    let mut tests = trial.players(&[Role::Fails, Role::Passes, Role::SpoilsItself])?;
    if !trial.is_possible(&tests) {
        tests.sort_unstable();
    }
    let ran = trial.run(&tests)?;
    let said: Vec<_> = ran.attempts.iter().map(|(test, outcome)| (*test, 0, *outcome)).collect();
    let told = ran.told.iter().map(|told| (told.test, told.attempt, told.outcome)).collect();
    same("what was told on the way", &said, &told)
}

pub(crate) fn output(fixture: &dyn Fixture) -> Result<(), Departure> {
    let failure = ends(fixture, Role::Prints, FAILED)?;
    contains("the message", &failure.message, SAID)?;
    contains("the standard output", &failure.stdout, ON_STDOUT)?;
    // A runner that reports nothing of either has both in one.
    contains("the standard error", &(failure.stderr + &failure.stdout), ON_STDERR)
}

pub(crate) fn timed_out(fixture: &dyn Fixture) -> Result<(), Departure> {
    hangs(fixture, Start::Fork)
}

/// A test that hangs is stopped, and the next run is as ever.
pub(super) fn hangs(fixture: &dyn Fixture, start: Start) -> Result<(), Departure> {
    let terms = Terms { start, ..Terms::default() };
    let mut trial = Trial::open_on(fixture, Scene::Wild, &terms)?;
    let tests = trial.players(&[Role::Hangs, Role::StaysCalm])?;
    trial.subject.limit(SOON);
    let ran = trial.run(&tests)?;
    let expected = vec![Outcome::TimedOut { after: SOON }, Outcome::NotRun];
    same("the outcomes", &expected, &outcomes(&ran))?;
    same("the end of the run", &Ending::TestTimedOut, &ran.ending)?;
    says_nothing_of_the_last(&ran)?;
    trial.subject.limit(AMPLE);
    trial.expect(&tests[1..], &[PASSED])?;
    Ok(())
}

pub(crate) fn crashed(fixture: &dyn Fixture) -> Result<(), Departure> {
    dies(fixture, Role::Crashes)
}

pub(crate) fn exited(fixture: &dyn Fixture) -> Result<(), Departure> {
    dies(fixture, Role::Exits)
}

/// A test that ends its process is to blame; what was before it stands, what was to come after it
/// says nothing, and the next run is as ever.
fn dies(fixture: &dyn Fixture, role: Role) -> Result<(), Departure> {
    let mut trial = Trial::open(fixture, Scene::Wild)?;
    let tests = trial.players(&[Role::IsCalm, role, Role::StaysCalm])?;
    let before = if fixture.tells_at_end() { Outcome::NotRun } else { PASSED };
    for (tests, before) in [(&tests[..], Some(before)), (&tests[1..], None)] {
        let ran = trial.run(tests)?;
        let came = outcomes(&ran);
        let blame = came.get(usize::from(before.is_some())).copied();
        let by_signal = role == Role::Crashes;
        let is_blamed =
            matches!(blame, Some(Outcome::Crashed { signal }) if signal.is_some() == by_signal);
        if !is_blamed {
            let how = if by_signal { "a signal" } else { "an exit code" };
            return wrong(format!("the outcomes: expected a crash by {how}, came {came:?}"));
        }
        let others = before.into_iter().chain([Outcome::NotRun]).collect();
        let came = came.into_iter().filter(|outcome| Some(*outcome) != blame).collect();
        same::<Vec<Outcome>>("the outcomes of the others", &others, &came)?;
        let has_died = matches!(ran.ending, Ending::Died(_));
        same(format!("whether it died, given {:?}", ran.ending), &true, &has_died)?;
        says_nothing_of_the_last(&ran)?;
    }
    trial.expect(&[tests[0], tests[2]], &[PASSED, PASSED])?;
    Ok(())
}

/// The test after the one that ended it all never began.
fn says_nothing_of_the_last(ran: &Ran) -> Result<(), Departure> {
    let last = ran.attempts.last().map(|(test, _)| *test);
    let is_told = ran.told.iter().any(|told| Some(told.test) == last);
    same("whether anything was told of the test after it", &false, &is_told)
}
