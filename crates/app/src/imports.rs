//! Does a test stumble over a file that is merely collected?
//!
//! An agent collects all files before the first test is run; the plain runner, told to run one
//! test, imports the file of that test only. So a test that fails by itself here and passes there
//! does not stand what importing some other file does. Which file that is, the plain runner says:
//! it is told to collect some of them, and to run the one test.
//!
//! For whoever runs the tests it is a victim. Whatever test of that file is run before it, the file
//! is imported first; so all of them are polluters, but for those that put things right, as the
//! agent says. Tests that were found to set the state up are cleaners.

use std::collections::{BTreeMap, BTreeSet};

use unflake_detect::search::GROUPS_MAX;
use unflake_detect::subset::minimal_subset;
use unflake_engine::Collected;
use unflake_model::{
    CleanersOf, Dependencies, Environment, Evidence, Experiment, Finding, Group, Order,
    OutcomeKind, Repetition, RunId, Suite, TestIndex, Verdict,
};
use unflake_report::{Confirmation, Exhibit, State};

use crate::cold::{self, PlainRunner};
use crate::world::EngineWorld;

/// The kind of state under which a file is named.
const KIND: &str = "import";

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
        if exhibit.cold_confirmed.is_some_and(Confirmation::is_complete) {
            return;
        }
        if let Some((finding, state)) = self.told_anew(&exhibit.finding) {
            exhibit.cold_confirmed =
                cold::confirm(self.suite, &finding, self.runner).ok().flatten();
            exhibit.reproduce = cold::commands(self.suite, &finding, self.runner);
            (exhibit.finding, exhibit.state) = (finding, state);
        }
    }

    /// The finding as the plain runner sees it, and the files behind it; `None` if it is not about
    /// files, or that could not be found out.
    fn told_anew(&mut self, finding: &Finding) -> Option<(Finding, Vec<State>)> {
        let fails_alone = matches!(finding.verdict, Verdict::OdBrittle | Verdict::AlwaysFailing);
        if !fails_alone || self.n_tried == TRIED_MAX {
            return None;
        }
        self.n_tried += 1;
        let guilty = self.guilty(finding.test).ok()??;
        let dependencies = self.dependencies(&guilty, finding)?;
        let state = |file: &&str| State {
            place: (*file).to_owned(),
            kind: KIND.to_owned(),
            before: None,
            after: None,
        };
        let states = guilty.iter().map(state).collect();
        let finding = Finding {
            verdict: Verdict::OdVictim,
            confirmed: true,
            confidence: None,
            contrast: None,
            dependencies,
            ..finding.clone()
        };
        Some((finding, states))
    }

    /// The files that make the test fail when they are collected, if it passes without.
    fn guilty(&mut self, test: TestIndex) -> Result<Option<Vec<&'a str>>, String> {
        if self.fails_among(test, &[])? {
            return Ok(None);
        }
        for known in &self.known {
            if self.fails_among(test, known)? {
                return Ok(Some(known.clone()));
            }
        }
        let own = self.files.get(&test).copied();
        let mut seen = BTreeSet::new();
        let others: Vec<&'a str> = self
            .files
            .values()
            .copied()
            .filter(|file| Some(*file) != own && seen.insert(*file))
            .collect();
        let chosen = |places: &[usize]| -> Vec<&'a str> {
            places.iter().map(|place| others[*place]).collect()
        };
        let guilty =
            minimal_subset(others.len(), |places| self.fails_among(test, &chosen(places)))?;
        let guilty = guilty.map(|places| chosen(&places)).filter(|files| !files.is_empty());
        self.known.extend(guilty.clone());
        Ok(guilty)
    }

    fn fails_among(&self, test: TestIndex, files: &[&str]) -> Result<bool, String> {
        let took = self.suite.duration(test);
        let ended = self.runner.run_among(self.suite.id(test), files, took)?;
        match ended.and_then(OutcomeKind::evidence) {
            Some(evidence) => Ok(evidence == Evidence::Fail),
            None => Err("the test neither passed nor failed".to_owned()),
        }
    }

    /// Who pollutes and who cleans up; `None` if all tests of the guilty files put things right.
    fn dependencies(&mut self, guilty: &[&str], finding: &Finding) -> Option<Dependencies> {
        let of_file = |file: &&str| -> Vec<TestIndex> {
            let tests = self.files.iter().filter(|(_, its)| *its == file);
            tests.map(|(test, _)| *test).take(GROUPS_MAX).collect()
        };
        let mut of_files: Vec<Vec<TestIndex>> = guilty.iter().map(of_file).collect();
        for tests in &mut of_files {
            tests.retain(|test| self.fails_after(*test, finding.test));
        }
        let polluters: Vec<Group> = match of_files.as_slice() {
            [tests] => tests.iter().map(|test| vec![*test]).collect(),
            all => vec![all.iter().map(|tests| tests.first().copied()).collect::<Option<_>>()?],
        };
        let is_outside = |test: &TestIndex| !guilty.contains(&self.files[test]);
        let setters = finding.dependencies.state_setters.iter().filter(|group| group.len() == 1);
        let cleaners: Vec<TestIndex> = setters.flatten().copied().filter(is_outside).collect();
        let cleaners_of = |polluters: &Group| CleanersOf {
            polluters: polluters.clone(),
            cleaners: cleaners.clone(),
        };
        let cleaners = polluters.iter().map(cleaners_of).collect();
        let is_some = !polluters.is_empty();
        is_some.then_some(Dependencies { polluters, cleaners, state_setters: Vec::new() })
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
