//! What happens when the user or the clock stops a command, on small projects with a real Python.
//!
//! No test waits for time to pass: a progress listener raises the interrupt when a stage begins,
//! and tests of a project connect to a socket when it is their turn.

#![expect(
    clippy::unwrap_used,
    reason = "what cannot be read or started is a fault of the surroundings"
)]

use std::fs;
use std::os::unix::net::UnixListener;
use std::thread;
use std::time::Duration;

use tempfile::TempDir;
use unflake_app::fix::{FixRequest, fix};
use unflake_app::replay::{By, ReplayError, ReplayRequest, replay};
use unflake_app::run::{RunRequest, single};
use unflake_app::study::{RerunRequest, study_reruns};
use unflake_app::triage::{TriageError, TriageRequest, triage};
use unflake_campaign::begin::{Keep, Unfinished};
use unflake_campaign::error::CampaignError;
use unflake_campaign::history::History;
use unflake_campaign::logbook::{Progress, Standing};
use unflake_campaign::question::{Question, Request};
use unflake_detect::Depth;
use unflake_detect::rerun_study::Batches;
use unflake_engine::{Interrupt, Limits, Start};
use unflake_known::fix::Fix;
use unflake_known::suite_run::Sequence;
use unflake_known::triage::Triage;
use unflake_model::{Budget, Confidence, Verdict};
use unflake_pytest::{Project, Runner, Surroundings};
use unflake_stats::rate::Rate;

/// More than any step takes on any machine: nothing in these tests waits for it to pass.
const AMPLE: Duration = Duration::from_mins(3);

/// A small project.
struct Little {
    _folder: TempDir,
    project: Project,
}

/// A folder outside of any project, of which plain runs have their own view.
struct Outside(TempDir);

impl Outside {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    /// A test that connects to the socket here in its third run, and blocks there.
    fn knocking(&self) -> String {
        let text = "import os, signal, socket\n\n\n\
            def test_it():\n    \
                os.chdir('OUTSIDE')\n    \
                with open('runs', 'a+') as runs:\n        \
                    runs.write('x')\n        \
                    runs.seek(0)\n        \
                    is_third = runs.read() == 'xxx'\n    \
                if is_third:\n        \
                    socket.socket(socket.AF_UNIX).connect('door')\n        \
                    signal.pause()\n";
        text.replace("OUTSIDE", self.0.path().to_str().unwrap())
    }

    /// Raises the interrupt when a test connects.
    fn raise_at_knock(&self, interrupt: &Interrupt) {
        let interrupt = interrupt.clone();
        let door = UnixListener::bind(self.0.path().join("door")).unwrap();
        thread::spawn(move || door.accept().map(|_| interrupt.raise()));
    }

    /// A history of a project, kept here.
    fn keep(&self, little: &Little) -> Keep {
        Keep {
            file: self.0.path().join("history.sqlite"),
            root: little.project.current_dir.clone(),
            command: "unflake".to_owned(),
            started_unix_ms: 0,
            unfinished: Unfinished::Leave,
        }
    }
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
            own_program: None,
        };
        let project = Project { runner: Runner::Pytest, ..Project::find(around).unwrap() };
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

/// Raises the interrupt as soon as a stage with this name begins.
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

/// The triage of two broken tests, stopped when a stage begins.
fn triage_until(at: &'static str) -> Result<Triage, TriageError> {
    let tests = "def test_a():\n    assert False\n\n\ndef test_b():\n    assert False\n";
    let little = Little::new(&[("test_it.py", tests)]);
    let case = |name| {
        let failure = r#"<failure message="no">assert False</failure>"#;
        format!(r#"<testcase classname="test_it" name="{name}">{failure}</testcase>"#)
    };
    let report = format!("<testsuite>{}{}</testsuite>", case("test_a"), case("test_b"));
    let reports = vec![report];
    let request = TriageRequest { reports, tries: 1, n_seeds: 2, tests_max: 9, wall_max: None };
    let mut raiser = Raiser::at(at);
    let interrupt = raiser.interrupt.clone();
    triage(&request, &little.project, &limits(), &interrupt, &mut raiser)
}

#[test]
fn triage_begins_no_other_seed_once_it_is_stopped_and_says_that_it_does_not_know() {
    let whole = triage_until("no such stage").unwrap();
    assert!(whole.tests.iter().all(|it| it.verdict == Verdict::AlwaysFailing), "{whole:?}");
    assert!(whole.tests.iter().all(|it| it.seen.seeds.len() == 2), "{whole:?}");

    let stopped = triage_until("running tests again under other open choices").unwrap();
    assert_eq!(stopped.tests.len(), 2);
    assert!(stopped.tests.iter().all(|it| it.seen.alone.attempts == 1), "{stopped:?}");
    assert!(stopped.tests.iter().all(|it| it.seen.seeds.is_empty()), "{stopped:?}");
    let is_open = |verdict| verdict == Verdict::InsufficientEvidence;
    assert!(stopped.tests.iter().all(|it| is_open(it.verdict)), "{stopped:?}");
}

#[test]
fn triage_looks_into_nothing_when_it_is_stopped_before_the_tests_are_collected() {
    let error = triage_until("collecting tests").unwrap_err();
    assert!(matches!(error, TriageError::Campaign(CampaignError::Interrupted)), "{error:?}");
}

#[test]
fn triage_leaves_the_rest_when_it_is_stopped_at_a_test() {
    let stopped = triage_until("running test_it.py::test_b again").unwrap();
    assert_eq!(stopped.not_looked_into.len(), 1, "{stopped:?}");
    assert_eq!(stopped.tests[0].verdict, Verdict::InsufficientEvidence, "no seed was tried");
}

#[test]
fn a_replay_tells_of_the_tries_before_the_one_that_was_stopped() {
    for by in [By::Agent, By::PlainRunner] {
        let outside = Outside::new();
        let little = Little::new(&[("test_it.py", &outside.knocking())]);
        let keep = outside.keep(&little);
        let (sequence, command) = (Sequence::Original, "unflake run".to_owned());
        let request = RunRequest { sequence, seed: 0, keep: Some(keep.clone()), command };
        let mut quiet = Raiser::at("no such stage");
        let interrupt = quiet.interrupt.clone();
        single(&request, &little.project, &limits(), &interrupt, &mut quiet).unwrap();
        let past = History::open(&keep.file).unwrap().run(&"0".parse().unwrap()).unwrap();

        outside.raise_at_knock(&interrupt);
        let mut again = |tries| {
            let request = ReplayRequest { run: &past, by, tries };
            replay(request, &little.project, &limits(), &interrupt, &mut quiet)
        };
        let stopped = again(3).unwrap();
        assert_eq!((stopped.tries, stopped.tries_asked), (1, 3), "{stopped:?}");
        assert_eq!((stopped.n_as_recorded(), stopped.differences.len()), (1, 0), "{stopped:?}");
        // An earlier interrupt does not affect the next replay.
        assert_eq!(again(2).unwrap().tries, 2);
    }
}

#[test]
fn a_replay_that_is_stopped_in_its_first_try_has_nothing_to_tell() {
    let little = Little::new(&[("test_it.py", "def test_it():\n    pass\n")]);
    let outside = Outside::new();
    let keep = outside.keep(&little);
    let (sequence, command) = (Sequence::Original, "unflake run".to_owned());
    let request = RunRequest { sequence, seed: 0, keep: Some(keep.clone()), command };
    let mut raiser = Raiser::at("running it again");
    let interrupt = raiser.interrupt.clone();
    single(&request, &little.project, &limits(), &interrupt, &mut raiser).unwrap();
    let past = History::open(&keep.file).unwrap().run(&"0".parse().unwrap()).unwrap();
    for by in [By::Agent, By::PlainRunner] {
        let request = ReplayRequest { run: &past, by, tries: 2 };
        let error =
            replay(request, &little.project, &limits(), &interrupt, &mut raiser).unwrap_err();
        assert!(matches!(error, ReplayError::Campaign(CampaignError::Interrupted)), "{error:?}");
    }
}

/// The attempt to mend a victim, stopped when a stage begins.
fn fix_until(at: &'static str) -> Fix {
    let tests = "import state\n\n\n\
        def test_polluter():\n    state.x = 1\n\n\n\
        def test_victim():\n    assert state.x == 0\n";
    let little = Little::new(&[("state.py", "x = 0\n"), ("test_it.py", tests)]);
    let findings = Request {
        question: Question::Test("test_it.py::test_victim".parse().unwrap()),
        depth: Depth::Roles,
        budget: Budget::unlimited(Confidence::USUAL),
        flake_rate_min: Rate::new(1.0).unwrap(),
        seed: 0,
        wall_max: None,
        keep: None,
        command: "unflake fix".to_owned(),
    };
    let request = FixRequest { findings: &findings, all: false };
    let mut raiser = Raiser::at(at);
    let interrupt = raiser.interrupt.clone();
    fix(request, &little.project, &limits(), &interrupt, &mut raiser).unwrap()
}

#[test]
fn a_change_that_could_not_be_tried_any_more_is_not_said_not_to_help() {
    let whole = fix_until("no such stage");
    assert_eq!((whole.patches.len(), whole.is_cut_short), (1, false));
    for at in ["thinking of changes", "trying with the plain runner: "] {
        let stopped = fix_until(at);
        assert_eq!(stopped.findings.exhibits[0].finding.verdict, Verdict::OdVictim, "{at}");
        assert_eq!((stopped.patches.len(), stopped.rejected.len()), (0, 0), "{at}");
        assert!(stopped.is_cut_short, "{at}");
    }
}

#[test]
fn a_study_that_the_user_stopped_is_on_record_as_interrupted() {
    for (at, ended) in
        [("running the suite again and again", "interrupted"), ("no such stage", "confident")]
    {
        let little = Little::new(&[("test_it.py", "def test_it():\n    pass\n")]);
        let outside = Outside::new();
        let keep = outside.keep(&little);
        let request = RerunRequest {
            settings: Batches { seed: 0, n_batches: 2, runs_per_batch: 2, alone_max: 1 },
            budget: Budget::unlimited(Confidence::USUAL),
            wall_max: None,
            keep: Some(keep.clone()),
        };
        let mut raiser = Raiser::at(at);
        let interrupt = raiser.interrupt.clone();
        let findings = study_reruns(&request, &little.project, &limits(), &interrupt, &mut raiser);
        assert_eq!(findings.unwrap().is_interrupted, ended == "interrupted");
        let campaigns = History::open(&keep.file).unwrap().campaigns(9).unwrap();
        let on_record: Vec<_> = campaigns.iter().map(|it| it.ended.as_deref()).collect();
        assert_eq!(on_record, [Some(ended)]);
    }
}
