//! When must a piece of work stop? When the user stops everything, or when its own time is up.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use unflake_engine::Interrupt;

/// What ends a piece of work.
pub struct Deadline {
    /// Raised for this piece of work only: the next one has its own time.
    pub interrupt: Interrupt,
    is_late: Arc<AtomicBool>,
}

impl Deadline {
    /// Starts the clock now; `None` sets no limit. The waiting thread ends with the program.
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
