//! What do the functions that a test calls say about it?
//!
//! A test fails at random because it calls something that can come out otherwise: a clock, a
//! generator, a socket. Such functions are *characteristic*. A set of them **exposes** a test that
//! calls at least one; tests that are not exposed need not be run again to see whether they flake.
//!
//! [`set`] is such a set, with a root cause for each function, and the one made by hand that is
//! taken unless a project has its own. [`learn`] finds one from tests whose flakiness is known;
//! [`folds`] tells how good it would be for tests it has not seen.
//!
//! Pure: who traces the tests, and where the sets are kept, is not known here.

pub mod folds;
pub mod function;
pub mod learn;
pub mod sample;
pub mod set;

pub use function::{Function, InvalidFunction};
pub use set::{Exposure, Pattern, Set};
