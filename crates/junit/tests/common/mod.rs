//! The projects in `tests/projects`, copied to a temporary folder and built with a real Maven or a
//! real Gradle.

use std::fs;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use tempfile::TempDir;
use unflake_engine::{Ending, Engine, Event, Interrupt, Launch, Limits};
use unflake_junit::{Plain, Prepared, Project, Surroundings, Tracing};
use unflake_model::{
    CalledFunction, Experiment, Look, Observation, Order, Outcome, Repetition, Restored, RunId,
    StateChange, Suite, TestIndex,
};

use crate::{FAILED, PASSED};

/// More than any step takes on any machine: nothing in these tests waits for it to pass.
pub(crate) const AMPLE: Duration = Duration::from_mins(10);

/// Every run is made alone.
const RUN: RunId = RunId(0);

/// A project that was built.
pub(crate) struct Built {
    folder: TempDir,
    pub(crate) project: Project,
}

/// The shop, built once for all tests.
pub(crate) fn shop() -> &'static Built {
    static SHOP: OnceLock<Built> = OnceLock::new();
    SHOP.get_or_init(|| {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().join("shop");
        let projects = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/projects");
        copy(&projects.join("shop"), &home);
        let around = surroundings(&home, folder.path());
        let project = Project::find(&around, &Interrupt::default()).unwrap_or_else(|error| {
            panic!("these tests need a JDK and Maven on the path: {error:?}")
        });
        Built { folder, project }
    })
}

/// The same sources, built by Gradle: once for all tests.
pub(crate) fn market() -> &'static Built {
    static MARKET: OnceLock<Built> = OnceLock::new();
    MARKET.get_or_init(|| {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().join("market");
        let projects = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/projects");
        copy(&projects.join("shop-gradle"), &home);
        for module in ["core", "old", "new", "broken"] {
            copy(&projects.join("shop").join(module).join("src"), &home.join(module).join("src"));
        }
        copy(&projects.join("choices/src"), &home.join("choices/src"));
        let around = surroundings(&home, folder.path());
        let project = Project::find(&around, &Interrupt::default()).unwrap_or_else(|error| {
            panic!("these tests need a JDK and Gradle on the path: {error:?}")
        });
        Built { folder, project }
    })
}

/// Surefire puts files of its own into the build folder, and takes them away at its end, those of
/// another run among them: one Maven at a time.
pub(crate) fn turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(crate) fn surroundings(project: &Path, folder: &Path) -> Surroundings {
    Surroundings {
        folder: project.to_owned(),
        options: Vec::new(),
        cache: folder.join("cache"),
        build_time_max: AMPLE,
    }
}

pub(crate) fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let into = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy(&path, &into);
        } else {
            fs::copy(&path, into).unwrap();
        }
    }
}

impl Built {
    pub(crate) fn prepare(&self, module: &str) -> Prepared {
        let module = self.project.modules.iter().find(|m| m.name == module).unwrap();
        module.prepare(AMPLE, &Interrupt::default()).unwrap()
    }

    pub(crate) fn plain<'a>(&'a self, prepared: &'a Prepared) -> Plain<'a> {
        Plain { project: &self.project, prepared, time_max: AMPLE }
    }
}

pub(crate) fn start(prepared: &Prepared) -> Engine {
    start_with(prepared, |_| ())
}

pub(crate) fn start_with(prepared: &Prepared, change: impl FnOnce(&mut Limits)) -> Engine {
    let mut limits = Limits::each_within(AMPLE);
    change(&mut limits);
    Engine::start(prepared.launch(&limits), &Interrupt::default()).unwrap()
}

/// One that can tell which functions tests call.
pub(crate) fn start_tracing(built: &Built, prepared: &Prepared) -> Engine {
    let cache = built.folder.path().join("cache");
    let tracing = Tracing::find(&built.project, &cache, &Interrupt::default()).unwrap();
    let limits = Limits::each_within(AMPLE);
    let launch = Launch { trace_flags: tracing.flags(), ..prepared.launch(&limits) };
    Engine::start(launch, &Interrupt::default()).unwrap()
}

pub(crate) fn suite(engine: &Engine) -> Suite {
    engine.suite(|_| Duration::from_millis(1))
}

/// Everything that is said about a run.
pub(crate) struct Ran {
    pub(crate) observation: Observation,
    pub(crate) ending: Ending,
    /// Message and whole text of each failure.
    pub(crate) failures: Vec<(String, String)>,
    /// What each attempt changed.
    pub(crate) changes: Vec<Vec<StateChange>>,
    /// What was put back.
    pub(crate) restored: Restored,
    /// The functions that each attempt called, as `module:name`, with their file and line.
    pub(crate) calls: Vec<Vec<String>>,
}

impl Ran {
    pub(crate) fn outcomes(&self) -> Vec<Outcome> {
        self.observation.attempts.iter().map(|attempt| attempt.outcome).collect()
    }
}

/// Runs tests of `com.acme` by name.
pub(crate) fn run(engine: &mut Engine, names: &[&str]) -> Ran {
    run_with(engine, names, Repetition::Once)
}

pub(crate) fn run_with(engine: &mut Engine, names: &[&str], repetition: Repetition) -> Ran {
    let order = order(engine, names);
    run_order(engine, order, repetition)
}

/// Runs them, and looks at the state that they leave behind.
pub(crate) fn run_watched(engine: &mut Engine, names: &[&str], look: Look) -> Ran {
    let order = order(engine, names);
    run_experiment(engine, &Experiment { look, ..Experiment::new(RUN, order) })
}

fn order(engine: &Engine, names: &[&str]) -> Order {
    let suite = suite(engine);
    let tests: Vec<TestIndex> = names.iter().map(|name| find(&suite, name)).collect();
    Order::from_distinct(tests)
}

pub(crate) fn find(suite: &Suite, name: &str) -> TestIndex {
    let id = format!("com.acme.{name}").parse().unwrap();
    suite.find(&id).unwrap_or_else(|| panic!("`{name}` was not collected"))
}

pub(crate) fn run_order(engine: &mut Engine, order: Order, repetition: Repetition) -> Ran {
    run_experiment(engine, &Experiment { repetition, ..Experiment::new(RUN, order) })
}

fn run_experiment(engine: &mut Engine, experiment: &Experiment) -> Ran {
    engine.submit(experiment).unwrap();
    let (mut ran, mut failures) = (None, Vec::new());
    loop {
        match engine.next_event().unwrap() {
            Event::RunEnded { observation, ending, .. } => ran = Some((observation, ending)),
            Event::TestEnded { failure, .. } => {
                failures.extend(failure.map(|failure| (failure.message, failure.text)));
            }
            Event::Idle => break,
            _ => (),
        }
    }
    let (observation, ending) = ran.unwrap();
    let seen = &observation.seen;
    let mut changes = vec![Vec::new(); observation.attempts.len()];
    for of_attempt in &seen.changes {
        changes[of_attempt.attempt].clone_from(&of_attempt.changes);
    }
    let calls = seen.calls.iter().map(|calls| {
        let functions = calls.functions.iter().map(|place| told(&seen.functions[*place]));
        let mut called: Vec<String> = functions.collect();
        called.sort();
        called
    });
    let (calls, restored) = (calls.collect(), seen.restored.clone().unwrap_or_default());
    Ran { observation, ending, failures, changes, restored, calls }
}

fn told(function: &CalledFunction) -> String {
    let place = function.place.as_ref();
    let place = place.map_or(String::new(), |(file, line)| format!(" {file}:{line}"));
    format!("{}:{}{place}", function.module, function.name)
}

/// Whether victim, brittle and non-idempotent test do what was planted.
pub(crate) fn each_kind_behaves_as_planted(prepared: &Prepared) {
    let mut engine = start(prepared);
    let (polluter, victim) = ("CheckoutTest#paysInDollars", "AmountTest#isShownInEuro");
    let cleaner = "SettingsTest#areReset";
    let (brittle, setter) = ("CatalogTest#findsBook", "CatalogTest#loads");
    let mut outcomes = |names: &[&str]| run(&mut engine, names).outcomes();
    assert_eq!(outcomes(&[victim]), [PASSED]);
    assert_eq!(outcomes(&[polluter, victim]), [PASSED, FAILED]);
    assert_eq!(outcomes(&[polluter, cleaner, victim]), [PASSED; 3]);
    assert_eq!(outcomes(&[brittle, setter]), [FAILED, PASSED]);
    assert_eq!(outcomes(&[setter, brittle]), [PASSED, PASSED]);
    let twice = run_with(&mut engine, &["VisitTest#isTheFirst"], Repetition::Twice);
    assert_eq!(twice.outcomes(), [PASSED, FAILED]);
}
