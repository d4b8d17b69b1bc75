//! Which open choice does an implementation-dependent test depend on?
//!
//! It is run alone under the seed under which it fails, with fewer and fewer of the choices of that
//! seed ([`decisive`]). What is left is one choice, or the first and the last of several that
//! matter together; each is asked for the stack it comes from.
//!
//! Limits: choices are numbered as they come up, so a test whose threads race for them has no
//! certain numbers; then no choice is named. Every answer was tried [`TRIES`] times.

use unflake_adapter::{Part, Site};
use unflake_detect::choices::decisive;
use unflake_engine::{Chosen, Watching};
use unflake_known::Choice;
use unflake_model::{
    Environment, Evidence, Experiment, Order, Repetition, RunId, Suite, TestIndex,
};

use crate::engine_world::{EngineWorld, Stopped};

/// How often the answer is tried.
const TRIES: usize = 3;

/// Where the choices come from that decide how this test ends in an environment in which it fails;
/// none if that was not found.
pub(crate) fn decided(
    world: &mut EngineWorld,
    (part, suite): (&dyn Part, &Suite),
    test: TestIndex,
    environment: Environment,
) -> Result<Vec<Choice>, Stopped> {
    let mut trial = Trial { world, part, test, environment };
    let (ended, chosen) = trial.run(None)?;
    match chosen {
        Some(chosen) if ended == Some(Evidence::Fail) => {
            trial.search(suite.id(test).as_str(), chosen.n)
        }
        // Nobody counts them here, or they are not what it fails for.
        _ => Ok(Vec::new()),
    }
}

/// Runs of one test in one environment.
struct Trial<'w> {
    world: &'w mut EngineWorld,
    part: &'w dyn Part,
    test: TestIndex,
    environment: Environment,
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
            let site = self.part.site(&stack, id);
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
            environment: self.environment,
            repetition: Repetition::Once,
        };
        let watching = Watching { choices, ..Watching::default() };
        let observation = self.world.run_watched(&experiment, Some(watching))?;
        let ended = observation.attempts.last().and_then(|attempt| attempt.outcome.evidence());
        let chosen = self.world.last_ended().and_then(|ended| ended.chosen.clone());
        Ok((ended, chosen))
    }
}
