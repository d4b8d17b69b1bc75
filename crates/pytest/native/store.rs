//! Where is what is known kept, without a standard library? A row that grows, and a map from
//! addresses to places in one.

use core::ptr::copy_nonoverlapping;
use core::slice::from_raw_parts;

use super::{free, moved, zeroed};

const N_AT_FIRST: usize = 1 << 10;

/// Values one after another.
pub struct Row<T> {
    values: *mut T,
    n: usize,
    room: usize,
}

impl<T: Copy> Row<T> {
    pub fn new() -> Self {
        Self { values: zeroed(N_AT_FIRST), n: 0, room: N_AT_FIRST }
    }

    pub fn len(&self) -> usize {
        self.n
    }

    pub fn clear(&mut self) {
        self.n = 0;
    }

    /// Gives its memory back.
    pub fn free(self) {
        // SAFETY: it is nobody else's.
        unsafe { free(self.values.cast()) };
    }

    pub fn as_ptr(&self) -> *const T {
        self.values
    }

    pub fn all(&self) -> &[T] {
        if self.n == 0 {
            return &[];
        }
        // SAFETY: so many were pushed.
        unsafe { from_raw_parts(self.values, self.n) }
    }

    fn reserve(&mut self, n: usize) {
        let mut room = self.room;
        while room - self.n < n {
            room *= 2;
        }
        if room > self.room {
            // SAFETY: the old ones are nobody else's.
            (self.values, self.room) = (unsafe { moved(self.values, room) }, room);
        }
    }

    /// Pushes these, which are no part of it.
    pub fn extend(&mut self, more: &[T]) {
        self.reserve(more.len());
        // SAFETY: there is room, and no borrow of it.
        unsafe { copy_nonoverlapping(more.as_ptr(), self.values.add(self.n), more.len()) };
        self.n += more.len();
    }

    /// Pushes what is made of each of these.
    pub fn extend_by<U: Copy, const N: usize>(&mut self, some: &[U], made: impl Fn(U) -> [T; N]) {
        self.reserve(N * some.len());
        for &each in some {
            // SAFETY: there is room.
            unsafe { self.values.add(self.n).cast::<[T; N]>().write(made(each)) };
            self.n += N;
        }
    }

    /// Drops what was pushed after the first so many.
    pub fn shorten(&mut self, n: usize) {
        self.n = self.n.min(n);
    }

    pub fn push(&mut self, value: T) {
        self.reserve(1);
        // SAFETY: there is room.
        unsafe { *self.values.add(self.n) = value };
        self.n += 1;
    }

    /// Keeps those of which this is true, in their order.
    pub fn keep(&mut self, mut is_kept: impl FnMut(T) -> bool) {
        let mut n = 0;
        for at in 0..self.n {
            // SAFETY: so many were pushed, and what is kept is not behind what it was.
            unsafe {
                let value = *self.values.add(at);
                *self.values.add(n) = value;
                n += usize::from(is_kept(value));
            }
        }
        self.n = n;
    }

    pub fn pop(&mut self) -> Option<T> {
        self.n = self.n.checked_sub(1)?;
        // SAFETY: it was pushed.
        Some(unsafe { *self.values.add(self.n) })
    }

    /// # Safety
    ///
    /// There are more than `at`, and nothing else refers to this one.
    pub unsafe fn get(&self, at: usize) -> &mut T {
        // SAFETY: the caller's promise.
        unsafe { &mut *self.values.add(at) }
    }
}

#[derive(Clone, Copy)]
struct Place {
    /// 0 for an empty one.
    key: usize,
    value: usize,
}

/// What is known by its address.
pub struct Map {
    places: *mut Place,
    /// One less than the number of places, a power of two.
    mask: usize,
    n: usize,
}

impl Map {
    pub fn new() -> Self {
        Self { places: zeroed(N_AT_FIRST), mask: N_AT_FIRST - 1, n: 0 }
    }

    pub fn get(&self, key: usize) -> Option<usize> {
        // SAFETY: `find` gives a place.
        let place = unsafe { *self.find(key) };
        (place.key == key && key != 0).then_some(place.value)
    }

    /// Of a key that is not there.
    pub fn insert(&mut self, key: usize, value: usize) {
        if 2 * self.n > self.mask {
            self.grow();
        }
        // SAFETY: as above.
        unsafe { *self.find(key) = Place { key, value } };
        self.n += 1;
    }

    /// Of a key that is there.
    pub fn replace(&mut self, key: usize, value: usize) {
        // SAFETY: as above.
        unsafe { (*self.find(key)).value = value };
    }

    /// Its place, or the empty one where it belongs. There is always an empty one.
    fn find(&self, key: usize) -> *mut Place {
        let mut at = (key >> 4).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 20;
        loop {
            // SAFETY: the mask keeps it within the places.
            let (place, found) = unsafe {
                let place = self.places.add(at & self.mask);
                (place, (*place).key)
            };
            if found == key || found == 0 {
                return place;
            }
            at += 1;
        }
    }

    fn grow(&mut self) {
        let (old, n_old) = (self.places, self.mask + 1);
        (self.places, self.mask) = (zeroed(2 * n_old), 2 * n_old - 1);
        // SAFETY: the old ones are as many as there were, and nobody else's.
        unsafe {
            for at in 0..n_old {
                let place = *old.add(at);
                if place.key != 0 {
                    *self.find(place.key) = place;
                }
            }
            free(old.cast());
        }
    }
}
