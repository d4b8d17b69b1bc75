//! Little projects, written to a temporary folder and run with a real Python.

use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::time::Duration;

use tempfile::TempDir;
use unflake_engine::process::{CommandLine, run_to_end};
use unflake_engine::{
    Ending, Engine, Event, Interrupt, Level, Limits, PlainRun, Start, StartError,
};
use unflake_model::{
    Environment, Experiment, Observation, Order, Outcome, RunId, Suite, TestIndex,
};
use unflake_pytest::{Invocation, Plain, Project, Runner, Surroundings};

/// More than any step takes on any machine: nothing in these tests waits for it to pass.
pub(crate) const AMPLE: Duration = Duration::from_mins(3);

/// An interpreter that has pytest: named by whoever runs the tests, else the one on the path.
pub(crate) fn python() -> OsString {
    let python = std::env::var_os("UNFLAKE_TEST_PYTHON").unwrap_or_else(|| "python3".into());
    let line = CommandLine {
        program: python.clone(),
        arguments: vec!["-c".into(), "import pytest".into()],
        current_dir: "/".into(),
        env: Vec::new(),
    };
    let has_pytest = run_to_end(&line, AMPLE, &Interrupt::default())
        .is_ok_and(|finished| finished.exit.code == Some(0));
    assert!(
        has_pytest,
        "`{}` has no pytest: set UNFLAKE_TEST_PYTHON to a Python that has it",
        python.display()
    );
    python
}

/// A little project.
pub(crate) struct Little {
    pub(crate) folder: TempDir,
    pub(crate) project: Project,
}

impl Little {
    /// These files, run by pytest.
    pub(crate) fn new(files: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let around = Surroundings {
            python: Some(python()),
            virtual_env: None,
            path: std::env::var_os("PATH"),
            current_dir: folder.path().canonicalize().unwrap(),
            own_program: None,
        };
        let project = Project { runner: Runner::Pytest, ..Project::find(around).unwrap() };
        Self { folder, project }
    }

    pub(crate) fn try_start(&self, change: impl FnOnce(&mut Limits)) -> Result<Engine, StartError> {
        let mut limits = Limits {
            start: Start::Fork,
            isolation: vec![Level::Pid, Level::Tree, Level::Home, Level::Net],
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

    pub(crate) fn plain<'a>(&'a self, engine: &'a Engine) -> Plain<'a> {
        Plain {
            project: &self.project,
            collected: engine.collected(),
            invocation: Invocation::Module,
            time_max: AMPLE,
            changed: &[],
        }
    }
}

pub(crate) fn suite(engine: &Engine) -> Suite {
    engine.suite(|_| Duration::from_millis(1))
}

/// Runs tests by name, and everything that is said about the run.
pub(crate) fn run(engine: &mut Engine, names: &[&str]) -> Ran {
    let suite = suite(engine);
    let find = |name: &&str| {
        let id = name.parse().unwrap();
        suite.find(&id).unwrap_or_else(|| panic!("`{name}` was not collected"))
    };
    let tests: Vec<TestIndex> = names.iter().map(find).collect();
    run_order(engine, Order::from_distinct(tests))
}

pub(crate) fn run_order(engine: &mut Engine, order: Order) -> Ran {
    run_in(engine, order, Environment::Plain)
}

pub(crate) fn run_in(engine: &mut Engine, order: Order, environment: Environment) -> Ran {
    let experiment = Experiment { environment, ..Experiment::new(RunId(0), order) };
    engine.submit(&experiment).unwrap();
    let mut ran = None;
    let mut messages = Vec::new();
    loop {
        match engine.next_event().unwrap() {
            Event::RunEnded { observation, ending, .. } => ran = Some((observation, ending)),
            Event::TestEnded { failure: Some(failure), .. } => messages.push(failure.message),
            Event::Idle => break,
            _ => (),
        }
    }
    let (observation, ending) = ran.unwrap();
    Ran { observation, ending, messages }
}

pub(crate) struct Ran {
    pub(crate) observation: Observation,
    pub(crate) ending: Ending,
    pub(crate) messages: Vec<String>,
}

impl Ran {
    pub(crate) fn outcomes(&self) -> Vec<Outcome> {
        self.observation.attempts.iter().map(|attempt| attempt.outcome).collect()
    }
}

pub(crate) fn outcomes(run: &PlainRun) -> Vec<Outcome> {
    run.tests.iter().map(|said| said.outcome).collect()
}

/// Every file below a folder, with its contents.
pub(crate) fn tree(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                found.push((path.display().to_string(), fs::read(&path).unwrap()));
            }
        }
    }
    found.sort();
    found
}
