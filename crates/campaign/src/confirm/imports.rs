//! Does a test stumble over a file that is merely collected?
//!
//! An agent collects all files before the first test is run; the plain runner, told to run one
//! test, imports the file of that test only. So a test that fails by itself here and passes there
//! does not stand what importing some other file does. Which file that is, the plain runner says:
//! it is told to collect some of them, and to run the one test.
//!
//! For whoever runs the tests it is a victim. Whatever test of that file is run before it, the file
//! is imported first; so all of them are polluters, but for those that put things right, as the
//! agent says. Tests that were found to set the state up are cleaners. Where all tests of the file
//! put things right, there is no polluter, and the command collects the file and runs none of it.

use std::collections::{BTreeMap, BTreeSet};

use unflake_adapter::PlainRunner;
use unflake_detect::search::GROUPS_MAX;
use unflake_detect::subset::minimal_subset;
use unflake_engine::Collected;
use unflake_known::{Cold, Confirmation, Exhibit, State};
use unflake_model::{
    CleanersOf, Dependencies, Environment, Evidence, Experiment, Finding, Group, Order,
    OutcomeKind, Repetition, RunId, StateKind, Suite, TestIndex, Verdict,
};

use crate::confirm;
use crate::engine_world::EngineWorld;

/// So many sets of files are looked for, each of which is enough.
const SETS_MAX: usize = 4;

/// So many tests that always fail are tried alone: a broken suite has thousands.
const TRIED_MAX: usize = 20;

/// Looks for files that tests do not stand.
pub(crate) struct Imports<'a> {
    world: &'a mut EngineWorld,
    suite: &'a Suite,
    runner: &'a dyn PlainRunner,
    /// The file of each test.
    files: BTreeMap<TestIndex, &'a str>,
    /// Files that were found guilty before: the next test may not stand the same ones.
    known: Vec<Vec<&'a str>>,
    n_tried: usize,
}

impl<'a> Imports<'a> {
    pub(crate) fn new(
        world: &'a mut EngineWorld,
        suite: &'a Suite,
        collected: &'a Collected,
        runner: &'a dyn PlainRunner,
    ) -> Self {
        let file = |test: &'a unflake_engine::CollectedTest| {
            Some((suite.find(&test.id.parse().ok()?)?, test.file.as_str()))
        };
        let files = collected.tests.iter().filter_map(file).collect();
        Self { world, suite, runner, files, known: Vec::new(), n_tried: 0 }
    }

    /// Tells a finding that the plain runner denies as that runner sees it, where files explain it.
    pub(crate) fn tell_anew(&mut self, exhibit: &mut Exhibit) {
        let finding = &exhibit.finding;
        let fails_alone = matches!(finding.verdict, Verdict::OdBrittle | Verdict::AlwaysFailing);
        if !fails_alone || exhibit.cold.is_shown() || self.n_tried == TRIED_MAX {
            return;
        }
        self.n_tried += 1;
        let Ok(guilty) = self.guilty(finding.test) else { return };
        let Some(first) = guilty.first() else { return };
        let finding = Finding {
            verdict: Verdict::OdVictim,
            confirmed: true,
            confidence: None,
            contrast: None,
            dependencies: self.dependencies(&guilty, finding),
            ..finding.clone()
        };
        let (cold, reproduce): (Cold, Vec<String>) = if finding.dependencies.polluters.is_empty() {
            let id = self.suite.id(finding.test);
            let shown = confirm::count_shown(|| self.fails_among(finding.test, first));
            let command = self.runner.command_among(id, first);
            (shown.map(Some).into(), command.into_iter().collect())
        } else {
            let said = confirm::confirm(self.suite, &finding, self.runner);
            (said.into(), confirm::commands(self.suite, &finding, self.runner))
        };
        // A test that the plain runner hashes otherwise each time fails by chance, whatever files
        // are collected: they are to blame only if it fails each time with them, and never without.
        let alone = confirm::count_shown(|| Ok(!self.fails_among(finding.test, &[])?));
        if !cold.is_shown() || !alone.is_ok_and(Confirmation::is_complete) {
            return;
        }
        (exhibit.cold, exhibit.reproduce) = (cold, reproduce);
        exhibit.state = guilty.concat().into_iter().map(state).collect();
        exhibit.finding = finding;
    }

    /// Sets of files that make the test fail when they are collected, each enough by itself; none
    /// if it fails without.
    fn guilty(&mut self, test: TestIndex) -> Result<Vec<Vec<&'a str>>, String> {
        if self.fails_among(test, &[])? {
            return Ok(Vec::new());
        }
        let mut guilty: Vec<Vec<&'a str>> = Vec::new();
        for known in &self.known {
            if self.fails_among(test, known)? {
                guilty.push(known.clone());
            }
        }
        while guilty.len() < SETS_MAX {
            let Some(files) = self.another(test, &guilty)? else { break };
            self.known.push(files.clone());
            guilty.push(files);
        }
        Ok(guilty)
    }

    /// A set of files that makes the test fail, with no file of these sets in it.
    fn another(
        &self,
        test: TestIndex,
        but: &[Vec<&'a str>],
    ) -> Result<Option<Vec<&'a str>>, String> {
        let mut left_out: BTreeSet<&str> = but.iter().flatten().copied().collect();
        left_out.extend(self.files.get(&test));
        let others = self.files.values().copied().filter(|file| left_out.insert(file));
        let others: Vec<&'a str> = others.collect();
        let chosen = |places: &[usize]| -> Vec<&'a str> {
            places.iter().map(|place| others[*place]).collect()
        };
        let found = minimal_subset(others.len(), |places| self.fails_among(test, &chosen(places)))?;
        Ok(found.map(|places| chosen(&places)).filter(|files| !files.is_empty()))
    }

    fn fails_among(&self, test: TestIndex, files: &[&str]) -> Result<bool, String> {
        let took = self.suite.duration(test);
        let ended = self.runner.run_among(self.suite.id(test), files, took)?;
        match ended.and_then(OutcomeKind::evidence) {
            Some(evidence) => Ok(evidence == Evidence::Fail),
            None => Err("the test neither passed nor failed".to_owned()),
        }
    }

    /// Who pollutes and who cleans up: nobody, if all tests of the guilty files put things right.
    fn dependencies(&mut self, guilty: &[Vec<&str>], finding: &Finding) -> Dependencies {
        let polluters: Vec<Group> =
            guilty.iter().flat_map(|files| self.polluters(files, finding.test)).collect();
        let is_outside =
            |test: &TestIndex| !guilty.iter().flatten().any(|it| *it == self.files[test]);
        let setters = finding.dependencies.state_setters.iter().filter(|group| group.len() == 1);
        let cleaners: Vec<TestIndex> = setters.flatten().copied().filter(is_outside).collect();
        let cleaners_of = |polluters: &Group| CleanersOf {
            polluters: polluters.clone(),
            cleaners: cleaners.clone(),
        };
        let cleaners = polluters.iter().map(cleaners_of).collect();
        Dependencies { polluters, cleaners, state_setters: Vec::new() }
    }

    /// Tests of these files, which act together, that leave things as importing them made them.
    fn polluters(&mut self, files: &[&str], target: TestIndex) -> Vec<Group> {
        let of_file = |file: &&str| -> Vec<TestIndex> {
            let tests = self.files.iter().filter(|(_, its)| *its == file);
            tests.map(|(test, _)| *test).take(GROUPS_MAX).collect()
        };
        let mut of_files: Vec<Vec<TestIndex>> = files.iter().map(of_file).collect();
        for tests in &mut of_files {
            tests.retain(|test| self.fails_after(*test, target));
        }
        match of_files.as_slice() {
            [tests] => tests.iter().map(|test| vec![*test]).collect(),
            all => {
                let group: Option<Group> = all.iter().map(|tests| tests.first().copied()).collect();
                group.into_iter().collect()
            }
        }
    }

    /// Whether the target fails after a test in a process that has imported everything.
    fn fails_after(&mut self, test: TestIndex, target: TestIndex) -> bool {
        let experiment = Experiment {
            run: RunId(0),
            order: Order::from_distinct([test, target]),
            environment: Environment::Plain,
            repetition: Repetition::Once,
        };
        let ended = self.world.run(&experiment).ok();
        let last = ended.and_then(|observation| observation.attempts.last()?.outcome.evidence());
        last == Some(Evidence::Fail)
    }
}

fn state(file: &str) -> State {
    State { place: file.to_owned(), kind: StateKind::Import, before: None, after: None }
}
