//! In what share of all orders does an order-dependent test fail?
//!
//! A victim fails exactly if some polluter runs before it with none of that polluter's cleaners in
//! between (definition 3.1, detection spec 2.4); a brittle fails exactly if no state-setter runs
//! before it. So the outcome in any order is known without running it ([`Victim::fails`]), and the
//! *flake rate* is a matter of counting orders: all of them, or only the class-compatible ones,
//! which keep the tests of a class together ([`OrderSpace`]).
//!
//! Where all polluters share their cleaners there are closed forms ([`shared`]). In general there
//! are not, and the literature samples. But counting is possible: walk from the victim back to the
//! start and remember only *which polluters have been undone*. Of the tests that still matter in
//! such a state each is equally likely to come next, so the state space is not the orders but the
//! sets of undone polluters, of which there are few.
//!
//! The second question is what a reversed order is worth: given that the test passed, how likely
//! does it fail in the reverse? Both halves of an order are then needed at once, and the state
//! space is larger: which tests of each kind stand before the victim. Where it grows beyond a
//! bound, that number alone is sampled, and says so ([`Share::Sampled`]).
//!
//! Limits: polluters that act only together are not modelled; tests are assumed to do in long
//! orders what they do in short ones.

mod counted;
mod role;
mod sample;
pub mod shared;

use num_rational::BigRational;
use num_traits::{One, ToPrimitive, Zero};

pub use role::{Brittle, InvalidRole, Polluter, Victim};

/// The set of orders over which a share is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OrderSpace {
    /// All orders of the suite (`Omega_A` in the literature).
    All,
    /// Orders that keep the tests of a class together (`Omega_C`).
    ClassCompatible,
}

/// A share of orders.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Share {
    /// Counted exactly, as a fraction.
    Exact(BigRational),
    /// Estimated from randomly drawn orders.
    Sampled {
        /// The drawn orders that count.
        hits: u64,
        /// How many orders were drawn.
        samples: u64,
    },
}

impl Share {
    /// The share as a number; for a sample, the estimate.
    pub fn to_f64(&self) -> f64 {
        match self {
            Self::Exact(fraction) => fraction.to_f64().unwrap_or(f64::NAN),
            Self::Sampled { hits, samples } => *hits as f64 / *samples as f64,
        }
    }
}

/// How often an order-dependent test fails over a space of orders.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlakeRate {
    /// The share of orders in which it fails.
    pub fails: Share,
    /// The share, among the orders in which it passes, whose reverse fails. `None` if it never
    /// passes.
    pub reverse_fails: Option<Share>,
}

impl FlakeRate {
    /// From the shares of orders that fail, and of orders that pass while their reverse fails.
    fn exact(fails: BigRational, only_reverse_fails: BigRational) -> Self {
        let passes = BigRational::one() - &fails;
        let reverse_fails = (!passes.is_zero()).then(|| Share::Exact(only_reverse_fails / passes));
        Self { fails: Share::Exact(fails), reverse_fails }
    }

    /// Failures found per order run, in the long run, by the loop that draws an order and, if it
    /// passes, runs its reverse: `(f + (1-f) q) / (2 - f)` (detection spec 2.5).
    ///
    /// One turn of the loop runs `1 + (1-f)` orders and finds `f + (1-f) q` failures on average.
    pub fn found_per_order_when_reversing(&self) -> f64 {
        let f = self.fails.to_f64();
        let q = self.reverse_fails.as_ref().map_or(0.0, Share::to_f64);
        (f + (1.0 - f) * q) / (2.0 - f)
    }
}

/// The fraction `numerator / denominator`.
fn fraction(numerator: u64, denominator: u64) -> BigRational {
    BigRational::new(numerator.into(), denominator.into())
}

#[cfg(test)]
mod tests;
