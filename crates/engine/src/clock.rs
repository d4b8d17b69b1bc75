//! The only way the engine learns the time.
//!
//! Times are spans since the engine was started. Everything that decides by time (which attempt
//! exceeded its limit, when a run is over) is a pure function of such spans and is tested with
//! made-up ones; only the outermost loop reads this clock.
//!
//! Time in which the whole machine stood still (a virtual machine that was paused, a terminal that
//! stopped all our processes) is left out: no test has used it, so it must not exceed any limit. A
//! thread that does nothing else looks at the clock several times a second; if nobody has looked
//! for much longer than that, none of us was awake. Shorter pauses are not noticed, nor are pauses
//! of the tests alone, which limits are for.

use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// How often the thread looks at the clock while we are awake.
const BEAT: Duration = Duration::from_millis(250);
/// After this long without a look, we were not awake. More than a busy machine keeps a thread
/// waiting, less than any limit that matters.
const STILL_MIN: Duration = Duration::from_secs(1);

/// Counts the time since it was made, as long as we are awake.
#[derive(Clone, Debug)]
pub(crate) struct Clock {
    began: Instant,
    /// `None` if no thread could be started to look: then all time counts.
    waking: Option<Arc<Mutex<Waking>>>,
}

impl Clock {
    #[expect(clippy::disallowed_methods, reason = "the engine's one seam to the clock")]
    pub(crate) fn start() -> Self {
        let began = Instant::now();
        let waking = Arc::<Mutex<Waking>>::default();
        let watched = Arc::downgrade(&waking);
        let looker = thread::Builder::new().name("clock".to_owned()).spawn(move || {
            while let Some(waking) = watched.upgrade() {
                look(&waking, began.elapsed());
                drop(waking);
                thread::sleep(BEAT);
            }
        });
        Self { began, waking: looker.is_ok().then_some(waking) }
    }

    pub(crate) fn now(&self) -> Duration {
        let at = self.began.elapsed();
        self.waking.as_ref().map_or(at, |waking| look(waking, at))
    }
}

fn look(waking: &Mutex<Waking>, at: Duration) -> Duration {
    waking.lock().unwrap_or_else(PoisonError::into_inner).look(at)
}

/// How much of the elapsed time we were awake.
#[derive(Debug, Default)]
struct Waking {
    looked_at: Duration,
    stood_still: Duration,
}

impl Waking {
    /// Called when this much time has elapsed; returns the part of it that counts.
    fn look(&mut self, at: Duration) -> Duration {
        let unseen = at.saturating_sub(self.looked_at);
        if STILL_MIN <= unseen {
            self.stood_still += unseen.saturating_sub(BEAT);
        }
        // Two concurrent looks may arrive out of order.
        self.looked_at = self.looked_at.max(at);
        self.looked_at.saturating_sub(self.stood_still)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn time_counts_while_somebody_looks() {
        let mut waking = Waking::default();
        for beat in 1..100 {
            assert_eq!(waking.look(BEAT * beat), BEAT * beat);
        }
    }

    #[test]
    fn a_beat_that_comes_a_little_late_counts() {
        let mut waking = Waking::default();
        assert_eq!(waking.look(ms(999)), ms(999));
        assert_eq!(waking.look(ms(1_998)), ms(1_998));
    }

    #[test]
    fn time_in_which_nobody_looks_does_not_count_and_never_comes_back() {
        let mut waking = Waking { looked_at: ms(10_000), ..Waking::default() };
        assert_eq!(waking.look(ms(70_000)), ms(10_250));
        assert_eq!(waking.look(ms(70_100)), ms(10_350));
        assert_eq!(waking.look(ms(100_000)), ms(10_600));
    }

    #[test]
    fn the_time_never_goes_back() {
        let mut waking = Waking { looked_at: ms(500), ..Waking::default() };
        assert_eq!(waking.look(ms(400)), ms(500));
        assert_eq!(waking.look(ms(600)), ms(600));
    }
}
