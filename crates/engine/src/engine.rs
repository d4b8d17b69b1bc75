//! The public interface of the engine, and its one loop.
//!
//! The engine is a state machine driven by calls of [`Engine::next_event`]: it starts as many runs
//! as there is room for, waits for the next letter or the next deadline, and hands out events. What
//! follows from each letter is in `hear`, which run is next in `dispatch`, how runs and agents end
//! in `endings`.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Duration;

use rustix::process::Signal;
use unflake_model::{Experiment, Observation, Outcome, RunId, Suite, TestId, TestIndex};
use unflake_wire::{Collected, Level};

use crate::agent::{Agent, Purpose, Stage};
use crate::clock::Clock;
use crate::error::{EngineError, StartError, StartErrorKind, SubmitError};
use crate::event::Event;
use crate::inbox::{AgentId, ConnectionId, Inbox, Waker};
use crate::interrupt::{Interrupt, Watch};
use crate::launch::{GRACE, Launch, Start};
use crate::patience::Patience;
use crate::roster::{Roster, SetAside};
use crate::running::{Action, Running};
use crate::signals::signal_group;
use crate::workshop::Workshop;

/// How late we may notice a deadline while letters keep coming: a letter that proves the deadline
/// was met may still be in the queue.
const LATE_MAX: Duration = Duration::from_secs(1);
/// How long we wait if there is no deadline; it stands for "forever".
const LONG: Duration = Duration::from_hours(1);

/// The number of a run on the wire. A run that begins again gets a new one, so that messages of its
/// first life are not mistaken for those of its second.
pub(crate) type Ticket = u64;

/// Who a connection belongs to.
#[derive(Clone, Debug)]
pub(crate) enum Caller {
    Server(AgentId),
    Run(Ticket, Arc<UnixStream>),
}

/// A run that is waiting for its turn.
#[derive(Clone, Debug)]
pub(crate) struct Waiting {
    pub(crate) experiment: Experiment,
    pub(crate) is_suspect: bool,
}

/// Makes runs of real tests.
#[derive(Debug)]
pub struct Engine {
    pub(crate) launch: Launch,
    // Dropped in this order: processes first, then what they talk to, then their files.
    pub(crate) agents: BTreeMap<AgentId, Agent>,
    pub(crate) inbox: Inbox,
    pub(crate) workshop: Workshop,
    pub(crate) clock: Clock,
    watch: Watch,
    pub(crate) collected: Option<Collected>,
    pub(crate) roster: Roster,
    /// The agent that runs are forked from.
    pub(crate) server: Option<AgentId>,
    /// Agents that were started before the runs they will make, if runs are not forked.
    pub(crate) spares: Vec<AgentId>,
    pub(crate) n_spares_failed: usize,
    /// Agents that were started for runs of some kind and wait for another one, newest last.
    pub(crate) idle: Vec<AgentId>,
    pub(crate) waiting: VecDeque<Waiting>,
    pub(crate) running: BTreeMap<Ticket, Running>,
    pub(crate) callers: BTreeMap<ConnectionId, Caller>,
    pub(crate) ready: VecDeque<Event>,
    /// Tests that have failed with a traceback. Making one takes a runner longer than most tests,
    /// and a search asks the same victim a thousand times, so later failures have none.
    pub(crate) explained: BTreeSet<TestIndex>,
    pub(crate) patience: Patience,
    pub(crate) n_deaths: u32,
    pub(crate) restart_at: Option<Duration>,
    pub(crate) gave_up: Option<(String, String)>,
    pub(crate) n_agents: AgentId,
    pub(crate) n_tickets: Ticket,
}

impl Engine {
    /// Brings up an agent and lets it collect.
    pub fn start(launch: Launch, interrupt: &Interrupt) -> Result<Self, StartError> {
        Self::start_and(launch, interrupt, || ())
    }

    /// As [`Engine::start`], with something to do in the meantime.
    pub fn start_and(
        launch: Launch,
        interrupt: &Interrupt,
        meanwhile: impl FnOnce(),
    ) -> Result<Self, StartError> {
        let program = launch.program.clone();
        let fail = |kind, stderr| StartError { program, kind, stderr };
        let mut engine = match Self::prepare(launch, interrupt) {
            Ok(engine) => engine,
            Err(kind) => return Err(fail(kind, String::new())),
        };
        engine.collect(meanwhile).map_err(|(kind, stderr)| fail(kind, stderr))?;
        Ok(engine)
    }

    fn prepare(launch: Launch, interrupt: &Interrupt) -> Result<Self, StartErrorKind> {
        let clock = Clock::start();
        let workshop = Workshop::new(&launch.agent).map_err(StartErrorKind::Folder)?;
        let inbox =
            Inbox::open(&workshop.socket(), clock.clone()).map_err(StartErrorKind::Folder)?;
        let waker = inbox.waker();
        Ok(Self {
            launch,
            agents: BTreeMap::new(),
            inbox,
            workshop,
            clock,
            watch: interrupt.watch(move || waker.wake()),
            collected: None,
            roster: Roster::default(),
            server: None,
            spares: Vec::new(),
            n_spares_failed: 0,
            idle: Vec::new(),
            waiting: VecDeque::new(),
            running: BTreeMap::new(),
            callers: BTreeMap::new(),
            ready: VecDeque::new(),
            explained: BTreeSet::new(),
            patience: Patience::default(),
            n_deaths: 0,
            restart_at: None,
            gave_up: None,
            n_agents: 0,
            n_tickets: 0,
        })
    }

    /// Starts the first agent and waits until it has collected.
    fn collect(&mut self, meanwhile: impl FnOnce()) -> Result<(), (StartErrorKind, String)> {
        let id = self.spawn(Purpose::Serve).map_err(|kind| (kind, String::new()))?;
        self.server = Some(id);
        meanwhile();
        loop {
            if self.watch.take() {
                return Err((StartErrorKind::Interrupted, String::new()));
            }
            match self.agents.get(&id).map(|agent| &agent.stage) {
                Some(Stage::Ready) => return Ok(()),
                Some(Stage::Starting { .. } | Stage::Gone { .. }) => self.step(),
                Some(Stage::Failed(_)) | None => {
                    return Err(self.bury(id).unwrap_or_else(|| {
                        (StartErrorKind::Protocol("it vanished".to_owned()), String::new())
                    }));
                }
            }
        }
    }

    /// What the agent collected.
    ///
    /// # Panics
    /// Never: an engine that was started has collected the tests.
    pub fn collected(&self) -> &Collected {
        self.collected.as_ref().expect("an engine that was started has collected")
    }

    /// Collected tests that are not part of the suite, and why.
    pub fn set_aside(&self) -> &[SetAside] {
        self.roster.tests_set_aside()
    }

    /// The suite, with the expected run times of its tests.
    pub fn suite(&self, duration_of: impl FnMut(&TestId) -> Duration) -> Suite {
        self.roster.suite(self.collected(), duration_of).controlled(self.launch.control)
    }

    /// Why each run has a fresh process; `None` if runs are forked.
    pub fn why_cold(&self) -> Option<&str> {
        match (self.launch.start, &self.collected().fork) {
            (_, Some(why)) => Some(why),
            (Start::Cold, None) => Some("asked for"),
            (Start::Fork, None) => None,
        }
    }

    /// Why each run has a fresh process although runs should be forked; `None` otherwise.
    pub fn why_not_forked(&self) -> Option<&str> {
        self.why_cold().filter(|_| self.launch.start == Start::Fork)
    }

    /// The levels of isolation that runs ask for.
    pub fn isolation(&self) -> &[Level] {
        &self.launch.isolation
    }

    /// Sets the levels of isolation, from the next run on.
    pub fn set_isolation(&mut self, levels: Vec<Level>) {
        self.launch.isolation = levels;
    }

    /// Sets the time limit of attempts, from the next run on.
    pub fn set_test_timeout(&mut self, timeout: Duration) {
        self.launch.test_timeout = timeout;
    }

    /// How many runs are waiting or under way.
    pub fn n_pending(&self) -> usize {
        self.waiting.len() + self.running.len() + self.n_cold_starting()
    }

    /// Asks for a run, without waiting; [`Engine::next_event`] reports what becomes of it.
    pub fn submit(&mut self, experiment: &Experiment) -> Result<(), SubmitError> {
        let run = experiment.run;
        if !self.launch.can_make(experiment.environment) {
            return Err(SubmitError::Perturbed { run });
        }
        let tests = experiment.repetition.attempts(&experiment.order);
        if let Some(test) = tests.into_iter().find(|test| self.roster.place(*test).is_none()) {
            let n_tests = self.roster.n_tests();
            return Err(SubmitError::UnknownTest { run, test: test.get(), n_tests });
        }
        if self.pending().any(|pending| pending.run == run) {
            return Err(SubmitError::Duplicate { run });
        }
        self.waiting.push_back(Waiting { experiment: experiment.clone(), is_suspect: false });
        Ok(())
    }

    fn pending(&self) -> impl Iterator<Item = &Experiment> {
        let starting = self.agents.values().filter_map(|agent| match &agent.purpose {
            Purpose::Run(experiment) => Some(&**experiment),
            Purpose::Serve | Purpose::Wait => None,
        });
        let waiting = self.waiting.iter().map(|waiting| &waiting.experiment);
        waiting.chain(self.running.values().map(|running| &running.experiment)).chain(starting)
    }

    /// Waits for the next event.
    pub fn next_event(&mut self) -> Result<Event, EngineError> {
        loop {
            // Events that precede an interrupt are reported before it.
            if let Some(event) = self.ready.pop_front() {
                return Ok(event);
            }
            if self.watch.take() {
                return Ok(Event::Interrupted);
            }
            if let Some((last, stderr)) = self.gave_up.clone() {
                let n_deaths = self.n_deaths;
                return Err(EngineError::AgentKeepsDying { n_deaths, last, stderr });
            }
            self.dispatch()?;
            if self.ready.is_empty() {
                if self.n_pending() == 0 {
                    return Ok(Event::Idle);
                }
                self.step();
            }
        }
    }

    /// For those who must wake up whoever waits for the next event.
    pub fn waker(&self) -> Waker {
        self.inbox.waker()
    }

    /// How the tests of a run under way have ended so far, for callers about to give it up; `None`
    /// if none has ended. The others count as not run.
    pub fn seen_so_far(&self, run: RunId) -> Option<Observation> {
        let running = self.running.values().find(|running| running.experiment.run == run)?;
        let seen = running.observation(self.clock.now());
        seen.attempts.iter().any(|attempt| attempt.outcome != Outcome::NotRun).then_some(seen)
    }

    /// Drops every run that is waiting or under way, and kills what is running. No event follows.
    pub fn kill_all(&mut self) {
        self.waiting.clear();
        self.ready.clear();
        for ticket in self.running.keys().copied().collect::<Vec<_>>() {
            // A run whose process is not known yet is killed once it is.
            if self.running.get(&ticket).is_some_and(|running| running.pid.is_some()) {
                self.signal(ticket, Signal::KILL);
            }
            if let Some(running) = self.running.remove(&ticket) {
                self.retire(&running);
            }
        }
        let is_cold = |agent: &Agent| matches!(agent.purpose, Purpose::Run(_));
        let cold = self.agents.iter().filter(|(_, agent)| is_cold(agent));
        for id in cold.map(|(id, _)| *id).collect::<Vec<_>>() {
            self.remove_agent(id);
        }
    }

    /// Waits for one letter or deadline, and does what follows from it.
    fn step(&mut self) {
        let deadline = self.deadline();
        let now = self.clock.now();
        let is_overdue = deadline.is_some_and(|deadline| deadline + LATE_MAX < now);
        if is_overdue {
            self.expire(now);
        }
        let wait_max = deadline.map_or(LONG, |deadline| deadline.saturating_sub(now));
        match self.inbox.next(wait_max) {
            Some(letter) => self.hear(letter),
            None => self.expire(self.clock.now()),
        }
    }

    /// When something must be done if no letter arrives before.
    fn deadline(&self) -> Option<Duration> {
        let runs = self.running.values().map(Running::deadline).filter(|by| *by < Duration::MAX);
        let starts = self.agents.values().filter_map(|agent| match agent.stage {
            Stage::Starting { by } | Stage::Gone { by, .. } => Some(by),
            Stage::Ready | Stage::Failed(_) => None,
        });
        runs.chain(starts).chain(self.restart_at).min()
    }

    /// Does everything that is due.
    fn expire(&mut self, now: Duration) {
        let due = self.running.iter().filter(|(_, running)| running.deadline() <= now);
        for ticket in due.map(|(ticket, _)| *ticket).collect::<Vec<_>>() {
            self.expire_run(ticket, now);
        }
        let after = self.launch.start_timeout;
        for agent in self.agents.values_mut() {
            match agent.stage {
                Stage::Starting { by } if by <= now => {
                    agent.stage = Stage::Failed(StartErrorKind::TimedOut { after });
                }
                Stage::Gone { exit, by } if by <= now => {
                    agent.stage = Stage::Failed(StartErrorKind::Died(exit));
                }
                _ => (),
            }
        }
        self.sweep();
        if self.restart_at.is_some_and(|at| at <= now) {
            self.restart_at = None;
            self.restart();
        }
    }

    fn expire_run(&mut self, ticket: Ticket, now: Duration) {
        let Some(running) = self.running.get_mut(&ticket) else { return };
        let (action, blame) = running.expire(now);
        let run = running.experiment.run;
        if let Some(blame) = blame {
            let message =
                format!("stopped after {:.1} s: it took too long", blame.duration.as_secs_f64());
            self.ready.push_back(blame.event(run, message, String::new()));
        }
        match action {
            Action::Terminate => self.signal(ticket, Signal::TERM),
            Action::Kill => self.signal(ticket, Signal::KILL),
            Action::Finish => self.finish(ticket),
        }
    }

    /// Signals the processes of a run; its agent, if the processes are not known yet.
    pub(crate) fn signal(&mut self, ticket: Ticket, signal: Signal) {
        let Some(running) = self.running.get(&ticket) else { return };
        if running.is_gone() {
            return;
        }
        match (running.pid, self.agents.get(&running.agent)) {
            (Some(pid), _) => signal_group(pid, signal),
            (None, Some(agent)) => agent.process.signal(signal),
            (None, None) => (),
        }
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.kill_all();
        // A serving agent knows best which processes to end; it is given a moment to do so.
        for agent in self.agents.values_mut() {
            agent.hang_up();
        }
        let by = self.clock.now() + GRACE;
        while self.agents.values().any(Agent::is_ready) {
            match self.inbox.next(by.saturating_sub(self.clock.now())) {
                Some(letter) => self.hear(letter),
                None => break,
            }
            self.restart_at = None;
        }
        self.agents.clear();
    }
}
