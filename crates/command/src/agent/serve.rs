//! The server: lists the tests once, then makes the runs that the engine asks for.
//!
//! One thread reads what the engine says, one lives with each run, and all of them tell this one,
//! which alone answers on the server connection. A run that is asked for ahead waits for the end of
//! another one.

use std::collections::VecDeque;
use std::io;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use rustix::process::Pid;
use unflake_wire::frame::{self, SERVER_BYTES_MAX};
use unflake_wire::{
    Collected, CollectedTest, CollectionError, FromAgent, Hello, Role, Run, ToAgent, version,
};

use super::live::{Left, Live};
use super::output::bounded;
use super::pace::Pace;
use super::seam::{adopt_orphans, command, die_with_parent, end_descendants, has_children, now};
use crate::listing::{Listing, listing};
use crate::options::NAME;
use crate::settings::Settings;

/// How the engine is reached.
#[derive(Clone, Debug)]
pub(super) struct Contact {
    pub(super) socket: PathBuf,
    pub(super) token: String,
}

impl Contact {
    /// Connects, and says who it is.
    fn connect(&self, role: Role, run: Option<u64>, pid: u32) -> io::Result<UnixStream> {
        let mut stream = UnixStream::connect(&self.socket)?;
        let hello = Hello {
            version: version::CURRENT,
            role,
            run,
            token: self.token.clone(),
            pid,
            runtime: None,
            runner: None,
        };
        frame::write(&mut stream, &FromAgent::Hello(hello))?;
        Ok(stream)
    }
}

/// What all runs share.
pub(super) struct Shared {
    pub(super) settings: Settings,
    pub(super) tests: Vec<String>,
    pace: Mutex<Pace>,
    /// Why runs cannot have their own processes, once that is known.
    no_pid: Mutex<Option<String>>,
    cells: Mutex<Vec<Pid>>,
    adopts: bool,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    /// Starts a cell. The lock is held: nobody must take it for one that was left behind.
    pub(super) fn spawn(&self, mut line: Command) -> io::Result<Child> {
        let mut cells = lock(&self.cells);
        let child = line.spawn()?;
        cells.push(Pid::from_child(&child));
        Ok(child)
    }

    /// A cell was reaped; whom it left to us is ended.
    pub(super) fn forget(&self, cell: Pid, had_own_processes: bool) {
        let mut cells = lock(&self.cells);
        cells.retain(|other| *other != cell);
        if self.adopts && !had_own_processes {
            end_descendants(&|pid| cells.contains(&pid));
        }
    }

    pub(super) fn pid_refused(&self) -> Option<String> {
        lock(&self.no_pid).clone()
    }

    pub(super) fn refuse_pid(&self, why: String) {
        lock(&self.no_pid).get_or_insert(why);
    }

    pub(super) fn learn(&self, took: Duration, tests: &[(usize, Duration)]) {
        lock(&self.pace).learn(took, tests);
    }

    /// How long it may take until the first test, and until the last.
    pub(super) fn patience(&self, tests: &[usize]) -> (Duration, Duration) {
        let pace = lock(&self.pace);
        (pace.until_first(), pace.of_run(tests))
    }
}

/// What the server hears.
enum Note {
    /// The engine wants something; nothing if it is gone.
    Asked(Option<ToAgent>),
    /// A cell of a run is there.
    Forked { run: u64, pid: u32 },
    /// A run is over.
    Ended { run: u64, left: Option<Left> },
}

/// Lists the tests and serves runs until the engine stops it or is gone.
pub(super) fn serve(settings: Settings, contact: &Contact, chosen: &[String]) -> io::Result<()> {
    die_with_parent();
    let mut engine = contact.connect(Role::Server, None, std::process::id())?;
    let begun = now();
    let found = match list(&settings) {
        Ok(text) => listing(&text, &settings, chosen),
        Err((what, text)) => return frame::write(&mut engine, &FromAgent::Failed { what, text }),
    };
    let pace = Mutex::new(Pace::new(now().saturating_duration_since(begun)));
    let collected = collected(&settings, &found)?;
    // A project that has started something for all tests is not ours to end.
    let adopts = !has_children();
    if adopts {
        adopt_orphans();
    }
    let tests = found.tests;
    let (no_pid, cells) = (Mutex::default(), Mutex::default());
    let shared = Arc::new(Shared { settings, tests, pace, no_pid, cells, adopts });
    frame::write(&mut engine, &FromAgent::Collected(collected))?;
    let (sender, notes) = mpsc::channel();
    listen(engine.try_clone()?, sender.clone());
    let mut server = Server {
        contact: contact.clone(),
        shared,
        sender,
        n_running: 0,
        ahead: VecDeque::new(),
        is_last: false,
    };
    for note in notes {
        let answer = match note {
            Note::Asked(Some(ToAgent::Run(run))) => server.asked(run),
            Note::Asked(Some(ToAgent::Stop {}) | None) => break,
            Note::Forked { run, pid } => Some(FromAgent::Forked { run, pid }),
            Note::Ended { run, left } => Some(server.ended(run, left)),
        };
        if let Some(answer) = answer {
            frame::write(&mut engine, &answer)?;
        }
        if server.is_last && server.n_running == 0 {
            break;
        }
    }
    // Cells end with the threads that started them.
    Ok(())
}

fn listen(mut engine: UnixStream, sender: Sender<Note>) {
    thread::spawn(move || {
        loop {
            // What makes no sense is as good as the end.
            let message = frame::read::<ToAgent>(&mut engine, SERVER_BYTES_MAX).ok().flatten();
            let is_end = message.is_none();
            if sender.send(Note::Asked(message)).is_err() || is_end {
                return;
            }
        }
    });
}

struct Server {
    contact: Contact,
    shared: Arc<Shared>,
    sender: Sender<Note>,
    n_running: usize,
    /// Runs that wait for the end of another one.
    ahead: VecDeque<(Run, UnixStream)>,
    /// Whether to leave after the run under way.
    is_last: bool,
}

impl Server {
    fn asked(&mut self, run: Run) -> Option<FromAgent> {
        let number = run.run;
        self.is_last |= run.in_place;
        // Who leads its group is told when it is known.
        let Ok(connection) = self.contact.connect(Role::Run, Some(number), 0) else {
            return Some(FromAgent::Exited { run: number, code: None, signal: None, stderr: None });
        };
        if run.is_ahead && 0 < self.n_running {
            self.ahead.push_back((run, connection));
        } else {
            self.begin(run, connection);
        }
        None
    }

    fn begin(&mut self, run: Run, connection: UnixStream) {
        self.n_running += 1;
        let (shared, sender) = (Arc::clone(&self.shared), self.sender.clone());
        thread::spawn(move || {
            let number = run.run;
            let forked = |pid| {
                // Nobody hears it if the server leaves.
                let _ = sender.send(Note::Forked { run: number, pid });
            };
            let left = Live::new(&run, &shared, connection, &forked).live().ok();
            let _ = sender.send(Note::Ended { run: number, left });
        });
    }

    fn ended(&mut self, run: u64, left: Option<Left>) -> FromAgent {
        self.n_running -= 1;
        if let Some((next, connection)) = self.ahead.pop_front() {
            self.begin(next, connection);
        }
        let (exit, stderr) = left.map(|left| (left.exit, left.stderr)).unzip();
        FromAgent::Exited {
            run,
            code: exit.and_then(|exit| exit.code),
            signal: exit.and_then(|exit| exit.signal),
            stderr: stderr.filter(|stderr| !stderr.is_empty()).map(|stderr| bounded(&stderr)),
        }
    }
}

/// What `list` printed; or what is wrong with it, and what it said.
fn list(settings: &Settings) -> Result<Vec<u8>, (String, String)> {
    let mut line = command(settings.row.list.first().map_or("", String::as_str));
    line.args(settings.row.list.iter().skip(1)).stdin(Stdio::null());
    let what =
        |how: &str| format!("`{}` does not list the tests: {how}", settings.row.list.join(" "));
    let output = line.output().map_err(|error| {
        (what(&error.to_string()), "is the first word of `list` the program?".to_owned())
    })?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    let text = [output.stdout, output.stderr].concat();
    let text = bounded(&String::from_utf8_lossy(&text));
    Err((what(&output.status.to_string()), text))
}

fn collected(settings: &Settings, found: &Listing) -> io::Result<Collected> {
    let test = |id: &String| CollectedTest {
        id: id.clone(),
        class: crate::names::class_of(id, settings.between()).to_owned(),
        file: String::new(),
        once: !settings.row.repeats,
    };
    let error = |(place, text): &(String, String)| CollectionError {
        place: place.clone(),
        text: text.clone(),
    };
    Ok(Collected {
        tests: found.tests.iter().map(test).collect(),
        errors: found.refused.iter().map(error).collect(),
        fork: None,
        rootdir: std::env::current_dir()?.to_string_lossy().into_owned(),
        // By its name alone it is found again; which command it is, is said behind.
        runner: format!("{NAME} {}", settings.row.run.first().map_or("", String::as_str)),
        plugins: Vec::new(),
    })
}
