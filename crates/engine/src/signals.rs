//! How does a process hear that it is to leave?

use rustix::process::{Pid, Signal};

/// Sends a signal to a group, or, if it leads none (yet), to the process.
pub(crate) fn signal_group(pid: Pid, signal: Signal) {
    if rustix::process::kill_process_group(pid, signal).is_err() {
        // No such process any more: that is what was wanted.
        let _ = rustix::process::kill_process(pid, signal);
    }
}
