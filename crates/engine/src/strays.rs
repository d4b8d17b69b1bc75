//! Processes that others leave behind: whose parent has ended, and who go on.
//!
//! A signal to a group does not reach who has left it: a test that starts a program in a session of
//! its own leaves it running. So, once [`adopt`] was called, the kernel makes us the parent of all
//! our descendants whose own parent ends, and we end them. Agents that run tests in processes of
//! their own do the same for these, between two runs; what is left here comes from those who ended,
//! or cannot do it (a JVM).
//!
//! Only children of ours are ever signalled, whose numbers are theirs until we reap them, and none
//! that [`crate::process`] has started. That starts all others, too: so a child it did not start
//! was adopted. A program of which that is not true must not call [`adopt`].
//!
//! Whose it was cannot always be told. While others are under way, only those are ended who carry
//! the temporary folder of the one that ended in their environment; the others wait for the end.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions};

use crate::signals::signal_group;

/// How often who is left is looked for: who is ended may leave others. Those who fork faster than
/// that, and those whom the kernel cannot end, are given up.
const ROUNDS_MAX: u32 = 500;
/// The time between two looks.
const ROUND: Duration = Duration::from_millis(1);
/// The variable by which processes tell whose they are.
const MARK: &str = "TMPDIR";

static REGISTER: Mutex<Register> = Mutex::new(Register { adopts: false, live: Vec::new() });

/// Who was started by us, and not reaped.
pub(crate) struct Register {
    adopts: bool,
    live: Vec<Pid>,
}

impl Register {
    /// Held while a process is started, so that nobody takes it for a stray.
    pub(crate) fn hold() -> MutexGuard<'static, Self> {
        REGISTER.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn add(&mut self, pid: Pid) {
        self.live.push(pid);
    }

    /// One of ours was reaped, of which this is the mark; whom it left is ended.
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

    /// Ends everybody.
    fn clear(&self) {
        for pid in &self.live {
            signal_group(*pid, Signal::KILL);
        }
        for _ in 0..ROUNDS_MAX {
            let (ours, strays): (Vec<Child>, Vec<Child>) =
                children().into_iter().partition(|child| self.live.contains(&child.pid));
            // Ours are reaped by their owners, if these are still there.
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

/// From now on, whoever is left behind by a process that was started here is ended: with it, if
/// that can be told, else by [`end_all`]. For programs that start no process in any other way. If
/// there are children already, a shell has started them before it became us (`server & exec
/// unflake`): theirs could not be told from strays, so nobody is adopted.
pub fn adopt() {
    let mut register = Register::hold();
    #[cfg(target_os = "linux")]
    if children().is_empty() {
        register.adopts = rustix::process::set_child_subreaper(Some(Pid::INIT)).is_ok();
    }
}

/// Ends all processes that were started here, and whoever they left behind: for the end of a
/// program that has called [`adopt`].
pub fn end_all() {
    let register = Register::hold();
    if register.adopts {
        register.clear();
    }
}

/// The mark that a process will carry, and whatever it starts.
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
    /// And waits to be reaped.
    has_ended: bool,
}

/// Looked for among all processes: not every kernel lists them.
fn children() -> Vec<Child> {
    let own = std::process::id().to_string();
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let numbers = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let child = |number: i32| {
        let status = stat(number).ok()?;
        // The name, in brackets, may have brackets and blanks in it.
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
    // Not permitted, or ended already: then it is only reaped, if it can be.
    let _ = rustix::process::kill_process(pid, Signal::KILL);
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG;
    let _ = rustix::process::waitid(WaitId::Pid(pid), options);
}
