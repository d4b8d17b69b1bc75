//! A cell under way: what it says, what its command writes, and what time it is.
//!
//! One `poll` on three descriptors, in the thread of the run. What a command wrote is in its pipes
//! before the cell says that it left, so that pipes are emptied then and what was written belongs
//! to it, whoever else still holds them open.

use std::io::{self, Read, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::process::{Child, ChildStderr, ChildStdout, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::process::Pid;
use unflake_engine::process::Exit;
use unflake_wire::{Ended, Level, Refused};

use super::CELL;
use super::cell::{Request, Word, own};
use super::follow::Follower;
use super::live::Files;
use super::output::Output;
use super::plan::Slot;
use super::seam::{kill_group, now, wait_without_reaping};
use super::serve::Shared;
use crate::report::Case;
use crate::settings::{Format, Place};

/// How often it is said that a run goes on, and the time is looked at.
const TICK: Duration = Duration::from_secs(1);

/// So many pieces are read of a stream at once: more than fit into a pipe.
const PIECES_MAX: usize = 100;

/// Something that happened.
pub(super) enum Heard {
    /// How far the cell could be set apart.
    Isolated { applied: Vec<Level>, refused: Vec<Refused> },
    /// The test at this place is under way.
    Started(usize),
    /// It is over, with this outcome.
    Ended(usize, Box<Case>),
    /// Tests are under way.
    Alive,
    /// There is nothing more to come.
    Closed(Closed),
}

/// How a cell came to its end.
pub(super) enum Closed {
    /// It ran all commands.
    Through,
    /// It must be begun again without its own processes.
    NoPid { why: String },
    /// It could not do its work.
    Fault { what: String },
    /// What was to be run first did not succeed.
    NotReset { exit: Exit },
    /// It was ended.
    Lost,
}

/// A cell under way.
pub(super) struct Watch<'a> {
    shared: &'a Shared,
    files: &'a Files,
    tests: Vec<usize>,
    follower: Option<Follower<'a>>,
    cell: Option<Cell>,
    begun: Instant,
    ticked: Instant,
    pub(super) stdout: Output,
    pub(super) stderr: Output,
    /// How the last command left.
    pub(super) exit: Exit,
    took: Duration,
    /// What happened and was not told yet.
    news: Vec<Heard>,
}

/// Our ends of a cell.
struct Cell {
    child: Child,
    pid: Pid,
    channel: UnixStream,
    said: Vec<u8>,
    stdout: ChildStdout,
    stderr: ChildStderr,
    n_commands: usize,
    has_own_processes: bool,
}

impl<'a> Watch<'a> {
    pub(super) fn new(
        shared: &'a Shared,
        (slots, ids): (&[Slot], &[&'a str]),
        files: &'a Files,
    ) -> Self {
        let settings = &shared.settings;
        let is_by_exit = settings.report == Format::Exit;
        let is_report = settings.place == Place::Stdout && !is_by_exit;
        Self {
            shared,
            files,
            tests: slots.iter().map(|slot| slot.test).collect(),
            follower: (!is_by_exit).then(|| Follower::new(settings, ids.to_vec())),
            cell: None,
            begun: now(),
            ticked: now(),
            stdout: Output::new(is_report),
            stderr: Output::new(false),
            exit: Exit { code: None, signal: None },
            took: Duration::ZERO,
            news: Vec::new(),
        }
    }

    pub(super) fn follower(&self) -> Option<&Follower<'a>> {
        self.follower.as_ref()
    }

    /// How long the last command took.
    pub(super) fn took(&self) -> Duration {
        self.took
    }

    /// Starts a cell; who leads its group.
    pub(super) fn begin(&mut self, request: &Request) -> io::Result<u32> {
        let file = self.files.folder.join("request.json");
        std::fs::write(&file, serde_json::to_vec(request)?)?;
        let (channel, theirs) = UnixStream::pair()?;
        let mut line = own(CELL);
        line.arg(file).env("TMPDIR", self.files.temporary()).process_group(0);
        line.stdin(OwnedFd::from(theirs)).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = self.shared.spawn(line)?;
        let pid = Pid::from_child(&child);
        let (Some(stdout), Some(stderr)) = (child.stdout.take(), child.stderr.take()) else {
            return Err(io::Error::other("no pipes"));
        };
        for stream in [channel.as_fd(), stdout.as_fd(), stderr.as_fd()] {
            rustix::io::ioctl_fionbio(stream, true)?;
        }
        let raw = child.id();
        let (n_commands, has_own_processes) = (request.commands.len(), false);
        let said = Vec::new();
        self.cell =
            Some(Cell { child, pid, channel, said, stdout, stderr, n_commands, has_own_processes });
        (self.begun, self.ticked) = (now(), now());
        Ok(raw)
    }

    /// Waits for the next thing to happen.
    pub(super) fn next(&mut self) -> Heard {
        loop {
            if !self.news.is_empty() {
                return self.news.remove(0);
            }
            let is_lost = self.wait().is_err();
            self.read_output();
            let heard = self.read_words();
            let is_closed = self.news.iter().any(|heard| matches!(heard, Heard::Closed(_)));
            if is_closed {
                self.bury();
            } else if is_lost || heard.is_err() {
                // With nothing to run, it leaves when it has set itself apart.
                let is_idle = self.cell.as_ref().is_some_and(|cell| cell.n_commands == 0);
                self.bury();
                self.close(if is_idle { Closed::Through } else { Closed::Lost });
            } else {
                self.tick();
            }
        }
    }

    fn wait(&self) -> io::Result<()> {
        let Some(cell) = &self.cell else { return Err(io::ErrorKind::NotConnected.into()) };
        let mut ready = [
            PollFd::new(&cell.channel, PollFlags::IN),
            PollFd::new(&cell.stdout, PollFlags::IN),
            PollFd::new(&cell.stderr, PollFlags::IN),
        ];
        let patience = Timespec::try_from(TICK).map_err(io::Error::other)?;
        match rustix::event::poll(&mut ready, Some(&patience)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    fn read_output(&mut self) {
        let Some(cell) = &mut self.cell else { return };
        let (follower, news) = (&mut self.follower, &mut self.news);
        let mut look = |line: &str, is_begun: bool| {
            let started = follower.as_mut().and_then(|follower| follower.line(line, is_begun));
            news.extend(started.map(Heard::Started));
        };
        drain(&mut cell.stdout, &mut self.stdout, &mut look);
        drain(&mut cell.stderr, &mut self.stderr, &mut look);
    }

    /// What the cell says; an error if it is gone.
    fn read_words(&mut self) -> io::Result<()> {
        let Some(cell) = &mut self.cell else { return Ok(()) };
        let mut buffer = [0; 4 << 10];
        let is_open = loop {
            match cell.channel.read(&mut buffer) {
                Ok(0) => break false,
                Ok(n_read) => cell.said.extend_from_slice(&buffer[..n_read]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break true,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => (),
                Err(_) => break false,
            }
        };
        let whole = cell.said.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1);
        let lines: Vec<u8> = cell.said.drain(..whole).collect();
        for line in lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            self.hear(serde_json::from_slice(line)?);
        }
        if is_open { Ok(()) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
    }

    fn hear(&mut self, word: Word) {
        match word {
            Word::Isolated { applied, refused } => {
                if let Some(cell) = &mut self.cell {
                    cell.has_own_processes = applied.contains(&Level::Pid);
                }
                self.news.push(Heard::Isolated { applied, refused });
            }
            Word::NoPid { why } => self.close(Closed::NoPid { why }),
            Word::Fault { what } => self.close(Closed::Fault { what }),
            Word::NotReset { code, signal } => {
                self.read_output();
                self.close(Closed::NotReset { exit: Exit { code, signal } });
            }
            Word::Began { number } => {
                self.begun = now();
                if self.follower.is_none() {
                    self.news.push(Heard::Started(number));
                }
            }
            Word::Left { number, code, signal } => self.left(number, Exit { code, signal }),
        }
    }

    fn close(&mut self, closed: Closed) {
        self.news.push(Heard::Closed(closed));
    }

    /// A command left.
    fn left(&mut self, number: usize, exit: Exit) {
        self.took = now().saturating_duration_since(self.begun);
        self.exit = exit;
        // All it wrote is in the pipes.
        self.read_output();
        if self.follower.is_none() {
            let case = self.case(exit);
            self.news.push(Heard::Ended(number, Box::new(case)));
        }
        let is_last = self.cell.as_ref().is_none_or(|cell| cell.n_commands == number + 1);
        if is_last {
            self.close(Closed::Through);
        } else if let Some(cell) = &mut self.cell {
            // One that is gone is seen to be.
            let _ = cell.channel.write_all(b"go\n");
        }
    }

    /// What the exit of a command says about its test.
    fn case(&mut self, exit: Exit) -> Case {
        let is_passed = exit.code == Some(0);
        let mut case = Case::unsaid(if is_passed { Ended::Passed } else { Ended::Failed });
        case.duration = Some(self.took);
        (case.stdout, case.stderr) = (self.stdout.take_tail(), self.stderr.take_tail());
        if !is_passed {
            case.message = exit.to_string();
            case.text = [case.stdout.as_str(), case.stderr.as_str(), &case.message].join("\n");
        }
        case
    }

    /// Says that the run goes on, for as long as it may, or that its only test does.
    fn tick(&mut self) {
        let time = now();
        if time.saturating_duration_since(self.ticked) < TICK {
            return;
        }
        self.ticked = time;
        let elapsed = time.saturating_duration_since(self.begun);
        let (until_first, whole) = self.shared.patience(&self.tests);
        let is_only = self.tests.len() == 1 && self.follower.is_some();
        if is_only && until_first < elapsed {
            self.news.push(Heard::Started(0));
        } else if elapsed < whole {
            self.news.push(Heard::Alive);
        }
    }

    /// Waits for the end of the cell, which is near.
    fn bury(&mut self) {
        let Some(mut cell) = self.cell.take() else { return };
        // Nothing is said to it any more; that ends it, if it waits.
        drop(cell.channel);
        wait_without_reaping(cell.pid);
        kill_group(cell.pid);
        let status = cell.child.wait();
        let is_unknown = self.exit == Exit { code: None, signal: None };
        if let Some(status) = status.ok().filter(|_| is_unknown) {
            self.exit = Exit { code: status.code(), signal: status.signal() };
        }
        self.shared.forget(cell.pid, cell.has_own_processes);
    }
}

impl Drop for Watch<'_> {
    fn drop(&mut self) {
        // The engine gave the run up.
        if let Some(cell) = &self.cell {
            kill_group(cell.pid);
            self.bury();
        }
    }
}

/// Reads what is there, or at least as much as a pipe holds: who never pauses is not waited for.
fn drain(stream: &mut impl Read, output: &mut Output, look: &mut impl FnMut(&str, bool)) {
    let mut buffer = [0; 16 << 10];
    for _ in 0..PIECES_MAX {
        match stream.read(&mut buffer) {
            Ok(n_read @ 1..) => output.push(&buffer[..n_read], &mut *look),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => (),
            Ok(0) | Err(_) => return,
        }
    }
}
