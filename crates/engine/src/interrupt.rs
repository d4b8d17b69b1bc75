//! Ctrl-C, as a value: raised by whoever hears the signal, seen by whoever waits.
//!
//! A signal handler cannot call into an engine that another thread is blocked in, so both hold an
//! [`Interrupt`]. Each wait looks whether it was raised since it last looked; a wait that sleeps
//! registers how to wake it.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

type Waker = Box<dyn Fn() + Send>;

#[derive(Default)]
struct Shared {
    n_raised: AtomicU64,
    n_watches: AtomicU64,
    wakers: Mutex<BTreeMap<u64, Waker>>,
}

/// A handle to ask everything that runs to stop. Clones are the same handle.
#[derive(Clone, Default)]
pub struct Interrupt {
    shared: Arc<Shared>,
    /// How often it had been raised when the work began that does not go on after it.
    n_before: Option<u64>,
}

impl fmt::Debug for Interrupt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Interrupt({} raised)", self.n_raised())
    }
}

impl Interrupt {
    /// Makes every wait return, now or as soon as it begins to wait. Raising again counts again.
    pub fn raise(&self) {
        self.shared.n_raised.fetch_add(1, Ordering::SeqCst);
        for waker in self.wakers().values() {
            waker();
        }
    }

    /// The same handle, for work that is made up of several waits and ends with the first raise
    /// from now on: a wait that begins after that ends at once. By another handle it would not hear
    /// of it, because a report can take runs even after the search for it was stopped.
    #[must_use]
    pub fn lasting(&self) -> Self {
        Self { shared: Arc::clone(&self.shared), n_before: Some(self.n_raised()) }
    }

    /// Whether it was raised, since it was made [`Interrupt::lasting`] if it was.
    pub fn is_raised(&self) -> bool {
        self.n_before.unwrap_or(0) != self.n_raised()
    }

    fn n_raised(&self) -> u64 {
        self.shared.n_raised.load(Ordering::SeqCst)
    }

    fn wakers(&self) -> MutexGuard<'_, BTreeMap<u64, Waker>> {
        self.shared.wakers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Watches from now on, or from when it was made to last; `waker` must not block.
    pub(crate) fn watch(&self, waker: impl Fn() + Send + 'static) -> Watch {
        let number = self.shared.n_watches.fetch_add(1, Ordering::SeqCst);
        self.wakers().insert(number, Box::new(waker));
        let n_seen = self.n_before.unwrap_or_else(|| self.n_raised());
        Watch { interrupt: self.clone(), number, n_seen }
    }
}

/// One who watches an interrupt, until dropped.
#[derive(Debug)]
pub(crate) struct Watch {
    interrupt: Interrupt,
    number: u64,
    n_seen: u64,
}

impl Watch {
    /// Whether it was raised since this was last asked.
    pub(crate) fn take(&mut self) -> bool {
        let n_raised = self.interrupt.n_raised();
        std::mem::replace(&mut self.n_seen, n_raised) != n_raised
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.interrupt.wakers().remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    #[test]
    fn each_watch_sees_each_raise_once_and_is_woken_until_dropped() {
        let interrupt = Interrupt::default();
        let (sender, woken) = mpsc::channel();
        let mut one = interrupt.watch(move || sender.send(()).unwrap());
        let mut other = interrupt.watch(|| ());
        assert!(!one.take());
        interrupt.raise();
        assert!(one.take() && other.take());
        assert!(!one.take() && !other.take());
        woken.try_recv().unwrap();
        drop(one);
        interrupt.raise();
        assert!(woken.try_recv().is_err());
    }

    #[test]
    fn what_lasts_is_seen_by_watches_that_begin_later_and_only_since_it_lasts() {
        let interrupt = Interrupt::default();
        interrupt.raise();
        let lasting = interrupt.lasting();
        assert!(interrupt.is_raised() && !lasting.is_raised());
        assert!(!lasting.watch(|| ()).take());
        interrupt.raise();
        assert!(lasting.is_raised());
        for _ in 0..2 {
            let mut later = lasting.watch(|| ());
            assert!(later.take() && !later.take());
        }
        assert!(!interrupt.watch(|| ()).take(), "who does not ask for it hears what comes");
    }
}
