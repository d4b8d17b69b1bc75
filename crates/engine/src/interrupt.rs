//! Ctrl-C as a value: raised where the signal is handled, seen by everything that waits.
//!
//! A signal handler cannot call into an engine in which another thread is blocked, so both hold an
//! [`Interrupt`]. Each wait checks whether it was raised since the last check; a wait that sleeps
//! registers how to wake it.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

type Waker = Arc<dyn Fn() + Send + Sync>;

#[derive(Default)]
struct Shared {
    n_raised: AtomicU64,
    wakers: Mutex<Vec<Waker>>,
    /// The interrupt of which this is a part.
    whole: Option<Arc<Shared>>,
}

impl Shared {
    fn n_raised(&self) -> u64 {
        let of_whole = self.whole.as_ref().map_or(0, |whole| whole.n_raised());
        self.n_raised.load(Ordering::SeqCst) + of_whole
    }

    /// This one, and all interrupts of which it is a part.
    fn chain(&self) -> impl Iterator<Item = &Self> {
        std::iter::successors(Some(self), |it| it.whole.as_deref())
    }

    fn wakers(&self) -> MutexGuard<'_, Vec<Waker>> {
        self.wakers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A handle that asks everything that runs to stop. Clones are the same handle.
#[derive(Clone, Default)]
pub struct Interrupt {
    shared: Arc<Shared>,
    /// How often it had been raised when the work began that the next raise ends.
    n_before: Option<u64>,
}

impl fmt::Debug for Interrupt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Interrupt({} raised)", self.shared.n_raised())
    }
}

impl Interrupt {
    /// Makes every wait return, now or as soon as it begins. Raising again counts again.
    pub fn raise(&self) {
        self.shared.n_raised.fetch_add(1, Ordering::SeqCst);
        for waker in &*self.shared.wakers() {
            waker();
        }
    }

    /// A handle for part of the work: it notices every raise of this one, and its own raises stop
    /// nothing else.
    #[must_use]
    pub fn part(&self) -> Self {
        let whole = Some(Arc::clone(&self.shared));
        let shared = Arc::new(Shared { whole, ..Shared::default() });
        Self { shared, n_before: self.n_before }
    }

    /// The same handle, for work that consists of several waits and ends with the first raise from
    /// now on: a wait that begins after that ends at once. With another handle it would go on,
    /// because a report can take runs even after the search for it was stopped.
    #[must_use]
    pub fn lasting(&self) -> Self {
        Self { shared: Arc::clone(&self.shared), n_before: Some(self.shared.n_raised()) }
    }

    /// The same handle, for a wait that is about to begin and must notice every raise from now on;
    /// a lasting handle keeps its own start.
    pub(crate) fn since_now(&self) -> Self {
        if self.n_before.is_some() { self.clone() } else { self.lasting() }
    }

    /// Whether it was raised; for a [`Interrupt::lasting`] handle, since it was made so.
    pub fn is_raised(&self) -> bool {
        self.n_before.unwrap_or(0) != self.shared.n_raised()
    }

    /// Watches from now on, or from when it was made lasting; `waker` must not block.
    pub(crate) fn watch(&self, waker: impl Fn() + Send + Sync + 'static) -> Watch {
        let waker: Waker = Arc::new(waker);
        for shared in self.shared.chain() {
            shared.wakers().push(Arc::clone(&waker));
        }
        let n_seen = self.n_before.unwrap_or_else(|| self.shared.n_raised());
        Watch { shared: Arc::clone(&self.shared), waker, n_seen }
    }
}

/// Watches an interrupt until dropped.
pub(crate) struct Watch {
    shared: Arc<Shared>,
    waker: Waker,
    n_seen: u64,
}

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Watch({} seen)", self.n_seen)
    }
}

impl Watch {
    /// Whether it was raised since the last call.
    pub(crate) fn take(&mut self) -> bool {
        let n_raised = self.shared.n_raised();
        std::mem::replace(&mut self.n_seen, n_raised) != n_raised
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        for shared in self.shared.chain() {
            shared.wakers().retain(|waker| !Arc::ptr_eq(waker, &self.waker));
        }
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

    #[test]
    fn who_will_watch_hears_what_is_raised_meanwhile() {
        let interrupt = Interrupt::default();
        interrupt.raise();
        let since_now = interrupt.since_now();
        assert!(!since_now.watch(|| ()).take());
        interrupt.raise();
        assert!(since_now.watch(|| ()).take());
        assert!(since_now.since_now().is_raised(), "what lasts goes on to last");
    }

    #[test]
    fn what_stops_a_part_stops_nothing_else_and_what_stops_the_whole_stops_its_parts() {
        let whole = Interrupt::default();
        let (one, other) = (whole.part(), whole.part());
        let (sender, woken) = mpsc::channel();
        let mut of_one = one.watch(move || sender.send(()).unwrap());
        let (mut of_other, mut of_whole) = (other.watch(|| ()), whole.watch(|| ()));
        one.raise();
        assert!(of_one.take() && !of_other.take() && !of_whole.take());
        assert!(one.is_raised() && !other.is_raised() && !whole.is_raised());
        whole.raise();
        assert!(of_one.take() && of_other.take() && of_whole.take());
        assert_eq!(woken.try_iter().count(), 2, "by itself and by the whole");
        drop(of_one);
        whole.raise();
        assert!(woken.try_recv().is_err());
        let begun_later = whole.lasting().part();
        assert!(!begun_later.is_raised(), "it lasts from when the whole does");
        whole.raise();
        assert!(begun_later.is_raised() && begun_later.watch(|| ()).take());
    }
}
