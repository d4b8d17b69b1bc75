//! Stopped by the user or by the clock, on little projects with a real Python.
//!
//! Nothing here waits for time to pass: who is told what begins raises the interrupt there, and
//! tests of a project write to a pipe when it is their turn.

#![expect(
    clippy::unwrap_used,
    reason = "what cannot be read or started is a fault of the surroundings"
)]

use std::fs;
use std::time::Duration;

use tempfile::TempDir;
use unflake_app::logbook::{Progress, Standing};
use unflake_app::study::StudyError;
use unflake_app::triage::{TriageError, TriageRequest, triage};
use unflake_engine::{Interrupt, Limits, Start};
use unflake_model::Verdict;
use unflake_pytest::{Interpreter, Project, Runner, Shelters, Surroundings};

/// More than any step takes on any machine: nothing in these tests waits for it to pass.
const AMPLE: Duration = Duration::from_mins(3);

/// A little project.
struct Little {
    _folder: TempDir,
    project: Project,
}

impl Little {
    fn new(files: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            fs::write(folder.path().join(name), text).unwrap();
        }
        let python = std::env::var_os("UNFLAKE_TEST_PYTHON").unwrap_or_else(|| "python3".into());
        let around = Surroundings {
            python: Some(python),
            virtual_env: None,
            path: std::env::var_os("PATH"),
            current_dir: folder.path().canonicalize().unwrap(),
        };
        let project = Project {
            interpreter: Interpreter::find(&around).unwrap(),
            current_dir: around.current_dir,
            runner: Runner::Pytest,
            paths: Vec::new(),
            options: Vec::new(),
            hash_seed: None,
            before: None,
            first: None,
            kept: None,
            shelters: Shelters::default(),
            env: Vec::new(),
        };
        Self { _folder: folder, project }
    }
}

fn limits() -> Limits {
    Limits {
        start: Start::Fork,
        isolation: Vec::new(),
        start_timeout: AMPLE,
        test_timeout: AMPLE,
        run_timeout: None,
        jobs: 1,
    }
}

/// Raises the interrupt as soon as something begins that is called like this.
struct Raiser {
    at: &'static str,
    interrupt: Interrupt,
}

impl Raiser {
    fn at(at: &'static str) -> Self {
        Self { at, interrupt: Interrupt::default() }
    }
}

impl Progress for Raiser {
    fn stage(&mut self, what: &str) {
        if what.starts_with(self.at) {
            self.interrupt.raise();
        }
    }

    fn note(&mut self, _what: &str) {}

    fn ran(&mut self, _standing: Standing) {}
}

/// What came of two broken tests that were looked into until something began.
fn triage_until(at: &'static str) -> Result<unflake_app::triage::Triage, TriageError> {
    let tests = "def test_a():\n    assert False\n\n\ndef test_b():\n    assert False\n";
    let little = Little::new(&[("test_it.py", tests)]);
    let case = |name| {
        let failure = r#"<failure message="no">assert False</failure>"#;
        format!(r#"<testcase classname="test_it" name="{name}">{failure}</testcase>"#)
    };
    let report = format!("<testsuite>{}{}</testsuite>", case("test_a"), case("test_b"));
    let request = TriageRequest { report, tries: 1, n_seeds: 2, tests_max: 9, wall_max: None };
    let mut raiser = Raiser::at(at);
    let interrupt = raiser.interrupt.clone();
    triage(&request, &little.project, &limits(), &interrupt, &mut raiser)
}

#[test]
fn triage_begins_no_other_seed_once_it_is_stopped_and_says_that_it_does_not_know() {
    let whole = triage_until("no such stage").unwrap();
    assert!(whole.tests.iter().all(|it| it.verdict == Verdict::AlwaysFailing), "{whole:?}");
    assert!(whole.tests.iter().all(|it| it.seen.seeds.len() == 2), "{whole:?}");

    let stopped = triage_until("running tests again under other seeds").unwrap();
    assert_eq!(stopped.tests.len(), 2);
    assert!(stopped.tests.iter().all(|it| it.seen.alone.attempts == 1), "{stopped:?}");
    assert!(stopped.tests.iter().all(|it| it.seen.seeds.is_empty()), "{stopped:?}");
    let is_open = |verdict| verdict == Verdict::InsufficientEvidence;
    assert!(stopped.tests.iter().all(|it| is_open(it.verdict)), "{stopped:?}");
}

#[test]
fn triage_looks_into_nothing_when_it_is_stopped_before_the_tests_are_collected() {
    let error = triage_until("collecting tests").unwrap_err();
    assert!(matches!(error, TriageError::Study(StudyError::Interrupted)), "{error:?}");
}

#[test]
fn triage_leaves_the_rest_when_it_is_stopped_at_a_test() {
    let stopped = triage_until("running test_it.py::test_b again").unwrap();
    assert_eq!(stopped.not_looked_into.len(), 1, "{stopped:?}");
    assert_eq!(stopped.tests[0].verdict, Verdict::InsufficientEvidence, "no seed was tried");
}
