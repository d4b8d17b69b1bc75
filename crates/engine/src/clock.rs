//! The only way the engine learns the time.
//!
//! Times are spans since the engine was started. Whatever decides by time (which attempt ran out of
//! it, when a run is over) is a pure function of such spans and is tested with made-up ones; only
//! the outermost loop reads this clock.

use std::time::{Duration, Instant};

/// Counts from the moment it was made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock(Instant);

impl Clock {
    #[expect(clippy::disallowed_methods, reason = "the engine's one seam to the clock")]
    pub(crate) fn start() -> Self {
        Self(Instant::now())
    }

    pub(crate) fn now(self) -> Duration {
        self.0.elapsed()
    }
}
