//! Which orders to run.
//!
//! A flaky test that depends on the order shows only in some orders; this crate decides which to
//! try. It is pure: a suite and a seed go in, orders come out, the same on every machine. Nothing
//! here runs a test.
//!
//! | question | module |
//! |---|---|
//! | What are the strategies called? | [`strategy`] |
//! | Which orders does a strategy run? | [`stream`] (in sequence), [`sampler`] (by number) |
//! | Shuffled or reversed, by class or by test? | [`shuffle`] |
//! | Shuffled, but without the gaps that chance leaves? | [`planned`] |
//! | When is the reverse worth trying? | [`reverse`] |
//! | Every test directly after every other one, without classes? | [`tuscan`] |
//! | The same, keeping classes together? | [`pairs`] (ours), [`paper`] (Algorithm 3.1) |
//! | Which pairs did some orders cover? | [`coverage`] |
//! | What do they cost, and what must they cost? | [`cost`] |
//! | What do some orders add up to? | [`summary`] |
//!
//! All strategies but `interleaved` and `tuscan` give *class-compatible* orders: tests of one class
//! stay together, as every runner keeps them by itself. (The original order is what it is.)
//!
//! To add a strategy: a variant in [`strategy`], a module that makes its orders, an arm in
//! [`stream`] and, if it is endless and its orders have numbers, in [`sampler`].

pub mod cost;
pub mod coverage;
mod layout;
mod pair_set;
pub mod pairs;
pub mod paper;
pub mod planned;
pub mod reverse;
pub mod sampler;
pub mod shuffle;
pub mod strategy;
pub mod stream;
pub mod summary;
pub mod tuscan;

pub use sampler::Sampler;
pub use strategy::{Strategy, UnknownStrategy};
pub use stream::{NotApplicable, Orders};
