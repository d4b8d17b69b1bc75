//! Does the order change how often a test fails?
//!
//! Table 1.1 of the taxonomy (detection spec 1.1) hinges on one question, called DIF there: do the
//! failure rates of a test differ between orders by more than chance? Five answers live here.
//!
//! - [`chi_square`]: the test of equal proportions as published studies ran it (R's `prop.test`).
//!   Kept to reproduce their numbers. Its p-value is a limit for many failures, and wrong for few:
//!   one failure in 4000 runs, in an order that was run 100 times, gives p = 0.0066 (example E16).
//! - [`exact`]: the same measure of unevenness, with its true distribution. The one failure above
//!   gives p = 0.5: it had to be in some order, and half of the runs were made in the small ones.
//!   This is the test that decides.
//! - [`mod@fisher`]: two conditions only, for instance alone against in the suite.
//! - [`sign`]: two conditions tried alternately, where consecutive runs may be alike.
//! - [`mod@difference`]: how much the order can matter at most. A test that finds no difference
//!   proves nothing; only an upper limit on the difference supports "order-independent".
//!
//! [`classify()`] puts them together into a verdict.

pub mod chi_square;
pub mod classify;
pub mod difference;
pub mod exact;
pub mod fisher;
pub mod sign;

pub use chi_square::{ChiSquare, same_rate};
pub use classify::{Classified, Question, classify};
pub use difference::{difference, influence};
pub use exact::{ExactTest, Method, same_rate_exact};
pub use fisher::{fisher, fisher_more_failures};
pub use sign::sign_test;
