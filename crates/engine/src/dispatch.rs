//! Which run is next?
//!
//! First come, first served, as long as there is room; but a run during which an agent died runs
//! alone. One run more than there is room for is handed to the agent that runs are forked from: it
//! begins while we are still busy with the results of the last one.
//!
//! If runs are not forked, each takes an agent that was started while others were running, so that
//! starting a virtual machine, or collecting a slow suite, costs no waiting.
//!
//! A run that needs its own interpreter (with another hash seed, say) is forked as well; the
//! interpreter then waits for another run of its kind. Only a few of them are kept.

use std::ffi::OsString;
use std::io;

use rustix::process::Signal;
use unflake_model::{Calls, Environment, Experiment, Repetition, TestIndex};
use unflake_wire::{Choices, Perturb, Restore, Run, ToAgent};

use crate::agent::{Agent, Purpose};
use crate::engine::{Engine, Waiting};
use crate::error::{EngineError, StartErrorKind};
use crate::event::Event;
use crate::inbox::AgentId;
use crate::launch::{Launch, Perturbing};
use crate::looking;
use crate::running::{Limits, Running};

/// How many runs may wait at the agent.
const N_AHEAD: usize = 1;

/// After this many failed starts, agents are only started when they are needed.
const SPARES_FAILED_MAX: usize = 3;

fn perturb(launch: &Launch, environment: Environment) -> Option<Box<Perturb>> {
    let Environment::Perturbed { factors, seed } = environment else { return None };
    if !matches!(launch.perturbing, Some(Perturbing::Factors(_))) {
        return None;
    }
    let factors = factors.iter().map(|factor| factor.slug().to_owned()).collect();
    Some(Box::new(Perturb { factors, seed }))
}

impl Engine {
    /// Starts as many runs as there is room for.
    pub(crate) fn dispatch(&mut self) -> Result<(), EngineError> {
        while let Some(next) = self.waiting.front() {
            let n_running = self.running.len() + self.n_cold_starting();
            let is_alone = next.is_suspect || self.running.values().any(|r| r.is_suspect);
            let room = if is_alone { 1 } else { self.launch.jobs.max(1) };
            let is_ahead = room <= n_running;
            if is_ahead && (is_alone || !self.takes_ahead(&next.experiment, n_running)) {
                break;
            }
            let own_env = self.launch.env_for(&next.experiment);
            if !own_env.is_empty() {
                let Some(next) = self.waiting.pop_front() else { break };
                match self.idle(&own_env) {
                    Some(id) => self.begin_with(id, next)?,
                    None => self.begin_cold(next)?,
                }
                continue;
            }
            let is_cold = self.why_cold().is_some();
            let is_plain = self.own_flags(&next.experiment).is_empty();
            let is_ready = |id: &AgentId| self.agents.get(id).is_some_and(Agent::is_ready);
            let agents = self.server.into_iter().chain(self.spares.iter().copied());
            // Agents that wait were not started to perturb choices or to trace.
            let server = agents.filter(|_| is_plain).find(is_ready);
            match (server, is_cold) {
                (Some(server), _) => {
                    let Some(next) = self.waiting.pop_front() else { break };
                    if is_cold {
                        // It can make one run only.
                        self.server = self.server.filter(|id| *id != server);
                        self.spares.retain(|id| *id != server);
                    }
                    self.begin(server, next, is_ahead)?;
                }
                // An agent for it is starting.
                (None, true) if is_plain && n_running < self.spares.len() => break,
                (None, true) => {
                    let Some(next) = self.waiting.pop_front() else { break };
                    self.begin_cold(next)?;
                }
                (None, false) => break,
            }
        }
        self.start_spares();
        Ok(())
    }

    /// How many runs beyond the available room can wait at the agent.
    pub fn n_ahead(&self) -> usize {
        if self.why_cold().is_none() { N_AHEAD } else { 0 }
    }

    /// Whether this run can wait at the agent.
    fn takes_ahead(&self, experiment: &Experiment, n_running: usize) -> bool {
        n_running < self.launch.jobs.max(1) + self.n_ahead()
            && self.launch.env_for(experiment).is_empty()
    }

    /// Starts agents in advance, as many as there may be concurrent runs, while runs are waiting.
    fn start_spares(&mut self) {
        let is_busy = !self.running.is_empty() || !self.waiting.is_empty();
        if self.why_cold().is_none() || !is_busy {
            return;
        }
        while self.spares.len() < self.launch.jobs.max(1)
            && self.n_spares_failed < SPARES_FAILED_MAX
        {
            match self.spawn(Purpose::Serve) {
                Ok(id) => self.spares.push(id),
                // The reason will be reported when a run needs an agent.
                Err(_) => self.n_spares_failed += 1,
            }
        }
    }

    pub(crate) fn n_cold_starting(&self) -> usize {
        let is_starting =
            |agent: &&Agent| !agent.is_ready() && matches!(agent.purpose, Purpose::Run(_));
        self.agents.values().filter(is_starting).count()
    }

    /// An agent that was started for runs with these variables, and waits for another one.
    fn idle(&self, own_env: &[(OsString, OsString)]) -> Option<AgentId> {
        let is_one =
            |id: &&AgentId| self.agents.get(id).is_some_and(|agent| agent.own_env == own_env);
        self.idle.iter().find(is_one).copied()
    }

    /// Hands a run to an agent that waited for one of its kind.
    fn begin_with(&mut self, id: AgentId, next: Waiting) -> Result<(), EngineError> {
        self.idle.retain(|idle| *idle != id);
        let run = next.experiment.run;
        if let Some(agent) = self.agents.get_mut(&id) {
            agent.purpose = Purpose::Run(Box::new(next.experiment.clone()));
            agent.spawned_at = self.clock.now();
        }
        self.ready.push_back(Event::RunStarted { run });
        self.begin(id, next, false)
    }

    fn begin_cold(&mut self, next: Waiting) -> Result<(), EngineError> {
        let run = next.experiment.run;
        match self.spawn(Purpose::Run(Box::new(next.experiment))) {
            Ok(_) => self.ready.push_back(Event::RunStarted { run }),
            Err(StartErrorKind::Folder(error) | StartErrorKind::Interpreter(error)) => {
                return Err(error.into());
            }
            Err(kind) => return Err(io::Error::other(kind).into()),
        }
        Ok(())
    }

    /// Hands a run to an agent that is ready.
    pub(crate) fn begin(
        &mut self,
        id: AgentId,
        next: Waiting,
        is_ahead: bool,
    ) -> Result<(), EngineError> {
        let ticket = self.n_tickets;
        self.n_tickets += 1;
        let scratch = self.workshop.scratch(&ticket.to_string())?;
        let is_cold = self.why_cold().is_some();
        let experiment = next.experiment;
        let is_twice = experiment.repetition == Repetition::Twice;
        let repetition = if is_twice { Repetition::Once } else { experiment.repetition };
        let tests = repetition.attempts(&experiment.order);
        let mut brief: Vec<TestIndex> =
            tests.iter().filter(|test| self.explained.contains(test)).copied().collect();
        brief.sort_unstable();
        brief.dedup();
        let own = self.agents.get(&id).and_then(|agent| agent.places.as_ref());
        let place = |test| match own {
            Some(own) => own.get(self.roster.id(test)?.as_str()).copied(),
            None => self.roster.place(test),
        };
        let places = |tests: Vec<TestIndex>| tests.into_iter().filter_map(place).collect();
        let message = ToAgent::Run(Run {
            run: ticket,
            order: places(tests),
            twice: is_twice,
            isolation: self.launch.isolation.clone(),
            scratch: scratch.to_string_lossy().into_owned(),
            in_place: is_cold,
            is_ahead,
            brief: places(brief),
            watch: experiment.look.state.as_ref().map(looking::kinds),
            restore: everything_between(experiment.repetition)
                .or_else(|| experiment.look.restore.as_ref().map(looking::restore)),
            perturb: perturb(&self.launch, experiment.environment),
            choices: self.choices(&experiment),
            trace: experiment.look.calls != Calls::Unseen,
            count: experiment.look.calls == Calls::Counted,
        });
        let now = self.clock.now();
        let limits = self.limits(&experiment);
        let Some(agent) = self.agents.get_mut(&id) else { return Ok(()) };
        let was_starting = matches!(agent.purpose, Purpose::Run(_));
        if is_cold && !was_starting {
            agent.purpose = Purpose::Run(Box::new(experiment.clone()));
        }
        let began_at = if was_starting { agent.spawned_at } else { now };
        if !was_starting {
            self.ready.push_back(Event::RunStarted { run: experiment.run });
        }
        let mut running =
            Running::new(experiment, id, limits, (!is_ahead).then_some(began_at), now);
        running.is_suspect = next.is_suspect;
        running.scratch = Some(scratch);
        running.stderr_mark = agent.process.stderr().mark();
        if agent.say(&message).is_err() {
            // It is dying or stuck; either way its end will be noticed.
            agent.process.signal(Signal::KILL);
        }
        self.running.insert(ticket, running);
        Ok(())
    }

    /// The time limits of a run and its tests. Watching and perturbing slow tests down by an
    /// unknown factor, so learnt limits do not apply to them.
    fn limits(&self, experiment: &Experiment) -> Limits {
        let most = self.launch.test_timeout;
        let is_plain = !experiment.environment.is_perturbed() && experiment.look.is_nothing();
        let limit = |&test: &TestIndex| (test, self.patience.limit(test, most));
        let tests = experiment.order.tests().iter().filter(|_| is_plain);
        let learnt = tests.map(limit).filter(|(_, limit)| *limit < most).collect();
        Limits { test: most, run: self.launch.run_timeout, learnt }
    }

    /// The open choices that a run perturbs.
    fn choices(&self, experiment: &Experiment) -> Option<Choices> {
        let (choosing, seed) = self.launch.choosing(experiment)?;
        let seed = (choosing.seed_of)(seed);
        let range = experiment.look.choices.as_ref();
        let first = range.map_or(1, |range| *range.start());
        Some(Choices { seed, first, last: range.map(|range| *range.end()) })
    }

    /// The additional flags of the interpreter for this run.
    fn own_flags(&self, experiment: &Experiment) -> &[OsString] {
        self.launch.own_flags(experiment, experiment.look.calls != Calls::Unseen)
    }

    pub(crate) fn spawn(&mut self, purpose: Purpose) -> Result<AgentId, StartErrorKind> {
        let id = self.n_agents;
        self.n_agents += 1;
        let home = (&self.workshop, &self.inbox);
        let flags = match &purpose {
            Purpose::Run(experiment) => self.own_flags(experiment),
            Purpose::Serve | Purpose::Wait => &[],
        };
        let agent = Agent::spawn(id, (purpose, flags), &self.launch, home, self.clock.now())?;
        self.agents.insert(id, agent);
        Ok(id)
    }
}

/// The state to put back so that tests do not affect each other, if that is wanted.
fn everything_between(repetition: Repetition) -> Option<Restore> {
    let Repetition::Apart { n_common, .. } = repetition else { return None };
    Some(Restore { before: n_common + 2, again: true, items: Vec::new(), all_but: true })
}
