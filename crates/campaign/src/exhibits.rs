//! Puts findings to the test with the project, and makes exhibits of them.
//!
//! `unflake_detect::confirm` decides on the tests; here they meet the engine and the plain runner,
//! and what came of them gets the commands to paste.

use std::collections::BTreeMap;
use std::rc::Rc;

use unflake_adapter::{Part, PlainRunner, Site};
use unflake_detect::Analysis;
use unflake_detect::choices::DecidingChoice;
use unflake_detect::confirm::plain::reproductions;
use unflake_detect::confirm::while_searching::TriedMeanwhile;
use unflake_detect::confirm::{ConfirmTerms, Tested, put_to_test};
use unflake_engine::{Collected, Interrupt};
use unflake_known::{Choice, Ended, Exhibit, Origin, PlainAnswer, Record, Seen, State, Warning};
use unflake_model::{
    Budget, Confidence, Experiment, Finding, StateKind, Suite, TestId, TestIndex, Verdict,
};

use crate::drive::drive;
use crate::engine_world::EngineWorld;
use crate::masked;
use crate::project_world::{Plain, ProjectWorld};
use crate::recall::Recall;
use crate::world::{Answer, Source, Watcher};

/// How many commands to show for one finding.
const COMMANDS_MAX: usize = 3;

/// The files of all tests, numbered.
pub(crate) struct Files<'a> {
    /// The file of each test, by index.
    pub(crate) of_tests: Vec<&'a str>,
    numbers: Vec<usize>,
    names: Vec<&'a str>,
}

impl<'a> Files<'a> {
    pub(crate) fn new(suite: &Suite, collected: &'a Collected) -> Self {
        let mut of_tests = vec![""; suite.n_tests()];
        for test in &collected.tests {
            if let Some(index) = test.id.parse().ok().and_then(|id| suite.find(&id)) {
                of_tests[index.get()] = &test.file;
            }
        }
        let mut names: Vec<&str> = Vec::new();
        let mut known: BTreeMap<&str, usize> = BTreeMap::new();
        let mut number = |name: &&'a str| {
            *known.entry(*name).or_insert_with(|| {
                names.push(*name);
                names.len() - 1
            })
        };
        let numbers = of_tests.iter().map(&mut number).collect();
        Self { of_tests, numbers, names }
    }
}

/// Findings, and what they are put to the test with.
pub(crate) struct Bench<'a> {
    pub(crate) suite: &'a Rc<Suite>,
    pub(crate) files: &'a Files<'a>,
    pub(crate) runner: &'a dyn PlainRunner,
    pub(crate) part: &'a dyn Part,
    pub(crate) interrupt: &'a Interrupt,
    /// How the search for these findings ended.
    pub(crate) ended: Ended,
    /// Whether isolation is still in doubt: if so, it matters what the plain runner denies.
    pub(crate) is_in_doubt: bool,
    /// Whether the engine has broken down.
    pub(crate) is_broken: bool,
}

impl Bench<'_> {
    /// Puts findings to the test, unless the user has stopped waiting.
    pub(crate) fn test(
        &self,
        findings: &[Finding],
        meanwhile: Option<TriedMeanwhile>,
        world: &mut EngineWorld,
    ) -> Vec<Tested> {
        if self.ended == Ended::Interrupted {
            // A user who has pressed Ctrl-C does not want to wait for more runs.
            return findings.iter().cloned().map(Tested::not_tested).collect();
        }
        let limits = ConfirmTerms {
            is_dear: self.runner.is_dear(),
            is_short: self.ended != Ended::Confident,
            asks_denial: self.is_in_doubt,
            watches: self.part.abilities().watches,
            files: self.files.numbers.clone(),
        };
        let (findings, budget) = (findings.to_vec(), Budget::unlimited(Confidence::USUAL));
        let analysis = Analysis::new(Rc::clone(self.suite), budget, |lab| {
            put_to_test(lab, findings, meanwhile, limits)
        });
        let suite = &**self.suite;
        let plain = Plain { runner: self.runner, suite, files: &self.files.of_tests };
        std::thread::scope(|scope| {
            let mut world = ProjectWorld::new(world, plain, scope, self.interrupt);
            world.is_broken = self.is_broken;
            drive(analysis, &mut world, &mut Recall::default(), &mut Nobody).0
        })
    }

    /// The exhibit of a finding.
    pub(crate) fn exhibit(
        &self,
        tested: Tested,
        records: &[Record],
        seen: &BTreeMap<TestIndex, (Seen, Seen)>,
    ) -> Exhibit {
        let Tested { finding, said, state, choices, guilty_files, .. } = tested;
        let id = self.suite.id(finding.test);
        let failures = &records[finding.test.get()].failures;
        let name = |file: &usize| self.files.names[*file];
        let guilty: Vec<&str> = guilty_files.iter().flatten().map(name).collect();
        let reproduce = match guilty_files.first() {
            Some(first) if finding.dependencies.polluters.is_empty() => {
                let files: Vec<&str> = first.iter().map(name).collect();
                self.runner.command_among(id, &files).into_iter().collect()
            }
            _ => commands(self.suite, &finding, self.runner),
        };
        let state = if guilty.is_empty() {
            state.iter().map(masked::state).collect()
        } else {
            guilty.into_iter().map(imported).collect()
        };
        Exhibit {
            reproduce,
            plain: said.into(),
            factors: Vec::new(),
            failure: failures.first().map(|attempt| attempt.failure.clone()),
            state,
            choices: choices.into_iter().filter_map(|it| self.choice(it, id)).collect(),
            seen: seen.get(&finding.test).cloned(),
            finding,
        }
    }

    fn choice(&self, choice: DecidingChoice, id: &TestId) -> Option<Choice> {
        let DecidingChoice { number, n, stack } = choice;
        let Site { api, place, test } = self.part.site(&stack, id.as_str())?;
        Some(Choice { api, place, test, number, n })
    }
}

fn imported(file: &str) -> State {
    State { place: file.to_owned(), kind: StateKind::Import, before: None, after: None }
}

/// Putting findings to the test records nothing: the findings are on record already.
struct Nobody;

impl Watcher for Nobody {
    fn ran(&mut self, _: &Experiment, _: &Answer, _: Source) {}
}

/// Commands that show a finding.
fn commands(suite: &Suite, finding: &Finding, runner: &dyn PlainRunner) -> Vec<String> {
    let id = suite.id(finding.test);
    if finding.verdict == Verdict::Nio {
        return runner.command_twice(id).into_iter().collect();
    }
    if let Some(environment) = finding.fails_under {
        return runner.command_perturbed(id, environment).into_iter().collect();
    }
    let command = |prefix: &[TestIndex]| {
        let tests = prefix.iter().chain([&finding.test]);
        runner.command(&tests.map(|test| suite.id(*test)).collect::<Vec<_>>())
    };
    let shown = reproductions(finding).into_iter().take(COMMANDS_MAX);
    shown.filter_map(|it| command(&it.prefix)).collect()
}

/// Warnings about findings that the plain runner could not be asked about, once for each reason.
/// They are made from what the exhibits finally say, so that they contradict nothing shown there.
pub(crate) fn not_asked(suite: &Suite, exhibits: &[Exhibit]) -> Vec<Warning> {
    let mut by_reason: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for exhibit in exhibits {
        if let PlainAnswer::Refused(reason) = &exhibit.plain {
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

/// If circumstances cannot be given to the plain runner, such as the order of listings, a failure
/// under them is shown by replaying its run.
pub(crate) fn replay_if_denied(exhibit: &mut Exhibit, origin: &Origin) {
    let is_shown = exhibit.plain.said().is_some_and(|said| 0 < said.as_predicted);
    if exhibit.finding.fails_under.is_some() && !is_shown {
        if exhibit.plain.said().is_some() {
            exhibit.plain = PlainAnswer::NotAsked;
        }
        let run = exhibit.finding.failed_in.map(|run| origin.run_name(run));
        exhibit.reproduce = run.map(|run| format!("unflake replay {run}")).into_iter().collect();
    }
}
