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
pub struct Interrupt(Arc<Shared>);

impl fmt::Debug for Interrupt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Interrupt({} raised)", self.n_raised())
    }
}

impl Interrupt {
    /// Makes every wait return, now or as soon as it begins to wait. Raising again counts again.
    pub fn raise(&self) {
        self.0.n_raised.fetch_add(1, Ordering::SeqCst);
        for waker in self.wakers().values() {
            waker();
        }
    }

    fn n_raised(&self) -> u64 {
        self.0.n_raised.load(Ordering::SeqCst)
    }

    fn wakers(&self) -> MutexGuard<'_, BTreeMap<u64, Waker>> {
        self.0.wakers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Watches from now on; `waker` must not block.
    pub(crate) fn watch(&self, waker: impl Fn() + Send + 'static) -> Watch {
        let number = self.0.n_watches.fetch_add(1, Ordering::SeqCst);
        self.wakers().insert(number, Box::new(waker));
        Watch { interrupt: self.clone(), number, n_seen: self.n_raised() }
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
}
