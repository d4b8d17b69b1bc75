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

use std::collections::BTreeSet;

use unflake_model::{
    CleanersOf, Confirmation, Dependencies, Evidence, Finding, Group, Order, TestIndex, Verdict,
};

use crate::confirm::plain::{Said, confirm, count_shown, plain};
use crate::lab::{Lab, PlainAsk};
use crate::search::GROUPS_MAX;
use crate::subset::minimal_subset;

/// So many sets of files are looked for, each of which is enough.
const SETS_MAX: usize = 4;

/// So many tests that always fail are tried alone: a broken suite has thousands.
const TRIED_MAX: usize = 20;

/// A file, by the number under which the caller knows it.
pub type File = usize;

/// A test that stumbles over files that are merely collected.
#[derive(Clone, Debug)]
pub struct Stumbles {
    /// What was found, as the plain runner sees it.
    pub finding: Finding,
    /// What that runner says about it.
    pub said: Said,
    /// Sets of files, each of which is enough by itself. There is at least one.
    pub guilty: Vec<Vec<File>>,
}

/// Looks for files that tests do not stand.
pub struct Imports {
    lab: Lab,
    /// The file of each test.
    files: Vec<File>,
    /// Sets of files that were found guilty before: the next test may not stand the same ones.
    known: Vec<Vec<File>>,
    n_tried: usize,
}

impl Imports {
    /// Among tests that stand in these files.
    pub fn new(lab: Lab, files: Vec<File>) -> Self {
        Self { lab, files, known: Vec::new(), n_tried: 0 }
    }

    /// Tells a finding that the plain runner denies as that runner sees it, where files explain it.
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
        // A test that the plain runner hashes otherwise each time fails by chance, whatever files
        // are collected: they are to blame only if it fails each time with them, and never without.
        let ask = self.among(finding.test, &[]);
        let alone = count_shown(&self.lab, &ask, Evidence::Pass).await;
        let is_to_blame = is_shown(&said) && alone.is_ok_and(Confirmation::is_complete);
        is_to_blame.then_some(Stumbles { finding, said, guilty })
    }

    /// Sets of files that make the test fail when they are collected, each enough by itself; none
    /// if it fails without.
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

    /// A set of files that makes the test fail, with no file of these sets in it.
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

    /// The test alone, while these files are collected. A file is named by its first test.
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

    /// Who pollutes and who cleans up: nobody, if all tests of the guilty files put things right.
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

    /// Tests of these files, which act together, that leave things as importing them made them.
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

    /// Whether the target fails after a test in a process that has imported everything.
    async fn fails_after(&self, test: TestIndex, target: TestIndex) -> bool {
        let run = self.lab.run(Order::from_distinct([test, target])).await;
        run.is_ok_and(|run| run.last_evidence() == Some(Evidence::Fail))
    }
}
