//! How do runs and agents end, and what follows from it?
//!
//! When the agent that runs are forked from dies, one of the runs under way may have killed it, and
//! nobody saw which. So they are *suspects*: each begins again alone. If the agent dies again, that
//! run is to blame, and it ends with a crash of the test that was running; if not, it was innocent,
//! or the death had another cause.

use std::net::Shutdown;
use std::time::Duration;

use rustix::process::Signal;
use unflake_model::{Experiment, NotStarted, Observation};
use unflake_wire::Level;

use crate::agent::{Agent, Purpose, Stage};
use crate::engine::{Caller, Engine, Ticket, Waiting};
use crate::error::StartErrorKind;
use crate::event::{Ending, Event, Isolation};
use crate::inbox::AgentId;
use crate::running::Running;

/// How many deaths of the agent in a row make us give up.
const DEATHS_MAX: u32 = 3;
/// How many idle agents to keep in addition to one for each job: each has the project in its
/// memory.
const N_IDLE_BESIDE: usize = 2;
/// The pause before the first restart; it doubles each time.
const RESTART_PAUSE: Duration = Duration::from_millis(100);

impl Engine {
    /// A run is over, or has to begin again.
    pub(crate) fn finish(&mut self, ticket: Ticket) {
        let Some(mut running) = self.running.remove(&ticket) else { return };
        match (running.is_orphan(), running.is_suspect) {
            (true, false) => return self.put_back(running),
            (true, true) => return self.convict(running),
            (false, _) => (),
        }
        let now = self.clock.now();
        let (mut ending, blame) = running.finish(now);
        if let Ending::Died(exit) = ending
            && !running.progress.has_begun()
        {
            // No test can be to blame, and asking again would have the same result.
            let why = format!("its process ended before the first test: {exit}");
            ending = Ending::NotStarted { why, stderr: self.last_words(&mut running) };
        }
        if let Some(blame) = blame {
            let message = match &ending {
                Ending::Died(exit) => format!("the process died while the test ran: {exit}"),
                _ => "the run ended while the test ran".to_owned(),
            };
            let text = self.last_words(&mut running);
            self.ready.push_back(blame.event(running.experiment.run, message, text));
        }
        self.conclude(running, ending);
    }

    /// What the process of a run wrote outside all capture, or what its agent wrote since the run
    /// began.
    fn last_words(&self, running: &mut Running) -> String {
        running.stderr.take().unwrap_or_else(|| {
            let agent = self.agents.get(&running.agent);
            let mark = running.stderr_mark;
            agent.map_or_else(String::new, |agent| agent.process.last_words_since(mark).1)
        })
    }

    /// Reports a run that is over, and cleans up after it.
    pub(crate) fn conclude(&mut self, mut running: Running, ending: Ending) {
        self.n_deaths = 0;
        let observation = running.observation(self.clock.now());
        if !running.experiment.environment.is_perturbed() {
            observation.attempts.iter().for_each(|attempt| self.patience.learn(attempt));
        }
        let isolation = std::mem::take(&mut running.isolation);
        // Otherwise a stray process may still be writing there.
        if ending == Ending::Complete
            && isolation.applied.contains(&Level::Pid)
            && let Some(scratch) = running.scratch.take()
        {
            self.workshop.take_back(scratch);
        }
        self.ready.push_back(Event::RunEnded { observation, ending, isolation });
        self.retire(&running);
    }

    /// Cleans up after a run; also closes connections that a stray process holds open.
    pub(crate) fn retire(&mut self, running: &Running) {
        for connection in running.connections() {
            if let Some(Caller::Run(_, stream)) = self.callers.remove(connection) {
                // Fails if the other end has hung up already.
                let _ = stream.shutdown(Shutdown::Both);
            }
        }
        running.scratch.iter().for_each(|scratch| self.workshop.discard(scratch));
        let agent = self.agents.get(&running.agent);
        if agent.is_some_and(|agent| matches!(agent.purpose, Purpose::Run(_))) {
            self.keep_or_remove(running.agent);
        }
        self.dismiss_if_forgotten(running.agent);
    }

    /// Keeps an agent that was started for one run for others of its kind, if it can be forked from
    /// and not too many are idle already.
    fn keep_or_remove(&mut self, id: AgentId) {
        let is_cold = self.why_cold().is_some();
        let is_sound = |agent: &&mut Agent| {
            !is_cold && agent.is_ready() && agent.is_connected() && !agent.own_env.is_empty()
        };
        let Some(agent) = self.agents.get_mut(&id).filter(is_sound) else {
            self.remove_agent(id);
            return;
        };
        agent.purpose = Purpose::Wait;
        self.idle.push(id);
        if self.launch.jobs.max(1) + N_IDLE_BESIDE < self.idle.len() {
            self.remove_agent(self.idle[0]);
        }
    }

    /// Stops accepting connections for an agent that is gone, once none of its runs is awaited.
    fn dismiss_if_forgotten(&self, id: AgentId) {
        let is_remembered = self.running.values().any(|running| running.agent == id);
        if !is_remembered && !self.agents.contains_key(&id) {
            self.inbox.dismiss(id);
        }
    }

    /// Ends a run for which no process could be started.
    pub(crate) fn conclude_unstarted(&mut self, experiment: &Experiment, ending: Ending) {
        let why = match &ending {
            Ending::NotStarted { why, .. } => why.clone(),
            _ => "no process could be brought up".to_owned(),
        };
        let observation = Observation::not_started(experiment, NotStarted::Failed(why));
        let isolation = Isolation::default();
        self.ready.push_back(Event::RunEnded { observation, ending, isolation });
    }

    /// Ends an agent and everything it has started.
    pub(crate) fn remove_agent(&mut self, id: AgentId) -> Option<Agent> {
        let mut agent = self.agents.remove(&id)?;
        if self.spares.contains(&id) {
            self.spares.retain(|spare| *spare != id);
            self.n_spares_failed += 1;
        }
        self.idle.retain(|idle| *idle != id);
        self.dismiss_if_forgotten(id);
        if self.server == Some(id) {
            self.server = None;
        }
        agent.hang_up();
        agent.process.signal(Signal::KILL);
        agent.process.reap();
        self.workshop.discard(agent.folder());
        Some(agent)
    }

    /// Removes an agent that failed; returns why it did, and what it wrote.
    pub(crate) fn bury(&mut self, id: AgentId) -> Option<(StartErrorKind, String)> {
        let agent = self.remove_agent(id)?;
        let (_, stderr) = agent.process.last_words();
        match agent.stage {
            Stage::Failed(kind) => Some((kind, stderr)),
            Stage::Starting { .. } | Stage::Ready | Stage::Gone { .. } => None,
        }
    }

    /// Deals with agents that have failed.
    pub(crate) fn sweep(&mut self) {
        if self.collected.is_none() {
            // This is the first agent: the code waiting for it deals with it.
            return;
        }
        let is_failed = |agent: &Agent| matches!(agent.stage, Stage::Failed(_));
        let failed = self.agents.iter().filter(|(_, agent)| is_failed(agent));
        for id in failed.map(|(id, _)| *id).collect::<Vec<_>>() {
            let is_server = self.server == Some(id) && self.why_cold().is_none();
            let experiment = match self.agents.get(&id).map(|agent| &agent.purpose) {
                Some(Purpose::Run(experiment)) => Some((**experiment).clone()),
                Some(Purpose::Serve | Purpose::Wait) | None => None,
            };
            let Some((kind, stderr)) = self.bury(id) else { continue };
            let run = self.running.iter().find(|(_, running)| running.agent == id);
            match (experiment, run.map(|(ticket, _)| *ticket)) {
                (Some(_), Some(ticket)) => self.finish(ticket),
                (Some(experiment), None) => {
                    let ending = Ending::NotStarted { why: kind.to_string(), stderr };
                    self.conclude_unstarted(&experiment, ending);
                }
                (None, _) if is_server => self.server_died(id, &kind.to_string(), stderr),
                (None, _) => (),
            }
        }
    }

    /// The agent that runs are forked from is gone. Starts another one, unless that is hopeless.
    pub(crate) fn server_died(&mut self, id: AgentId, why: &str, stderr: String) {
        self.n_deaths += 1;
        let now = self.clock.now();
        let runs = self.running.iter().filter(|(_, running)| running.agent == id);
        for ticket in runs.map(|(ticket, _)| *ticket).collect::<Vec<_>>() {
            self.signal(ticket, Signal::KILL);
            if let Some(running) = self.running.get_mut(&ticket) {
                running.orphaned(now);
            }
        }
        if DEATHS_MAX <= self.n_deaths {
            self.gave_up = Some((why.to_owned(), stderr));
            return;
        }
        let pause = RESTART_PAUSE * 2_u32.pow(self.n_deaths.saturating_sub(1));
        self.restart_at = Some(now + pause);
        self.ready.push_back(Event::AgentDied { why: why.to_owned(), stderr });
    }

    /// Puts a run whose agent died back into the queue, to run alone.
    fn put_back(&mut self, running: Running) {
        self.retire(&running);
        let (is_ahead, experiment) = (running.is_ahead(), running.experiment);
        self.ready.push_back(Event::RunPutBack { run: experiment.run });
        // A run that had not begun cannot have killed anything.
        self.waiting.push_front(Waiting { experiment, is_suspect: !is_ahead });
    }

    /// Ends a run under which the agent died twice, the second time alone with it.
    fn convict(&mut self, mut running: Running) {
        let (_, blame) = running.finish(self.clock.now());
        if let Some(blame) = blame {
            let message = "the test killed the process that its run was forked from".to_owned();
            self.ready.push_back(blame.event(running.experiment.run, message, String::new()));
        }
        self.conclude(running, Ending::KilledAgent);
    }

    pub(crate) fn restart(&mut self) {
        match self.spawn(Purpose::Serve) {
            Ok(id) => self.server = Some(id),
            Err(kind) => self.gave_up = Some((kind.to_string(), String::new())),
        }
    }
}
