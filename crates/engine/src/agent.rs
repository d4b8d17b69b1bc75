//! One agent: its process, its connection, and its current stage.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read as _};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use unflake_model::Experiment;
use unflake_wire::{ToAgent, frame};

use crate::error::StartErrorKind;
use crate::inbox::{AgentId, Inbox, Note};
use crate::launch::{Launch, Transport};
use crate::pipes::Pipes;
use crate::process::{CommandLine, Exit, Process};
use crate::roster::Roster;
use crate::workshop::Workshop;

/// What an agent is for.
#[derive(Debug)]
pub(crate) enum Purpose {
    /// To be forked from; or, where forking is unsafe, to make the first run.
    Serve,
    /// To make this run, and exit.
    Run(Box<Experiment>),
    /// To wait for another run of the kind for which it was started specially.
    Wait,
}

/// How far an agent has come.
#[derive(Debug)]
pub(crate) enum Stage {
    /// It is collecting, and must be done by then.
    Starting { by: Duration },
    /// It is waiting for runs.
    Ready,
    /// Its process is gone; what it said before is still being read, at most until then.
    Gone { exit: Exit, by: Duration },
    /// It is of no further use.
    Failed(StartErrorKind),
}

/// An agent that was started.
#[derive(Debug)]
pub(crate) struct Agent {
    pub(crate) process: Process,
    pub(crate) purpose: Purpose,
    pub(crate) stage: Stage,
    pub(crate) spawned_at: Duration,
    server: Option<Arc<UnixStream>>,
    has_connected: bool,
    folder: String,
    /// Its positions of tests, if they differ from those of the other agents.
    pub(crate) places: Option<BTreeMap<String, usize>>,
    /// The additional variables it was started with, if it was started for runs of some kind.
    pub(crate) own_env: Vec<(OsString, OsString)>,
}

impl Agent {
    /// Starts an agent whose interpreter gets these additional flags. Everything it does arrives at
    /// the inbox.
    pub(crate) fn spawn(
        id: AgentId,
        (purpose, flags): (Purpose, &[OsString]),
        launch: &Launch,
        (workshop, inbox): (&Workshop, &Inbox),
        now: Duration,
    ) -> Result<Self, StartErrorKind> {
        let folder = format!("agent-{id}");
        let tmp = workshop.make(&folder).map_err(StartErrorKind::Folder)?;
        let token = token().map_err(StartErrorKind::Folder)?;
        let own_env = own_env(launch, &purpose);
        let pipes = match launch.transport {
            Transport::Socket => None,
            Transport::Pipes => Some(Pipes::new().map_err(StartErrorKind::Folder)?),
        };
        let address = pipes.as_ref().map_or_else(|| workshop.socket().into(), Pipes::address);
        let mut line = command(launch, workshop, [address, token.clone().into()], tmp.into());
        line.env.extend(own_env.iter().cloned().map(|(name, value)| (name, Some(value))));
        line.arguments.splice(0..0, flags.iter().cloned());
        inbox.admit(token, id);
        let slot = inbox.slot();
        let on_exit = move || {
            slot.put(Note::Exited { agent: id });
        };
        let inherited = pipes.as_ref().map(Pipes::inherited);
        let inherited = inherited.as_ref().map_or(&[][..], |ends| ends);
        let process = Process::spawn(&line, Stdio::null(), inherited, on_exit)
            .map_err(StartErrorKind::Interpreter)?;
        if let Some(pipes) = pipes {
            pipes.carry(&workshop.socket()).map_err(StartErrorKind::Folder)?;
        }
        let stage = Stage::Starting { by: now + launch.start_timeout };
        Ok(Self {
            process,
            purpose,
            stage,
            spawned_at: now,
            server: None,
            has_connected: false,
            folder,
            places: None,
            own_env,
        })
    }

    /// Whether it was started specially, for a run all of whose tests it has.
    pub(crate) fn can_find_all(&self, places: &BTreeMap<String, usize>, roster: &Roster) -> bool {
        let Purpose::Run(experiment) = &self.purpose else { return false };
        let is_there = |test| roster.id(test).is_some_and(|id| places.contains_key(id.as_str()));
        let tests = experiment.repetition.attempts(&experiment.order);
        !self.own_env.is_empty() && tests.into_iter().all(is_there)
    }

    pub(crate) fn connected(&mut self, stream: Arc<UnixStream>) {
        self.server = Some(stream);
        self.has_connected = true;
    }

    /// Whether it has ever been connected.
    pub(crate) fn has_connected(&self) -> bool {
        self.has_connected
    }

    pub(crate) fn is_ready(&self) -> bool {
        matches!(self.stage, Stage::Ready)
    }

    /// Whether neither side has hung up, as far as we know.
    pub(crate) fn is_connected(&self) -> bool {
        self.server.is_some()
    }

    /// Sends it a message.
    pub(crate) fn say(&self, message: &ToAgent) -> io::Result<()> {
        match &self.server {
            Some(stream) => frame::write(&mut &**stream, message),
            None => Err(io::ErrorKind::NotConnected.into()),
        }
    }

    /// Hangs up: it kills its runs and leaves.
    pub(crate) fn hang_up(&mut self) {
        if let Some(stream) = self.server.take() {
            // Fails if it has hung up already.
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    /// The name of its folder for temporary files.
    pub(crate) fn folder(&self) -> &str {
        &self.folder
    }
}

fn own_env(launch: &Launch, purpose: &Purpose) -> Vec<(OsString, OsString)> {
    match purpose {
        Purpose::Run(experiment) => launch.env_for(experiment),
        Purpose::Serve | Purpose::Wait => Vec::new(),
    }
}

fn command(
    launch: &Launch,
    workshop: &Workshop,
    contact: [OsString; 2],
    tmp: OsString,
) -> CommandLine {
    let mut arguments = launch.flags.clone();
    arguments.push(workshop.agent(&launch.agent.entry).into());
    arguments.extend(contact);
    arguments.extend(launch.runner.iter().cloned());
    let mut env = vec![("TMPDIR".into(), Some(tmp))];
    env.extend(launch.env.iter().cloned());
    CommandLine {
        program: launch.program.clone(),
        arguments,
        current_dir: launch.current_dir.clone(),
        env,
    }
}

/// A secret that nobody can guess.
fn token() -> io::Result<String> {
    let mut bytes = [0; 16];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(format!("{:032x}", u128::from_ne_bytes(bytes)))
}
