//! An engine with an agent that has no runner: its tests are names that say what they do.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use unflake_engine::{
    AgentFiles, Ending, Engine, Event, Failure, Interrupt, Isolation, Launch, Start, StartError,
    Transport,
};
use unflake_model::{Control, Experiment, Observation, Order, Outcome, RunId, TestIndex};

/// More than any step takes on any machine: nothing in these tests waits for it to pass.
pub(crate) const AMPLE: Duration = Duration::from_mins(2);

/// The interpreter that the environment names, else the one on the path.
pub(crate) fn python() -> OsString {
    std::env::var_os("UNFLAKE_TEST_PYTHON").unwrap_or_else(|| "python3".into())
}

/// How to start the fake agent with these options and tests.
pub(crate) fn launch(arguments: &[&str]) -> Launch {
    let mut runner: Vec<OsString> = vec!["fake".into(), "--".into()];
    runner.extend(arguments.iter().map(OsString::from));
    Launch {
        program: python(),
        flags: vec!["-S".into()],
        agent: AgentFiles {
            files: vec![("fake.py".into(), include_bytes!("fake_agent.py").to_vec())],
            entry: "fake.py".into(),
        },
        runner,
        current_dir: PathBuf::from("/"),
        env: Vec::new(),
        transport: Transport::Socket,
        start: Start::Fork,
        isolation: Vec::new(),
        start_timeout: AMPLE,
        test_timeout: AMPLE,
        run_timeout: None,
        jobs: 1,
        control: Control::FULL,
        perturbing: None,
        trace_flags: Vec::new(),
    }
}

pub(crate) fn start(launch: Launch) -> Result<Engine, StartError> {
    Engine::start(launch, &Interrupt::default())
}

pub(crate) fn experiment(run: u64, tests: &[usize]) -> Experiment {
    let tests: Vec<TestIndex> = tests.iter().copied().map(TestIndex::new).collect();
    Experiment::new(RunId(run), Order::from_distinct(tests))
}

/// A run that is over.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) observation: Observation,
    pub(crate) ending: Ending,
    pub(crate) isolation: Isolation,
}

impl Ended {
    pub(crate) fn outcomes(&self) -> Vec<Outcome> {
        self.observation.attempts.iter().map(|attempt| attempt.outcome).collect()
    }
}

/// Everything that happened until nothing was left to do.
pub(crate) struct Told {
    pub(crate) events: Vec<Event>,
    pub(crate) ended: Vec<Ended>,
}

impl Told {
    /// The run that ended; there must be exactly one.
    pub(crate) fn only(mut self) -> Ended {
        assert_eq!(self.ended.len(), 1);
        self.ended.remove(0)
    }

    /// What was said about a test.
    pub(crate) fn failure(&self, position: usize) -> Failure {
        let said = self.events.iter().find_map(|event| match event {
            Event::TestEnded { test, failure, .. } if test.get() == position => failure.clone(),
            _ => None,
        });
        said.unwrap()
    }

    pub(crate) fn n_deaths(&self) -> usize {
        self.events.iter().filter(|event| matches!(event, Event::AgentDied { .. })).count()
    }
}

pub(crate) fn run_all(engine: &mut Engine) -> Told {
    let mut told = Told { events: Vec::new(), ended: Vec::new() };
    loop {
        match engine.next_event().unwrap() {
            Event::Idle => return told,
            Event::RunEnded { observation, ending, isolation } => {
                told.ended.push(Ended { observation, ending, isolation });
            }
            event => told.events.push(event),
        }
    }
}

pub(crate) fn run_one(engine: &mut Engine, tests: &[usize]) -> Told {
    engine.submit(&experiment(0, tests)).unwrap();
    run_all(engine)
}
