//! Which open choice does an implementation-dependent test depend on?
//!
//! It is run alone, seed after seed, until it fails; then with fewer and fewer of the choices of
//! that seed ([`decisive`]). What is left is one choice, or the first and the last of several that
//! matter together; each is asked for the stack it comes from.
//!
//! Limits: choices are numbered as they come up, so a test whose threads race for them has no
//! certain numbers; then no choice is named. Every answer was tried [`TRIES`] times.

use unflake_detect::choices::decisive;
use unflake_engine::{Chosen, Watching};
use unflake_junit::Site;
use unflake_model::{
    Environment, Evidence, Experiment, Finding, Order, Repetition, RunId, Suite, TestIndex, Verdict,
};
use unflake_report::Choice;

use crate::world::{EngineWorld, Stopped};

/// How often the answer is tried.
const TRIES: usize = 3;

/// The choices a test depends on.
#[derive(Clone, Debug)]
pub(crate) struct Decided {
    /// The seed under which it fails.
    pub(crate) seed: u64,
    /// Where they come from; none if that was not found.
    pub(crate) choices: Vec<Choice>,
}

/// What decides how this test ends; `None` if it fails under none of so many seeds.
pub(crate) fn decided(
    world: &mut EngineWorld,
    suite: &Suite,
    finding: &Finding,
    n_seeds: u64,
) -> Result<Option<Decided>, Stopped> {
    if finding.verdict != Verdict::Id {
        return Ok(None);
    }
    for seed in 0..n_seeds {
        let mut trial = Trial { world, test: finding.test, seed };
        let (ended, chosen) = trial.run(None)?;
        if ended == Some(Evidence::Fail) {
            let id = suite.id(finding.test).as_str();
            let choices = trial.search(id, chosen.map_or(0, |chosen| chosen.n))?;
            return Ok(Some(Decided { seed, choices }));
        }
    }
    Ok(None)
}

/// Runs of one test under one seed.
struct Trial<'w> {
    world: &'w mut EngineWorld,
    test: TestIndex,
    seed: u64,
}

impl Trial<'_> {
    fn search(&mut self, id: &str, n: u64) -> Result<Vec<Choice>, Stopped> {
        let Some((first, last)) = decisive(n, |first, last| self.fails(first, last))? else {
            return Ok(Vec::new());
        };
        for _ in 0..TRIES {
            if !self.fails(first, last)? {
                return Ok(Vec::new());
            }
        }
        let mut numbers = vec![first, last];
        numbers.dedup();
        let mut choices = Vec::new();
        for number in numbers {
            let (_, chosen) = self.run(Some((number, number)))?;
            let stack = chosen.unwrap_or_default().stack;
            let site = Site::of(&stack, id);
            choices.extend(site.map(|Site { api, place, test }| Choice {
                api,
                place,
                test,
                number,
                n,
            }));
        }
        Ok(choices)
    }

    fn fails(&mut self, first: u64, last: u64) -> Result<bool, Stopped> {
        let (ended, _) = self.run(Some((first, last)))?;
        Ok(ended == Some(Evidence::Fail))
    }

    /// How the test ends if these of the choices are made on purpose, or all of them.
    fn run(
        &mut self,
        choices: Option<(u64, u64)>,
    ) -> Result<(Option<Evidence>, Option<Chosen>), Stopped> {
        let experiment = Experiment {
            run: RunId(0),
            order: Order::from_distinct([self.test]),
            environment: Environment::Perturbed { seed: self.seed },
            repetition: Repetition::Once,
        };
        let watching = Watching { choices, ..Watching::default() };
        let observation = self.world.run_watched(&experiment, Some(watching))?;
        let ended = observation.attempts.last().and_then(|attempt| attempt.outcome.evidence());
        let chosen = self.world.last_ended().and_then(|ended| ended.chosen.clone());
        Ok((ended, chosen))
    }
}
