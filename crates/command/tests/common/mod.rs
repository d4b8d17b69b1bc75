//! Little projects with a runner of their own, written to a temporary folder.

use std::fs;
use std::path::Path;
use std::time::Duration;

use tempfile::TempDir;
use unflake_command::settings::{Row, Settings};
use unflake_command::{Plain, Project};
use unflake_engine::{
    Ending, Engine, Event, Failure, Interrupt, Isolation, Level, Limits, Start, StartError,
};
use unflake_model::{Experiment, Observation, Order, Outcome, RunId, Suite, TestIndex};

/// More than any step takes on any machine: nothing in these tests waits for it to pass.
pub(crate) const AMPLE: Duration = Duration::from_mins(3);

pub(crate) const ALL_LEVELS: [Level; 4] = [Level::Pid, Level::Tree, Level::Home, Level::Net];

/// A little project.
pub(crate) struct Little {
    pub(crate) folder: TempDir,
    pub(crate) project: Project,
}

/// The command of the runner with these words behind it.
pub(crate) fn words(behind: &[&str]) -> Vec<String> {
    let python = std::env::var_os("UNFLAKE_TEST_PYTHON").unwrap_or_else(|| "python3".into());
    let python = python.into_string().unwrap();
    let own = [python, "runner.py".to_owned()];
    own.into_iter().chain(behind.iter().map(|&word| word.to_owned())).collect()
}

impl Little {
    /// These tests, run and reported like this.
    pub(crate) fn new(tests: &[&str], report: &str, run: &[&str]) -> Self {
        Self::changed(tests, report, run, |_| ())
    }

    pub(crate) fn changed(
        tests: &[&str],
        report: &str,
        run: &[&str],
        change: impl FnOnce(&mut Row),
    ) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("runner.py"), include_str!("runner.py")).unwrap();
        fs::write(folder.path().join("tests.txt"), tests.join("\n") + "\n").unwrap();
        let (list, run) = (words(&["--list"]), words(run));
        let mut row = Row { list, run, report: report.to_owned(), ..Row::default() };
        change(&mut row);
        let project = Project {
            settings: Settings::new(row).unwrap(),
            folder: folder.path().canonicalize().unwrap(),
            program: env!("CARGO_BIN_EXE_unflake-command-agent").into(),
            chosen: Vec::new(),
        };
        Self { folder, project }
    }

    pub(crate) fn try_start(&self, change: impl FnOnce(&mut Limits)) -> Result<Engine, StartError> {
        let mut limits = Limits {
            start: Start::Fork,
            isolation: ALL_LEVELS.to_vec(),
            start_timeout: AMPLE,
            test_timeout: AMPLE,
            run_timeout: None,
            jobs: 1,
        };
        change(&mut limits);
        Engine::start(self.project.launch(limits), &Interrupt::default())
    }

    pub(crate) fn start(&self) -> Engine {
        self.try_start(|_| ()).unwrap()
    }

    pub(crate) fn plain(&self) -> Plain<'_> {
        Plain { project: &self.project, time_max: AMPLE }
    }
}

pub(crate) fn suite(engine: &Engine) -> Suite {
    engine.suite(|_| Duration::from_millis(1))
}

/// Everything that was said about a run.
pub(crate) struct Ran {
    pub(crate) observation: Observation,
    pub(crate) ending: Ending,
    pub(crate) isolation: Isolation,
    pub(crate) failures: Vec<Failure>,
}

impl Ran {
    pub(crate) fn outcomes(&self) -> Vec<Outcome> {
        self.observation.attempts.iter().map(|attempt| attempt.outcome).collect()
    }

    /// Why it says nothing about its tests.
    pub(crate) fn void(&self) -> (&str, &str) {
        match &self.ending {
            Ending::NotStarted { why, stderr } => (why, stderr),
            other => panic!("{other:?}"),
        }
    }
}

pub(crate) fn experiment(run: u64, tests: &[usize]) -> Experiment {
    let tests: Vec<TestIndex> = tests.iter().copied().map(TestIndex::new).collect();
    Experiment::new(RunId(run), Order::from_distinct(tests))
}

/// Runs tests by their places in the list.
pub(crate) fn run(engine: &mut Engine, tests: &[usize]) -> Ran {
    run_as(engine, &experiment(0, tests))
}

pub(crate) fn run_as(engine: &mut Engine, experiment: &Experiment) -> Ran {
    engine.submit(experiment).unwrap();
    let mut ran = None;
    let mut failures = Vec::new();
    loop {
        match engine.next_event().unwrap() {
            Event::RunEnded { observation, ending, isolation } => {
                ran = Some((observation, ending, isolation));
            }
            Event::TestEnded { failure, .. } => failures.extend(failure),
            Event::Idle => break,
            _ => (),
        }
    }
    let (observation, ending, isolation) = ran.unwrap();
    Ran { observation, ending, isolation, failures }
}

/// The names of what is in a folder.
pub(crate) fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}
