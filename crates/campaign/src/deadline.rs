//! Deadline when something goes on: until somebody stops everything, or its own time is up.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use unflake_engine::Interrupt;

/// What ends a piece of work.
pub struct Deadline {
    /// To be heeded by all of the work, and by nothing else: the next piece has its own time.
    pub interrupt: Interrupt,
    is_late: Arc<AtomicBool>,
}

impl Deadline {
    /// From now on. The thread that waits ends with the program.
    pub fn new(wall_max: Option<Duration>, interrupt: &Interrupt) -> Self {
        let until = Self { interrupt: interrupt.part(), is_late: Arc::default() };
        if let Some(wall_max) = wall_max {
            let (interrupt, is_late) = (until.interrupt.clone(), Arc::clone(&until.is_late));
            thread::spawn(move || {
                thread::sleep(wall_max);
                is_late.store(true, Ordering::SeqCst);
                interrupt.raise();
            });
        }
        until
    }

    /// Whether the time is up.
    pub fn is_late(&self) -> bool {
        self.is_late.load(Ordering::SeqCst)
    }
}
