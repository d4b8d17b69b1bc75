//! Ends processes that others leave behind: those whose parent has ended, but which go on.
//!
//! A signal to a group does not reach processes that have left it: a test that starts a program in
//! a new session leaves it running. So, once [`adopt`] was called, the kernel makes us the parent
//! of all our descendants whose own parent ends, and we end them. Agents that run tests in separate
//! processes do the same for these, between two runs; what remains here comes from agents that
//! ended, or that cannot do it (a JVM).
//!
//! Only our own children are ever signalled, whose numbers belong to them until we reap them, and
//! none that [`crate::process`] has started. It starts all our children, so a child it did not
//! start was adopted. A program of which that is not true must not call [`adopt`].
//!
//! It is not always clear which process left a stray. While others are under way, only strays that
//! have the temporary folder of the ended process in their environment are ended; the others wait
//! for the end.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions};

use crate::signals::signal_group;

/// How often to look for strays: ending some may leave others. Those that fork faster than that,
/// and those that the kernel cannot end, are given up.
const ROUNDS_MAX: u32 = 500;
/// The time between two rounds.
const ROUND: Duration = Duration::from_millis(1);
/// The variable that shows which run a process belongs to.
const MARK: &str = "TMPDIR";

static REGISTER: Mutex<Register> = Mutex::new(Register { adopts: false, live: Vec::new() });

/// The processes that we started and have not reaped.
pub(crate) struct Register {
    adopts: bool,
    live: Vec<Pid>,
}

impl Register {
    /// Held while a process is started, so that it is not mistaken for a stray.
    pub(crate) fn hold() -> MutexGuard<'static, Self> {
        REGISTER.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn add(&mut self, pid: Pid) {
        self.live.push(pid);
    }

    /// One of our processes was reaped, and this is its mark; ends what it left behind.
    pub(crate) fn remove(&mut self, pid: Pid, mark: Option<&OsStr>) {
        self.live.retain(|live| *live != pid);
        if !self.adopts {
            return;
        }
        let is_alone = self.live.is_empty();
        let is_its = |child: Pid| is_alone || mark.is_some_and(|mark| carries(child, mark));
        for _ in 0..ROUNDS_MAX {
            let strays = children().into_iter().map(|child| child.pid);
            let left: Vec<Pid> =
                strays.filter(|pid| !self.live.contains(pid) && is_its(*pid)).collect();
            if left.is_empty() {
                break;
            }
            left.into_iter().for_each(end);
            thread::sleep(ROUND);
        }
    }

    /// Ends all strays.
    fn clear(&self) {
        for pid in &self.live {
            signal_group(*pid, Signal::KILL);
        }
        for _ in 0..ROUNDS_MAX {
            let (ours, strays): (Vec<Child>, Vec<Child>) =
                children().into_iter().partition(|child| self.live.contains(&child.pid));
            // Our own are reaped by their owners, if these still exist.
            if strays.is_empty() && ours.iter().all(|child| child.has_ended) {
                break;
            }
            for child in strays {
                end(child.pid);
            }
            thread::sleep(ROUND);
        }
    }
}

/// From now on, strays of processes that were started here are ended: together with the process if
/// it is clear which one left them, else by [`end_all`]. Only for programs that start no process in
/// any other way. If there are children already, a shell has started them before it became this
/// program (`server & exec unflake`): their strays could not be told from ours, so nothing is
/// adopted.
pub fn adopt() {
    let mut register = Register::hold();
    #[cfg(target_os = "linux")]
    if children().is_empty() {
        register.adopts = rustix::process::set_child_subreaper(Some(Pid::INIT)).is_ok();
    }
}

/// Ends all processes that were started here, and all strays: for the end of a program that has
/// called [`adopt`].
pub fn end_all() {
    let register = Register::hold();
    if register.adopts {
        register.clear();
    }
}

/// The mark that a process will carry, like everything it starts.
pub(crate) fn mark(env: &[(OsString, Option<OsString>)]) -> Option<OsString> {
    let given = env.iter().rev().find(|(name, _)| name == MARK);
    given.and_then(|(_, value)| value.clone())
}

fn carries(pid: Pid, mark: &OsStr) -> bool {
    let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    environment.split(|byte| *byte == 0).any(|variable| {
        variable.strip_prefix(MARK.as_bytes()).and_then(|rest| rest.strip_prefix(b"="))
            == Some(mark.as_bytes())
    })
}

/// A child of this process.
struct Child {
    pid: Pid,
    /// Whether it has ended and waits to be reaped.
    has_ended: bool,
}

/// Searches all processes, because not every kernel lists children.
fn children() -> Vec<Child> {
    let own = std::process::id().to_string();
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let numbers = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let child = |number: i32| {
        let status = stat(number).ok()?;
        // The name, in brackets, may itself contain brackets and blanks.
        let (_, rest) = status.rsplit_once(')')?;
        let mut words = rest.split_ascii_whitespace();
        let (state, parent) = (words.next()?, words.next()?);
        let pid = Pid::from_raw(number)?;
        (parent == own).then_some(Child { pid, has_ended: state == "Z" })
    };
    numbers.filter_map(child).collect()
}

fn stat(number: i32) -> io::Result<String> {
    let bytes = fs::read(format!("/proc/{number}/stat"))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn end(pid: Pid) {
    // It may not be permitted, or has ended already: then it is only reaped, if possible.
    let _ = rustix::process::kill_process(pid, Signal::KILL);
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG;
    let _ = rustix::process::waitid(WaitId::Pid(pid), options);
}
