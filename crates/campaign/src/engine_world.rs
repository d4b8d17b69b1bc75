//! The engine as a world that answers experiments.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::mpsc;

use unflake_engine::{
    Change, Chosen, Ending, Engine, EngineError, Event, Isolation, Perturbed, SubmitError, Waker,
    Watching,
};
use unflake_known::Warning;
use unflake_model::{
    Environment, Evidence, Experiment, Observation, Order, Repetition, RunId, TestIndex,
};

use crate::world::{Answer, FailedAttempt, Happening, World};

/// Runs in a row that could not be started, after which we give up: once may be chance.
pub const NOT_STARTED_MAX: usize = 3;

/// The engine, and what it has said so far beyond the observations.
pub struct EngineWorld {
    engine: Engine,
    jobs: usize,
    under_way: BTreeMap<RunId, Vec<FailedAttempt>>,
    /// What was made otherwise in perturbed runs under way.
    perturbed: BTreeMap<RunId, Perturbed>,
    /// Runs under way in which something is to be made otherwise, and not only held fixed.
    changed: BTreeSet<RunId>,
    /// What tests of watched runs under way left changed.
    changes: BTreeMap<RunId, Vec<(TestIndex, Change)>>,
    /// Open choices of the run under way that were made on purpose.
    chosen: Option<Chosen>,
    ended: Option<Ended>,
    /// The runs that were under way when all were given up, as far as they had come.
    cut_off: Vec<Answer>,
    n_not_started: usize,
    /// How many perturbed runs could not be started, and why the first could not.
    perturbed_not_run: Option<(u64, String)>,
    error: Option<WorldError>,
    errands: Errands,
    /// How many processes others have at work: so many fewer experiments are worked on at once.
    /// Short runs can be made when those are done, who take long and are waited for in the end.
    n_beside: usize,
}

/// Runs that somebody else asks for while an analysis is under way.
#[derive(Default)]
struct Errands {
    asked: Option<mpsc::Receiver<Request>>,
    under_way: BTreeMap<RunId, mpsc::Sender<Watched>>,
    n_begun: u64,
}

/// By which other threads turn to whoever has the engine.
#[derive(Clone, Debug)]
pub(crate) struct Hatch {
    requests: mpsc::Sender<Request>,
    waker: Waker,
}

impl Hatch {
    /// Asks for a watched run. Runs are made one after the other, beside those of an analysis.
    pub(crate) fn ask(&self, errand: Errand) -> Result<(), Stopped> {
        self.say(Request::Run(errand))
    }

    /// Tells how many processes are at work beside the engine's.
    pub(crate) fn tell_beside(&self, n_processes: usize) {
        // Who has given up all runs does not care.
        let _ = self.say(Request::Beside(n_processes));
    }

    fn say(&self, request: Request) -> Result<(), Stopped> {
        self.requests.send(request).map_err(|_| Stopped)?;
        // Else it would be read when a test ends, perhaps a long one.
        self.waker.wake();
        Ok(())
    }
}

/// What is said through a hatch.
#[derive(Debug)]
enum Request {
    Run(Errand),
    Beside(usize),
}

/// A watched run that is wanted.
#[derive(Debug)]
pub(crate) struct Errand {
    pub(crate) tests: Vec<TestIndex>,
    pub(crate) watching: Watching,
    /// To whom it is told what came of it; to nobody if there was no end to it.
    pub(crate) reply: mpsc::Sender<Watched>,
}

/// What came of a watched run.
pub(crate) struct Watched {
    /// How the last test ended.
    pub(crate) last: Option<Evidence>,
    /// What its tests left changed.
    pub(crate) changes: Vec<(TestIndex, Change)>,
}

/// The first number of the runs that are not an analysis's own.
const ERRANDS_FROM: u64 = 1 << 48;

/// The run that ended last.
#[derive(Clone, Debug)]
pub struct Ended {
    /// How it came to its end.
    pub ending: Ending,
    /// Which levels of isolation held.
    pub isolation: Isolation,
    /// What its failed attempts said.
    pub failures: Vec<FailedAttempt>,
    /// What its tests left changed, if it was watched.
    pub changes: Vec<(TestIndex, Change)>,
    /// What was made otherwise, if it was perturbed.
    pub perturbed: Perturbed,
    /// Open choices that were made on purpose.
    pub chosen: Option<Chosen>,
}

impl EngineWorld {
    /// Lets this engine answer, at most `jobs` experiments at once.
    pub fn new(engine: Engine, jobs: usize) -> Self {
        Self {
            engine,
            jobs,
            under_way: BTreeMap::new(),
            perturbed: BTreeMap::new(),
            changed: BTreeSet::new(),
            changes: BTreeMap::new(),
            chosen: None,
            ended: None,
            cut_off: Vec::new(),
            n_not_started: 0,
            perturbed_not_run: None,
            error: None,
            errands: Errands::default(),
            n_beside: 0,
        }
    }

    /// By this others can turn to us; one there was before is closed.
    pub(crate) fn open_hatch(&mut self) -> Hatch {
        let (requests, asked) = mpsc::channel();
        self.errands.asked = Some(asked);
        Hatch { requests, waker: self.engine.waker() }
    }

    /// Makes the runs that others ask for, until nobody can ask any more.
    pub(crate) fn run_errands(&mut self) {
        loop {
            while !self.errands.under_way.is_empty() {
                if let Some(Happening::Interrupted) = self.one_event() {
                    return;
                }
            }
            let Some(asked) = &self.errands.asked else { return };
            let Ok(request) = asked.recv() else { return };
            self.take_up(request);
        }
    }

    /// Whoever waits for a run hears that there will be none.
    pub(crate) fn refuse_errands(&mut self) {
        self.errands.asked = None;
        self.errands.under_way.clear();
    }

    fn take_up(&mut self, request: Request) {
        match request {
            Request::Run(errand) => self.set_out(errand),
            Request::Beside(n_processes) => self.n_beside = n_processes,
        }
    }

    fn set_out(&mut self, Errand { tests, watching, reply }: Errand) {
        let run = RunId(ERRANDS_FROM + self.errands.n_begun);
        self.errands.n_begun += 1;
        self.errands.under_way.insert(run, reply);
        self.submit(&Experiment {
            run,
            order: Order::from_distinct(tests),
            environment: Environment::Plain,
            repetition: Repetition::Once,
        });
        self.engine.watch(run, Some(watching));
    }

    /// The engine.
    pub fn engine(&mut self) -> &mut Engine {
        &mut self.engine
    }

    /// What made the engine give up, if it did.
    pub fn take_error(&mut self) -> Option<WorldError> {
        self.error.take()
    }

    /// That there were perturbed runs which could not be started, if there were.
    pub fn take_perturbed_not_run(&mut self) -> Option<Warning> {
        let (n_runs, reason) = self.perturbed_not_run.take()?;
        Some(Warning::PerturbedNotRun { n_runs, reason })
    }

    /// What made the engine give up, or kept the last run from being started.
    pub fn why_nothing(&mut self) -> Option<WorldError> {
        let not_started = self.ended.as_ref().and_then(|last| match &last.ending {
            Ending::NotStarted { why, stderr } => Some(WorldError::not_started(why, stderr)),
            _ => None,
        });
        self.take_error().or(not_started)
    }

    /// What else is known of the run that [`World::next`] gave last.
    pub fn last_ended(&self) -> Option<&Ended> {
        self.ended.as_ref()
    }

    /// The runs that were under way when all were given up, as far as they had come.
    pub fn take_cut_off(&mut self) -> Vec<Answer> {
        std::mem::take(&mut self.cut_off)
    }

    /// Runs one experiment to its end.
    pub fn run(&mut self, experiment: &Experiment) -> Result<Observation, Stopped> {
        self.run_watched(experiment, None)
    }

    /// Runs one experiment to its end, and looks at the state its tests leave behind.
    pub fn run_watched(
        &mut self,
        experiment: &Experiment,
        watching: Option<Watching>,
    ) -> Result<Observation, Stopped> {
        self.submit(experiment);
        self.engine.watch(experiment.run, watching);
        loop {
            match self.next() {
                Happening::Ended(answer) => return Ok(answer.observation),
                Happening::Interrupted => return Err(Stopped),
                Happening::Room => (),
            }
        }
    }

    fn ended(&mut self, observation: Observation, ending: Ending, isolation: Isolation) -> Answer {
        let failures = self.under_way.remove(&observation.run).unwrap_or_default();
        let perturbed = self.perturbed.remove(&observation.run);
        let is_changed = self.changed.remove(&observation.run);
        self.count_not_started(&ending, is_changed);
        let changes = self.changes.remove(&observation.run).unwrap_or_default();
        let perturbed = perturbed.unwrap_or_default();
        let chosen = self.chosen.take();
        let told = failures.clone();
        self.ended = Some(Ended { ending, isolation, failures: told, changes, perturbed, chosen });
        Answer { observation, failures }
    }

    /// Gives up after a few runs in a row that could not be started. Changed circumstances do not
    /// count: they may be such that none can be.
    fn count_not_started(&mut self, ending: &Ending, is_changed: bool) {
        let Ending::NotStarted { why, stderr } = ending else {
            self.n_not_started = 0;
            return;
        };
        if is_changed {
            self.n_not_started = 0;
            let first = || (0, with_last_line(why, stderr));
            self.perturbed_not_run.get_or_insert_with(first).0 += 1;
            return;
        }
        self.n_not_started += 1;
        if NOT_STARTED_MAX <= self.n_not_started {
            self.error = Some(WorldError::not_started(why, stderr));
        }
    }
}

/// Why a run was not started, with the last line of what was written, which mostly says most.
fn with_last_line(why: &str, stderr: &str) -> String {
    let last = stderr.lines().rev().find(|line| !line.trim().is_empty());
    let said = last.map(|last| format!("; it wrote `{last}`"));
    format!("{why}{}", said.unwrap_or_default())
}

/// Why the engine cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum WorldError {
    /// It was asked for something it cannot do.
    #[error(transparent)]
    Submit(SubmitError),
    /// Something it needs does not work.
    #[error(transparent)]
    Engine(EngineError),
    /// No process can be brought up any more.
    #[error("no run can be made: {why}")]
    NotStarted {
        /// Why the last one could not.
        why: String,
    },
}

impl WorldError {
    /// With the last line of what was written.
    pub fn not_started(why: &str, stderr: &str) -> Self {
        Self::NotStarted { why: with_last_line(why, stderr) }
    }
}

/// The user interrupted, or the engine gave up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stopped;

impl World for EngineWorld {
    fn width(&self) -> usize {
        self.jobs.saturating_sub(self.n_beside).max(1)
    }

    fn n_ahead(&self) -> usize {
        // While others are at work, there is room in the engine, and nothing would wait.
        if self.n_beside == 0 { self.engine.n_ahead() } else { 0 }
    }

    fn submit(&mut self, experiment: &Experiment) {
        self.under_way.insert(experiment.run, Vec::new());
        match experiment.environment {
            Environment::Plain => (),
            Environment::Hashed { .. } => {
                self.changed.insert(experiment.run);
            }
            Environment::Perturbed { factors, .. } => {
                self.perturbed.insert(experiment.run, Perturbed::default());
                if !factors.is_empty() {
                    self.changed.insert(experiment.run);
                }
            }
        }
        // What the engine cannot do at all ends the analysis with what is known.
        if let Err(error) = self.engine.submit(experiment) {
            self.error = Some(WorldError::Submit(error));
        }
    }

    fn next(&mut self) -> Happening {
        loop {
            let n_beside = self.n_beside;
            while let Some(Ok(asked)) = self.errands.asked.as_ref().map(mpsc::Receiver::try_recv) {
                self.take_up(asked);
            }
            if n_beside != self.n_beside {
                return Happening::Room;
            }
            if let Some(happening) = self.one_event() {
                return happening;
            }
        }
    }
}

impl EngineWorld {
    /// Waits for something to happen; what it is, if an analysis is to hear of it.
    fn one_event(&mut self) -> Option<Happening> {
        if self.error.is_some() {
            return Some(self.give_up());
        }
        match self.engine.next_event() {
            Ok(Event::RunEnded { observation, ending, isolation }) => {
                let answer = self.ended(observation, ending, isolation);
                return self.tell_errand(answer).map(Happening::Ended);
            }
            Ok(Event::TestEnded { run, test, attempt, outcome, failure, changes, .. }) => {
                let changes = changes.into_iter().map(|change| (test, change));
                self.changes.entry(run).or_default().extend(changes);
                if let Some(failures) = self.under_way.get_mut(&run) {
                    failures.extend(FailedAttempt::of(test, attempt, outcome, failure));
                }
            }
            Ok(Event::Perturbed { run, perturbed }) => {
                self.perturbed.insert(run, perturbed);
            }
            Ok(Event::Chosen { chosen, .. }) => self.chosen = Some(chosen),
            Ok(Event::RunPutBack { run }) => {
                self.under_way.insert(run, Vec::new());
                self.changes.remove(&run);
            }
            Ok(Event::Interrupted | Event::Idle) => return Some(self.give_up()),
            Ok(
                Event::RunStarted { .. }
                | Event::TestStarted { .. }
                | Event::Traced { .. }
                | Event::Restored { .. }
                | Event::WatchedInPart { .. }
                | Event::AgentDied { .. }
                | Event::Woken,
            ) => {}
            Err(error) => self.error = Some(WorldError::Engine(error)),
        }
        None
    }

    /// Tells whoever asked for this run; gives it back if that is an analysis.
    fn tell_errand(&mut self, answer: Answer) -> Option<Answer> {
        let Some(reply) = self.errands.under_way.remove(&answer.observation.run) else {
            return Some(answer);
        };
        let attempts = &answer.observation.attempts;
        let last = attempts.last().and_then(|attempt| attempt.outcome.evidence());
        let changes = self.ended.as_ref().map(|ended| ended.changes.clone()).unwrap_or_default();
        // Who does not wait any more has no need of it.
        let _ = reply.send(Watched { last, changes });
        None
    }

    fn give_up(&mut self) -> Happening {
        let under_way = std::mem::take(&mut self.under_way).into_iter();
        let seen = under_way.filter_map(|(run, failures)| {
            Some(Answer { observation: self.engine.seen_so_far(run)?, failures })
        });
        self.cut_off = seen.collect();
        self.engine.kill_all();
        self.refuse_errands();
        Happening::Interrupted
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;
    use unflake_engine::{Interrupt, Limits, Start};
    use unflake_model::OutcomeKind;
    use unflake_pytest::{Project, Runner, Surroundings};

    /// More than any step takes on any machine: nothing here waits for it to pass.
    const AMPLE: Duration = Duration::from_mins(3);

    fn engine(tests: &str, interrupt: &Interrupt) -> (tempfile::TempDir, Engine) {
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

    #[test]
    fn what_had_ended_when_a_run_was_given_up_is_known_with_what_it_said() {
        let tests = "import signal\n\n\n\
            def test_a():\n    assert 1 == 2\n\n\n\
            def test_b():\n    signal.pause()\n";
        let interrupt = Interrupt::default();
        let (_folder, engine) = engine(tests, &interrupt);
        let mut world = EngineWorld::new(engine, 1);
        let run = RunId(7);
        world.submit(&Experiment {
            run,
            order: Order::from_distinct([TestIndex::new(0), TestIndex::new(1)]),
            environment: Environment::Plain,
            repetition: Repetition::Once,
        });
        while world.under_way[&run].is_empty() {
            assert!(world.one_event().is_none());
        }
        interrupt.raise();
        assert!(matches!(world.next(), Happening::Interrupted));
        let [answer] = &world.take_cut_off()[..] else { panic!("one run was under way") };
        let attempts = answer.observation.attempts.iter();
        let kinds: Vec<OutcomeKind> = attempts.map(|attempt| attempt.outcome.kind()).collect();
        assert_eq!(kinds, [OutcomeKind::Failed, OutcomeKind::NotRun]);
        assert!(answer.failures[0].failure.message.contains("assert 1 == 2"));
        assert_eq!(answer.failures.len(), 1);
        assert!(world.take_cut_off().is_empty());
    }
}
