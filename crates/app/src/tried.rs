//! What was found, put to the test: by the plain runner, and by asking what is behind it.

use std::collections::BTreeMap;

use unflake_model::{Finding, Suite, TestIndex};
use unflake_report::{Confirmation, Ended, Exhibit, Record, Seen, State, Warning};

use crate::analysis::Found;
use crate::choice::{Decided, decided};
use crate::cold::{self, PlainRunner};
use crate::state::shared_state;
use crate::world::{EngineWorld, Stopped};

/// What was found, and with what it is tried.
pub(crate) struct Trial<'a> {
    pub(crate) suite: &'a Suite,
    pub(crate) found: &'a Found,
    pub(crate) records: &'a [Record],
    /// How tests ended in the original order, and in another.
    pub(crate) seen: BTreeMap<TestIndex, (Seen, Seen)>,
    pub(crate) runner: &'a dyn PlainRunner,
    /// Seeds of open choices that were tried.
    pub(crate) n_perturbed: u64,
}

/// What came of it, in the order of the findings, as far as there was time.
#[derive(Default)]
struct Tried {
    /// What the plain runner says about each.
    plain: Vec<Result<Option<Confirmation>, String>>,
    /// The state behind each.
    states: Vec<Vec<State>>,
    /// The open choices behind those that depend on some.
    decided: BTreeMap<TestIndex, Decided>,
    /// What the plain runner says about these.
    perturbed: BTreeMap<TestIndex, Confirmation>,
    warnings: Vec<Warning>,
}

impl Trial<'_> {
    /// Tries everything, and puts it together; with what stood in the way, each once.
    pub(crate) fn exhibits(&self, world: &mut EngineWorld) -> (Vec<Exhibit>, Vec<Warning>) {
        let mut tried = self.try_findings(world);
        self.try_choices(world, &mut tried);
        let exhibits = self.found.findings.iter().map(|it| self.exhibit(it, &mut tried)).collect();
        let Tried { plain, mut warnings, .. } = tried;
        let reasons = plain.into_iter().filter_map(Result::err);
        warnings.extend(reasons.map(|reason| Warning::PlainNotRun { reason }));
        warnings.dedup();
        (exhibits, warnings)
    }

    /// Tries what was found with the plain runner, and looks for the state behind each dependency:
    /// both at once, because the plain runner has processes of its own.
    fn try_findings(&self, world: &mut EngineWorld) -> Tried {
        let &Self { suite, found, runner, .. } = self;
        if found.ended == Ended::Interrupted {
            // Who has pressed Ctrl-C does not want to wait for more runs.
            return Tried::default();
        }
        std::thread::scope(|scope| {
            let confirm = |finding| cold::confirm(suite, finding, runner);
            let tried = scope.spawn(move || found.findings.iter().map(confirm).collect());
            let has_time = found.ended == Ended::Confident;
            let states = found.findings.iter().filter(|_| has_time);
            let states = states.map_while(|it| shared_state(world, it).ok()).collect();
            Tried { plain: tried.join().unwrap_or_default(), states, ..Tried::default() }
        })
    }

    /// Looks for the open choices behind findings, and tries those with the plain runner.
    fn try_choices(&self, world: &mut EngineWorld, tried: &mut Tried) {
        let &Self { suite, found, runner, n_perturbed, .. } = self;
        if found.ended != Ended::Confident {
            return;
        }
        let mut of_seed: BTreeMap<u64, Vec<TestIndex>> = BTreeMap::new();
        for finding in &found.findings {
            match decided(world, suite, finding, n_perturbed) {
                Ok(Some(decided)) => {
                    of_seed.entry(decided.seed).or_default().push(finding.test);
                    tried.decided.insert(finding.test, decided);
                }
                Ok(None) => (),
                Err(Stopped) => return,
            }
        }
        for (seed, tests) in of_seed {
            match cold::confirm_perturbed(suite, &tests, seed, runner) {
                Ok(confirmed) => tried.perturbed.extend(confirmed),
                Err(reason) => tried.warnings.push(Warning::PlainNotRun { reason }),
            }
        }
    }

    fn exhibit(&self, finding: &Finding, tried: &mut Tried) -> Exhibit {
        let &Self { suite, found, records, runner, .. } = self;
        let test = finding.test;
        let place = found.findings.iter().position(|it| it.test == test).unwrap_or_default();
        let plain =
            tried.plain.get(place).and_then(|answer| answer.as_ref().ok().copied().flatten());
        let decided = tried.decided.remove(&test);
        let seed = decided.as_ref().map(|decided| decided.seed);
        let mut reproduce = cold::commands(suite, finding, runner);
        reproduce.extend(seed.and_then(|seed| runner.command_perturbed(suite.id(test), seed)));
        let failures = &records[test.get()].failures;
        Exhibit {
            reproduce,
            cold_confirmed: plain.or(tried.perturbed.get(&test).copied()),
            failure: failures.first().map(|attempt| attempt.failure.clone()),
            state: tried.states.get_mut(place).map(std::mem::take).unwrap_or_default(),
            choices: decided.map(|decided| decided.choices).unwrap_or_default(),
            seen: self.seen.get(&test).cloned(),
            finding: finding.clone(),
        }
    }
}
