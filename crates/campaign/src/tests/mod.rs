//! An engine on a little project, for tests of who answers.

use std::time::Duration;

use unflake_engine::{Engine, Interrupt, Limits, Start};
use unflake_pytest::{Project, Runner, Surroundings};

/// More than any step takes on any machine: nothing here waits for it to pass.
const AMPLE: Duration = Duration::from_mins(3);

/// An engine for these tests.
pub(crate) fn engine(tests: &str, interrupt: &Interrupt) -> (tempfile::TempDir, Engine) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("test_it.py"), tests).unwrap();
    let python = std::env::var_os("UNFLAKE_TEST_PYTHON").unwrap_or_else(|| "python3".into());
    let around = Surroundings {
        python: Some(python),
        virtual_env: None,
        path: std::env::var_os("PATH"),
        current_dir: folder.path().canonicalize().unwrap(),
        own_program: None,
    };
    let project = Project { runner: Runner::Pytest, ..Project::find(around).unwrap() };
    let limits = Limits {
        start: Start::Fork,
        isolation: Vec::new(),
        start_timeout: AMPLE,
        test_timeout: AMPLE,
        run_timeout: None,
        jobs: 1,
    };
    let engine = Engine::start(project.launch(limits), interrupt).unwrap();
    (folder, engine)
}
