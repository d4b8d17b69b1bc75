//! Does a test fail because some file is merely collected?
//!
//! An agent collects all files before the first test runs; the plain runner, asked to run one test,
//! imports only the file of that test. So if a test fails by itself here and passes there,
//! importing some other file breaks it. The plain runner shows which file: it is asked to collect
//! some of them, and to run the one test.
//!
//! To a user the test is a victim. Whichever test of that file runs before it, the file is imported
//! first; so all of them are polluters, except those that put things right, as the agent shows.
//! Tests that were found to set the state up are cleaners. If all tests of the file put things
//! right, there is no polluter, and the command collects the file and runs none of it.

use std::collections::BTreeSet;

use unflake_model::{
    CleanersOf, Confirmation, Dependencies, Evidence, Finding, Group, Order, TestIndex, Verdict,
};

use crate::confirm::plain::{Said, confirm, count_shown, plain};
use crate::lab::{Lab, PlainAsk};
use crate::search::GROUPS_MAX;
use crate::subset::minimal_subset;

/// How many sets of files to search for, each of which is enough.
const SETS_MAX: usize = 4;

/// How many tests that always fail are tried alone: a broken suite has thousands.
const TRIED_MAX: usize = 20;

/// The number by which the caller knows a file.
pub type File = usize;

/// A test that fails because files are merely collected.
#[derive(Clone, Debug)]
pub struct Stumbles {
    /// The finding as the plain runner sees it.
    pub finding: Finding,
    /// What the plain runner says about it.
    pub said: Said,
    /// Sets of files, each enough by itself; at least one.
    pub guilty: Vec<Vec<File>>,
}

/// Searches for files whose import breaks tests.
pub struct Imports {
    lab: Lab,
    /// The file of each test.
    files: Vec<File>,
    /// Sets of files found guilty before: the next test may break because of the same ones.
    known: Vec<Vec<File>>,
    n_tried: usize,
}

impl Imports {
    /// Searches among these files, one per test.
    pub fn new(lab: Lab, files: Vec<File>) -> Self {
        Self { lab, files, known: Vec::new(), n_tried: 0 }
    }

    /// Restates a finding that the plain runner denies as that runner sees it, if files explain it.
    pub async fn explain(&mut self, finding: &Finding, said: &Said) -> Option<Stumbles> {
        let fails_alone = matches!(finding.verdict, Verdict::OdBrittle | Verdict::AlwaysFailing);
        let is_shown = |said: &Said| matches!(said, Ok(Some(it)) if it.is_complete());
        if !fails_alone || is_shown(said) || self.n_tried == TRIED_MAX {
            return None;
        }
        self.n_tried += 1;
        let guilty = self.guilty(finding.test).await.ok()?;
        let first = guilty.first()?;
        let finding = Finding {
            verdict: Verdict::OdVictim,
            confirmed: true,
            confidence: None,
            contrast: None,
            dependencies: self.dependencies(&guilty, finding).await,
            ..finding.clone()
        };
        let said: Said = if finding.dependencies.polluters.is_empty() {
            let ask = self.among(finding.test, first);
            count_shown(&self.lab, &ask, Evidence::Fail).await.map(Some)
        } else {
            confirm(&self.lab, &finding).await
        };
        // If the plain runner hashes differently each time, the test fails by chance, whatever
        // files are collected: they are to blame only if it fails each time with them, and never
        // without.
        let ask = self.among(finding.test, &[]);
        let alone = count_shown(&self.lab, &ask, Evidence::Pass).await;
        let is_to_blame = is_shown(&said) && alone.is_ok_and(Confirmation::is_complete);
        is_to_blame.then_some(Stumbles { finding, said, guilty })
    }

    /// Sets of files that make the test fail when collected, each enough by itself; none if it
    /// fails without them.
    async fn guilty(&mut self, test: TestIndex) -> Result<Vec<Vec<File>>, String> {
        if self.fails_among(test, &[]).await? {
            return Ok(Vec::new());
        }
        let mut guilty: Vec<Vec<File>> = Vec::new();
        for known in &self.known {
            if self.fails_among(test, known).await? {
                guilty.push(known.clone());
            }
        }
        while guilty.len() < SETS_MAX {
            let Some(files) = self.another(test, &guilty).await? else { break };
            self.known.push(files.clone());
            guilty.push(files);
        }
        Ok(guilty)
    }

    /// A set of files that makes the test fail and shares no file with these sets.
    async fn another(
        &self,
        test: TestIndex,
        but: &[Vec<File>],
    ) -> Result<Option<Vec<File>>, String> {
        let mut left_out: BTreeSet<File> = but.iter().flatten().copied().collect();
        left_out.insert(self.files[test.get()]);
        let others = self.files.iter().copied().filter(|file| left_out.insert(*file));
        let others: Vec<File> = others.collect();
        let chosen =
            |places: &[usize]| -> Vec<File> { places.iter().map(|place| others[*place]).collect() };
        let fails = async |places: &[usize]| self.fails_among(test, &chosen(places)).await;
        let found = minimal_subset(others.len(), fails).await?;
        Ok(found.map(|places| chosen(&places)).filter(|files| !files.is_empty()))
    }

    /// Asks for the test alone while these files are collected. A file is named by its first test.
    fn among(&self, test: TestIndex, files: &[File]) -> PlainAsk {
        let first = |file: &File| self.files.iter().position(|its| its == file);
        let among = files.iter().filter_map(first).map(TestIndex::new).collect();
        PlainAsk { among: Some(among), ..PlainAsk::of(vec![test]) }
    }

    async fn fails_among(&self, test: TestIndex, files: &[File]) -> Result<bool, String> {
        let run = plain(&self.lab, self.among(test, files)).await?;
        match run.last_evidence() {
            Some(evidence) => Ok(evidence == Evidence::Fail),
            None => Err("the test neither passed nor failed".to_owned()),
        }
    }

    /// The polluters and cleaners: none if all tests of the guilty files put things right.
    async fn dependencies(&self, guilty: &[Vec<File>], finding: &Finding) -> Dependencies {
        let mut polluters: Vec<Group> = Vec::new();
        for files in guilty {
            polluters.extend(self.polluters(files, finding.test).await);
        }
        let is_outside =
            |test: &TestIndex| !guilty.iter().flatten().any(|file| *file == self.files[test.get()]);
        let setters = finding.dependencies.state_setters.iter().filter(|group| group.len() == 1);
        let cleaners: Vec<TestIndex> = setters.flatten().copied().filter(is_outside).collect();
        let cleaners_of = |polluters: &Group| CleanersOf {
            polluters: polluters.clone(),
            cleaners: cleaners.clone(),
        };
        let cleaners = polluters.iter().map(cleaners_of).collect();
        Dependencies { polluters, cleaners, state_setters: Vec::new() }
    }

    /// Tests of these files, which act together, that leave the state as the import made it.
    async fn polluters(&self, files: &[File], target: TestIndex) -> Vec<Group> {
        let mut of_files: Vec<Vec<TestIndex>> = Vec::new();
        for file in files {
            let tests = (0..).zip(&self.files).filter(|(_, its)| *its == file);
            let mut polluting = Vec::new();
            for test in tests.map(|(number, _)| TestIndex::new(number)).take(GROUPS_MAX) {
                if self.fails_after(test, target).await {
                    polluting.push(test);
                }
            }
            of_files.push(polluting);
        }
        match of_files.as_slice() {
            [tests] => tests.iter().map(|test| vec![*test]).collect(),
            all => {
                let group: Option<Group> = all.iter().map(|tests| tests.first().copied()).collect();
                group.into_iter().collect()
            }
        }
    }

    /// Whether the target fails after a test in a process that has imported all files.
    async fn fails_after(&self, test: TestIndex, target: TestIndex) -> bool {
        let run = self.lab.run(Order::from_distinct([test, target])).await;
        run.is_ok_and(|run| run.last_evidence() == Some(Evidence::Fail))
    }
}
