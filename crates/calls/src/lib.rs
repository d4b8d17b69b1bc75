//! What do the functions that a test calls say about it?
//!
//! A test fails at random because it calls something that can come out differently: a clock, a
//! generator, a socket. Such functions are *characteristic*. A set of them **exposes** a test that
//! calls at least one; tests that are not exposed need no reruns.
//!
//! [`set`] is such a set, with a root cause for each function, and holds the built-in one that is
//! used unless a project has its own. [`learn`] finds a set from tests whose flakiness is known;
//! [`folds`] estimates how good it is for tests it has not seen.
//!
//! Pure: how tests are traced and where the sets are kept is decided elsewhere.

pub mod folds;
pub mod function;
pub mod learn;
pub mod sample;
pub mod set;

pub use function::{Function, InvalidFunction};
pub use set::{Exposure, Pattern, Set};
