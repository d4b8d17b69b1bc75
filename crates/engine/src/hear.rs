//! What each letter means.

use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Duration;

use rustix::process::{Pid, Signal};
use unflake_model::Evidence;
use unflake_wire::{Collected, End, FromAgent, Hello, Role, version};

use crate::agent::{Purpose, Stage};
use crate::engine::{Caller, Engine, Ticket, Waiting};
use crate::error::StartErrorKind;
use crate::event::{Event, Isolation};
use crate::inbox::{AgentId, ConnectionId, Letter, Note};
use crate::looking;
use crate::process::Exit;
use crate::progress;
use crate::roster::{self, Roster};
use crate::running::Running;
use crate::signals::signal_group;

/// How long to wait for the last words of a dead agent. They are in the socket already; only we are
/// slow.
const LAST_WORDS: Duration = Duration::from_millis(500);

impl Engine {
    /// Does what follows from a letter.
    pub(crate) fn hear(&mut self, Letter { at, note }: Letter) {
        match note {
            Note::Connected { connection, agent, hello, stream } => {
                if let Some(caller) = self.admit(agent, connection, &hello, (&stream, at)) {
                    self.callers.insert(connection, caller);
                } else {
                    // This is a run that we have given up, or an agent of another version. It may
                    // leave.
                    let _ = stream.shutdown(Shutdown::Both);
                }
            }
            Note::Said { connection, messages } => {
                for message in messages {
                    match self.callers.get(&connection) {
                        Some(Caller::Server(agent)) => self.hear_server(*agent, message, at),
                        Some(Caller::Run(ticket, _)) => self.hear_run(*ticket, message, at),
                        None => (),
                    }
                }
            }
            Note::Closed { connection, error } => {
                let error = error.map(|error| error.to_string());
                match self.callers.remove(&connection) {
                    Some(Caller::Server(agent)) => self.lost_server(agent, error),
                    Some(Caller::Run(ticket, _)) => self.lost_run(ticket, connection, at),
                    None => (),
                }
            }
            Note::Exited { agent } => self.agent_exited(agent, at),
            Note::Woken => self.ready.push_back(Event::Woken),
        }
        self.sweep();
    }

    /// Identifies who has connected; `None` if we have no use for the connection.
    fn admit(
        &mut self,
        id: AgentId,
        connection: ConnectionId,
        hello: &Hello,
        (stream, at): (&Arc<UnixStream>, Duration),
    ) -> Option<Caller> {
        if hello.version != version::CURRENT {
            let (found, known) = (hello.version, version::CURRENT);
            self.fail(id, StartErrorKind::Version { found, known });
            return None;
        }
        match hello.role {
            Role::Server => {
                self.agents.get_mut(&id)?.connected(Arc::clone(stream));
                Some(Caller::Server(id))
            }
            Role::Run => {
                // Its agent may be gone by now; its messages count all the same.
                let ticket = hello.run?;
                let running = self.running.get_mut(&ticket)?;
                if running.agent != id {
                    return None;
                }
                running.connected(connection, pid(hello.pid), at);
                if let Some(pid) = running.pid.filter(|_| running.is_orphan()) {
                    // Nobody else is left to end it. What it has said is in the socket.
                    signal_group(pid, Signal::KILL);
                }
                Some(Caller::Run(ticket, Arc::clone(stream)))
            }
        }
    }

    fn hear_server(&mut self, id: AgentId, message: FromAgent, at: Duration) {
        match message {
            FromAgent::Collected(collected) => self.hear_collected(id, collected),
            FromAgent::Failed { what, text } => {
                self.fail(id, StartErrorKind::Failed { what, text });
            }
            FromAgent::Forked { run, pid: raw } => {
                if let Some(running) = self.running.get_mut(&run) {
                    running.heard(at);
                    running.pid = pid(raw).or(running.pid);
                } else if let Some(pid) = pid(raw) {
                    // We gave it up before it connected.
                    signal_group(pid, Signal::KILL);
                }
            }
            FromAgent::Exited { run, code, signal, stderr } => {
                if let Some(running) = self.running.get_mut(&run) {
                    running.stderr = stderr;
                    running.told_exit(Exit { code, signal }, at);
                    self.finish_if_over(run);
                }
            }
            // A server should not say this; a newer agent may have its reasons.
            FromAgent::Hello(_)
            | FromAgent::Alive {}
            | FromAgent::Isolated { .. }
            | FromAgent::Start { .. }
            | FromAgent::End(_)
            | FromAgent::Traced(_)
            | FromAgent::Restored(_)
            | FromAgent::Perturbed(_)
            | FromAgent::Done { .. } => (),
        }
    }

    fn hear_collected(&mut self, id: AgentId, collected: Collected) {
        if collected.tests.is_empty() {
            let errors = collected.errors.into_iter().map(|e| (e.place, e.text)).collect();
            return self.fail(id, StartErrorKind::NothingCollected { errors });
        }
        if let Some(known) = &self.collected {
            if let Some(difference) = roster::difference(known, &collected) {
                let Some(agent) = self.agents.get_mut(&id) else { return };
                let places = roster::places(&collected);
                if !agent.can_find_all(&places, &self.roster) {
                    return self.fail(id, StartErrorKind::SuiteChanged { difference });
                }
                // With another hash seed, parameters taken from a set have another order.
                agent.places = Some(places);
            }
        } else {
            self.roster = Roster::new(&collected);
            if self.roster.n_tests() == 0 {
                let named = self.roster.tests_set_aside().iter();
                let errors = named.map(|test| (test.id.clone(), test.why.clone())).collect();
                return self.fail(id, StartErrorKind::NothingCollected { errors });
            }
            self.collected = Some(collected);
        }
        let Some(agent) = self.agents.get_mut(&id) else { return };
        if !matches!(agent.stage, Stage::Starting { .. }) {
            return;
        }
        agent.stage = Stage::Ready;
        if let Purpose::Run(experiment) = &agent.purpose {
            let experiment = (**experiment).clone();
            let next = Waiting { experiment, is_suspect: false };
            if let Err(error) = self.begin(id, next, false) {
                self.fail(id, StartErrorKind::Protocol(error.to_string()));
            }
        }
    }

    fn fail(&mut self, id: AgentId, kind: StartErrorKind) {
        if let Some(agent) = self.agents.get_mut(&id) {
            agent.stage = Stage::Failed(kind);
        }
    }

    fn hear_run(&mut self, ticket: Ticket, message: FromAgent, at: Duration) {
        let Some(running) = self.running.get_mut(&ticket) else { return };
        running.heard(at);
        match message {
            FromAgent::Isolated { applied, refused } => {
                running.isolation = Isolation { applied, refused };
            }
            FromAgent::Start { position, attempt } => {
                if let Some(place) = running.progress.started(position, attempt, at) {
                    let run = running.experiment.run;
                    let (test, attempt) = (place.test, place.attempt);
                    self.ready.push_back(Event::TestStarted { run, test, attempt });
                }
            }
            FromAgent::End(end) => self.hear_end(ticket, end),
            FromAgent::Traced(traced) => {
                if let Some(place) = running.progress.place(traced.position, traced.attempt) {
                    running.looked.add_calls(place.number, traced);
                }
            }
            FromAgent::Restored(restored) => {
                running.looked.seen.restored = Some(looking::restored(restored));
            }
            FromAgent::Perturbed(perturbed) => {
                let run = running.experiment.run;
                self.ready.push_back(Event::Perturbed { run, perturbed });
            }
            FromAgent::Done { in_part, chosen } => {
                running.progress.done();
                running.looked.seen.in_part |= in_part;
                if let Some(chosen) = chosen {
                    running.looked.seen.chosen = Some(looking::chosen(chosen));
                }
                self.finish_if_over(ticket);
            }
            FromAgent::Failed { what, text } => running.failed(what, text),
            // `Alive` only shows that the run is not silent. A run should not say the others; a
            // newer agent may have its reasons.
            FromAgent::Alive {}
            | FromAgent::Hello(_)
            | FromAgent::Collected(_)
            | FromAgent::Forked { .. }
            | FromAgent::Exited { .. } => (),
        }
    }

    fn hear_end(&mut self, ticket: Ticket, mut end: End) {
        let (changes, n_more) = (std::mem::take(&mut end.changes), end.more);
        let Some(running) = self.running.get_mut(&ticket) else { return };
        let Some((place, outcome, duration)) = running.progress.ended(&end) else { return };
        running.looked.add_changes(place.number, changes, n_more);
        let failure = progress::failure(end);
        if outcome.evidence() == Some(Evidence::Fail) && failure.is_some() {
            self.explained.insert(place.test);
        }
        self.ready.push_back(Event::TestEnded {
            run: running.experiment.run,
            test: place.test,
            attempt: place.attempt,
            outcome,
            duration,
            failure,
        });
        self.finish_if_over(ticket);
    }

    /// Finishes a run early if there is nothing left to wait for.
    fn finish_if_over(&mut self, ticket: Ticket) {
        let is_over = |r: &Running| r.is_gone() && r.progress.is_complete();
        if self.running.get(&ticket).is_some_and(is_over) {
            self.finish(ticket);
        }
    }

    fn lost_run(&mut self, ticket: Ticket, connection: ConnectionId, at: Duration) {
        if let Some(running) = self.running.get_mut(&ticket) {
            running.disconnected(connection, at);
        }
    }

    /// An agent has hung up, or sent nonsense. It is of no further use; its end will be noticed.
    fn lost_server(&mut self, id: AgentId, error: Option<String>) {
        let Some(agent) = self.agents.get_mut(&id) else { return };
        if let Stage::Gone { exit, .. } = agent.stage {
            agent.stage = Stage::Failed(StartErrorKind::Died(exit));
        } else if let Some(error) = error {
            agent.stage = Stage::Failed(StartErrorKind::Protocol(error));
        } else if agent.is_connected() && !matches!(agent.purpose, Purpose::Run(_)) {
            agent.process.signal(Signal::KILL);
        }
    }

    /// The process of an agent is gone. What it said before may be read after this.
    fn agent_exited(&mut self, id: AgentId, at: Duration) {
        let is_open = self.callers.values().any(|c| matches!(c, Caller::Server(of) if *of == id));
        let Some(agent) = self.agents.get_mut(&id) else { return };
        let exit = agent.process.reap();
        if let Stage::Failed(_) = agent.stage {
            return;
        }
        let run = self.running.iter_mut().find(|(_, running)| running.agent == id);
        match (&agent.purpose, run) {
            (Purpose::Run(_), Some((&ticket, running))) => {
                running.exited(exit, at);
                self.finish_if_over(ticket);
            }
            _ if agent.has_connected() && !is_open => {
                agent.stage = Stage::Failed(StartErrorKind::Died(exit));
            }
            _ => agent.stage = Stage::Gone { exit, by: at + LAST_WORDS },
        }
    }
}

fn pid(raw: u32) -> Option<Pid> {
    i32::try_from(raw).ok().and_then(Pid::from_raw)
}
