//! What the agent needs of the system: processes, a clock, and the end of those left behind.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, WaitOptions};

/// For those who fork faster than they are ended, and those whom the kernel cannot end.
const ROUNDS_MAX: u32 = 500;
const NAP: Duration = Duration::from_millis(1);

/// What time it is, for durations.
#[expect(clippy::disallowed_methods, reason = "an agent measures what it runs; it decides nothing")]
pub(super) fn now() -> Instant {
    Instant::now()
}

/// A program to be started: the runner, or one more of us.
#[expect(clippy::disallowed_methods, reason = "an agent is who runs tests")]
pub(super) fn command(program: impl AsRef<OsStr>) -> Command {
    Command::new(program)
}

/// Has the kernel end this process with the thread that started it, which may be gone already.
pub(super) fn die_with_parent() {
    #[cfg(target_os = "linux")]
    {
        // Refused nowhere; without it, the end of a connection is the second way to know.
        let _ = rustix::process::set_parent_process_death_signal(Some(Signal::KILL));
    }
}

/// Makes this process the parent of all its descendants whose own parent ends.
pub(super) fn adopt_orphans() {
    #[cfg(target_os = "linux")]
    {
        // Without it they go to who adopts them above us.
        let _ = rustix::process::set_child_subreaper(Some(Pid::INIT));
    }
}

/// Ends all children and what they leave to us, which is then our child, but for those spared.
/// Only children are ever signalled: their numbers are theirs until we reap them.
pub(super) fn end_descendants(spared: &dyn Fn(Pid) -> bool) {
    for _ in 0..ROUNDS_MAX {
        let left: Vec<Pid> = children().into_iter().filter(|child| !spared(*child)).collect();
        if left.is_empty() {
            return;
        }
        for child in left {
            // Not permitted, or ended already: then it is only reaped, if it can be.
            let _ = rustix::process::kill_process(child, Signal::KILL);
            let _ = rustix::process::waitpid(Some(child), WaitOptions::NOHANG);
        }
        thread::sleep(NAP);
    }
}

/// Whether this process has any, ended or not.
pub(super) fn has_children() -> bool {
    !children().is_empty()
}

/// Looked for among all processes: not every kernel lists them.
fn children() -> Vec<Pid> {
    let own = std::process::id().to_string();
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let numbers = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let child = |number: i32| {
        let status = fs::read(format!("/proc/{number}/stat")).ok()?;
        let status = String::from_utf8_lossy(&status).into_owned();
        // The name, in brackets, may have brackets and blanks in it.
        let (_, rest) = status.rsplit_once(')')?;
        let parent = rest.split_ascii_whitespace().nth(1)?;
        Pid::from_raw(number).filter(|_| parent == own)
    };
    numbers.filter_map(child).collect()
}

/// Waits for a child without reaping it, so that its number stays its own.
pub(super) fn wait_without_reaping(pid: Pid) {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
    let wait = || rustix::process::waitid(WaitId::Pid(pid), options);
    while wait().is_err_and(|error| error == rustix::io::Errno::INTR) {}
}

/// Ends a process that leads a group, and the group.
pub(super) fn kill_group(pid: Pid) {
    if rustix::process::kill_process_group(pid, Signal::KILL).is_err() {
        let _ = rustix::process::kill_process(pid, Signal::KILL);
    }
}

/// An error of the system, with what was tried.
pub(super) fn with(what: impl Into<String>) -> impl FnOnce(io::Error) -> String {
    let what = what.into();
    move |error| format!("{what}: {error}")
}
