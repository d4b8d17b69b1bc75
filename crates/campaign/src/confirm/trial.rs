//! What was found, put to the test: by the plain runner, and by asking what is behind it.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

use unflake_adapter::{Part, PlainRunner};
use unflake_engine::Collected;
use unflake_known::{Choice, Cold, Ended, Exhibit, Origin, Record, Seen, State, Warning};
use unflake_model::{Environment, Finding, Suite, TestIndex};

use crate::analysis::Found;
use crate::confirm;
use crate::confirm::ahead::{Naming, Trying};
use crate::confirm::choice::decided;
use crate::confirm::imports::Imports;
use crate::confirm::state::{Dependency, shared_state};
use crate::confirm::together::confirm_all;
use crate::engine_world::EngineWorld;

/// What was found, and with what it is tried.
pub(crate) struct Trial<'a> {
    pub(crate) suite: &'a Suite,
    pub(crate) found: &'a Found,
    pub(crate) records: &'a [Record],
    /// How tests ended in the original order, and in another.
    pub(crate) seen: BTreeMap<TestIndex, (Seen, Seen)>,
    pub(crate) runner: &'a dyn PlainRunner,
    pub(crate) part: &'a dyn Part,
}

/// What came of it, in the order of the findings, as far as there was time.
#[derive(Default)]
struct Tried {
    /// What the plain runner says about each.
    plain: Vec<Cold>,
    /// The state behind each.
    states: Vec<Vec<State>>,
    /// The open choices behind those that depend on some.
    choices: BTreeMap<TestIndex, Vec<Choice>>,
    /// What the plain runner says about those that fail under other circumstances.
    perturbed: BTreeMap<TestIndex, Cold>,
}

impl Trial<'_> {
    /// Tries everything, and puts it together; with what stood in the way, each once.
    pub(crate) fn exhibits(
        &self,
        world: &mut EngineWorld,
        ahead: Option<(Trying<'_>, Naming<'_>)>,
        collected: &Collected,
        origin: &Origin,
    ) -> (Vec<Exhibit>, Vec<Warning>) {
        let mut tried = self.try_findings(world, ahead);
        self.try_choices(world, &mut tried);
        let mut exhibits: Vec<Exhibit> =
            self.found.findings.iter().map(|it| self.exhibit(it, &mut tried)).collect();
        if self.found.ended != Ended::Interrupted {
            let mut imports = Imports::new(world, self.suite, collected, self.runner);
            for exhibit in &mut exhibits {
                imports.tell_anew(exhibit);
                replay_if_denied(exhibit, origin);
            }
        }
        let warnings = not_asked(self.suite, &exhibits);
        (exhibits, warnings)
    }

    /// Tries what was found with the plain runner, and looks for the state behind each dependency:
    /// both at once, because the plain runner has processes of its own.
    fn try_findings(
        &self,
        world: &mut EngineWorld,
        ahead: Option<(Trying<'_>, Naming<'_>)>,
    ) -> Tried {
        let &Self { suite, found, runner, .. } = self;
        if found.ended == Ended::Interrupted {
            // Who has pressed Ctrl-C does not want to wait for more runs.
            world.refuse_errands();
            return Tried::default();
        }
        let (trying, naming) = ahead.unzip();
        let is_tried = &AtomicBool::new(false);
        std::thread::scope(|scope| {
            let tried = scope.spawn(move || {
                let ahead = match (&found.findings[..], trying) {
                    ([finding], Some(trying)) => trying.answer(finding),
                    _ => None,
                };
                let answers = match ahead {
                    Some(answer) => vec![answer.map(Some)],
                    None => confirm_all(suite, &found.findings, runner),
                };
                is_tried.store(true, Ordering::Relaxed);
                answers
            });
            let states = self.name_states(world, naming, is_tried);
            let plain = tried.join().unwrap_or_default();
            let plain = plain.into_iter().map(Cold::from).collect();
            Tried { plain, states, ..Tried::default() }
        })
    }

    /// The state behind each finding, as far as there was time: where it is up, as long as the
    /// plain runner is waited for anyway.
    fn name_states(
        &self,
        world: &mut EngineWorld,
        naming: Option<Naming<'_>>,
        is_tried: &AtomicBool,
    ) -> Vec<Vec<State>> {
        let is_out_of_time = self.found.ended != Ended::Confident;
        world.run_errands();
        let ahead = match (&self.found.findings[..], naming) {
            ([finding], Some(naming)) => naming.answer(finding),
            _ => None,
        };
        if let Some(answer) = ahead {
            return answer.into_iter().collect();
        }
        let dependencies = self.found.findings.iter().map(Dependency::found);
        let dependencies: Vec<Option<Dependency>> = dependencies.collect();
        std::thread::scope(|scope| {
            let hatch = world.open_hatch();
            let states = scope.spawn(move || {
                let is_over = || is_out_of_time && is_tried.load(Ordering::Relaxed);
                let name = |it: Option<Dependency>| match it {
                    Some(_) if is_over() => None,
                    Some(dependency) => shared_state(&hatch, dependency).ok(),
                    None => Some(Vec::new()),
                };
                dependencies.into_iter().map_while(name).collect()
            });
            world.run_errands();
            states.join().unwrap_or_default()
        })
    }

    /// Looks for the open choices behind findings that fail under other circumstances, and tries
    /// these with the plain runner.
    fn try_choices(&self, world: &mut EngineWorld, tried: &mut Tried) {
        let &Self { suite, found, runner, part, .. } = self;
        if found.ended != Ended::Confident {
            return;
        }
        let mut together: BTreeMap<Environment, Vec<TestIndex>> = BTreeMap::new();
        for finding in &found.findings {
            let Some(environment) = finding.fails_under else { continue };
            together.entry(environment).or_default().push(finding.test);
            let Ok(choices) = decided(world, (part, suite), finding.test, environment) else {
                return;
            };
            tried.choices.insert(finding.test, choices);
        }
        for (environment, tests) in together {
            match confirm::confirm_perturbed(suite, &tests, environment, runner) {
                Ok(confirmed) => {
                    let said = confirmed.into_iter().map(|(test, it)| (test, Cold::Said(it)));
                    tried.perturbed.extend(said);
                }
                Err(reason) => {
                    let refused = |test| (test, Cold::Refused(reason.clone()));
                    tried.perturbed.extend(tests.into_iter().map(refused));
                }
            }
        }
    }

    fn exhibit(&self, finding: &Finding, tried: &mut Tried) -> Exhibit {
        let &Self { suite, found, records, runner, .. } = self;
        let test = finding.test;
        let place = found.findings.iter().position(|it| it.test == test).unwrap_or_default();
        let plain = tried.plain.get_mut(place).map(std::mem::take).unwrap_or_default();
        let cold = match plain {
            Cold::NotAsked => tried.perturbed.remove(&test).unwrap_or_default(),
            plain => plain,
        };
        let failures = &records[test.get()].failures;
        Exhibit {
            reproduce: confirm::commands(suite, finding, runner),
            cold,
            factors: Vec::new(),
            failure: failures.first().map(|attempt| attempt.failure.clone()),
            state: tried.states.get_mut(place).map(std::mem::take).unwrap_or_default(),
            choices: tried.choices.remove(&test).unwrap_or_default(),
            seen: self.seen.get(&test).cloned(),
            finding: finding.clone(),
        }
    }
}

/// Of which findings the plain runner could not be asked, for each reason once. Made of what is
/// said with the findings in the end, so that it denies nothing that is shown there.
fn not_asked(suite: &Suite, exhibits: &[Exhibit]) -> Vec<Warning> {
    let mut by_reason: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for exhibit in exhibits {
        if let Cold::Refused(reason) = &exhibit.cold {
            let id = suite.id(exhibit.finding.test).to_string();
            by_reason.entry(reason).or_default().push(id);
        }
    }
    let warning = |(reason, tests): (&str, _)| {
        let reason = reason.to_owned();
        Warning::PlainNotRun { tests, reason }
    };
    by_reason.into_iter().map(warning).collect()
}

/// What fails under circumstances that cannot be given to the plain runner, such as the order of
/// listings, is shown by running the run again.
fn replay_if_denied(exhibit: &mut Exhibit, origin: &Origin) {
    let is_shown = exhibit.cold.said().is_some_and(|said| 0 < said.as_predicted);
    if exhibit.finding.fails_under.is_some() && !is_shown {
        if exhibit.cold.said().is_some() {
            exhibit.cold = Cold::NotAsked;
        }
        let run = exhibit.finding.failed_in.map(|run| origin.run_name(run));
        exhibit.reproduce = run.map(|run| format!("unflake replay {run}")).into_iter().collect();
    }
}
