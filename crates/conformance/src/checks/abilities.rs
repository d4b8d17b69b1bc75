//! Whether an adapter can do what it says it can.

use unflake_adapter::{Calls, Need};
use unflake_engine::Ending;
use unflake_model::{Environment, Factor, Factors, HashSeeds, Repetition};

use crate::experiments::experiment;
use crate::fixture::{Fixture, Ran, Role, Scene, Terms};
use crate::trial::{Departure, FAILED, PASSED, Trial, excluded, same, wrong};

const SEED: u64 = 7;
/// Two seeds may hash one thing alike; not all of so many.
const N_HASH_SEEDS: u64 = 4;

pub(crate) fn ready(fixture: &dyn Fixture) -> Result<(), Departure> {
    let need = Need { many_runs: true, traces: true };
    let mut trial = Trial::open_on(fixture, Scene::Calm, &Terms { need, ..Terms::default() })?;
    // Whoever cannot look at calls has to say why when asked to.
    let is_blind = trial.subject.abilities().calls == Calls::Unseen;
    let why = trial.subject.not_traced().is_some();
    same("whether it says why it cannot trace", &is_blind, &why)?;
    let tests = trial.players(&[Role::Polluter, Role::Victim])?;
    trial.expect(&tests, &[PASSED, FAILED])?;
    trial.expect(&tests[1..], &[PASSED])?;
    Ok(())
}

pub(crate) fn perturbed(fixture: &dyn Fixture) -> Result<(), Departure> {
    let mut trial = Trial::open(fixture, Scene::Calm)?;
    let test = trial.player(Role::Passes)?;
    let abilities = trial.subject.abilities();
    let run = |number, factors| {
        let environment = Environment::Perturbed { factors, seed: SEED };
        experiment(number, [test], environment, Repetition::Once)
    };
    let offered = abilities.choices.with(abilities.circumstances);
    if offered.with(abilities.factors).is_empty() {
        let is_made = trial.subject.make(&[run(0, Factors::OPEN_CHOICES)]).is_ok();
        return same("whether a run is perturbed that cannot be", &false, &is_made);
    }
    for (number, factor) in (0..).zip(offered.iter()) {
        let ran = trial.make_one(&run(number, [factor].into_iter().collect()))?;
        trial.hold(&ran, &[test], &[PASSED])?;
        same(format!("whether `{factor}` was answered for"), &true, &is_answered(&ran, factor))?;
    }
    Ok(())
}

/// Whether a factor was applied or refused, where anything was said about factors at all.
fn is_answered(ran: &Ran, factor: Factor) -> bool {
    ran.perturbed.as_ref().is_none_or(|perturbed| {
        let applied = perturbed.applied.iter().map(|it| &it.factor);
        let refused = perturbed.refused.iter().map(|it| &it.factor);
        applied.chain(refused).any(|name| name == factor.slug())
    })
}

pub(crate) fn hash_seeds(fixture: &dyn Fixture) -> Result<(), Departure> {
    let mut trial = Trial::open(fixture, Scene::Calm)?;
    if trial.subject.abilities().hash_seeds == HashSeeds::Fixed {
        return excluded("its hash seeds are fixed");
    }
    let test = trial.player(Role::TellsHash)?;
    let mut told = |seed| {
        let environment = Environment::Hashed { seed };
        let ran = trial.make_one(&experiment(0, [test], environment, Repetition::Once))?;
        same("the end of a run", &Ending::Complete, &ran.ending)?;
        hash(&ran)
    };
    let first = (0..N_HASH_SEEDS).map(&mut told).collect::<Result<Vec<_>, _>>()?;
    let again = (0..N_HASH_SEEDS).map(&mut told).collect::<Result<Vec<_>, _>>()?;
    same("the hashes under the same seeds", &first, &again)?;
    let are_alike = first.iter().all(|hash| *hash == first[0]);
    same(format!("whether all seeds are one, given {first:?}"), &false, &are_alike)
}

fn hash(ran: &Ran) -> Result<String, Departure> {
    let message = ran.told.first().map_or("", |told| &told.failure.message);
    let hash = message.split_once("hash [").and_then(|(_, rest)| rest.split_once(']'));
    hash.map_or_else(|| wrong(format!("no hash in `{message}`")), |(hash, _)| Ok(hash.to_owned()))
}
