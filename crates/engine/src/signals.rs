//! How is a process told to leave?

use rustix::process::{Pid, Signal};

/// Sends a signal to a process group, or to the process alone if it leads none (yet).
pub(crate) fn signal_group(pid: Pid, signal: Signal) {
    if rustix::process::kill_process_group(pid, signal).is_err() {
        // The process no longer exists, which is what was wanted.
        let _ = rustix::process::kill_process(pid, signal);
    }
}
