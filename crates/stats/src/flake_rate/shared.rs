//! The closed forms: polluters that all have the same cleaners, and state-setters.
//!
//! Notation of detection spec 2.4 and 2.5: class 1 is the victim's and has `pi_1` polluters and
//! `gamma_1` cleaners; class `i` of the `k - 1` others has `pi_i` and `gamma_i`, not both zero.
//! With `m = pi_1 + gamma_1`, `S_pi = sum pi_i / (pi_i + gamma_i)` and `S_gamma` likewise, over the
//! other classes:
//!
//! ```text
//! f_A = sum pi / (sum pi + sum gamma + 1)
//! f_C = (pi_1 + S_pi / k) / (m + 1)
//! P(w passes and its reverse fails), class-compatible, m > 0:
//!       (pi_1 + k pi_1 gamma_1 + pi_1 S_gamma + gamma_1 S_pi) / (k m (m + 1))
//! the same for m = 0:
//!       (S_pi + S_pi S_gamma - sum r_i (1 - r_i)) / (k (k - 1)),   r_i = pi_i / (pi_i + gamma_i)
//! ```
//!
//! The third line is not what the dissertation prints: there `S_pi` carries a factor `m + 1` too
//! many. Enumeration decides for the form above (spec 7, A1), and the tests of this module with it.
//! Over all orders everything is one class, so `f_A` and its reverse are the case `k = 1`.

use num_rational::BigRational;
use num_traits::{One, Zero};

use super::{FlakeRate, OrderSpace, fraction};

/// How many polluters and cleaners a class has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClassCounts {
    /// The number of tests that make the victim fail.
    pub polluters: u64,
    /// The number of tests that undo every one of the polluters.
    pub cleaners: u64,
}

/// A victim all of whose polluters have the same cleaners (assumption A1), class by class.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedCleaners {
    own: ClassCounts,
    others: Vec<ClassCounts>,
}

impl SharedCleaners {
    /// The victim's own class, and the others. Classes without relevant tests change nothing.
    pub fn new(own: ClassCounts, others: impl IntoIterator<Item = ClassCounts>) -> Self {
        let is_relevant = |class: &ClassCounts| 0 < class.polluters + class.cleaners;
        Self { own, others: others.into_iter().filter(is_relevant).collect() }
    }

    /// The share of orders in which the victim fails.
    pub fn flake_rate(&self, space: OrderSpace) -> FlakeRate {
        match space {
            OrderSpace::All => self.as_one_class().class_compatible(),
            OrderSpace::ClassCompatible => self.class_compatible(),
        }
    }

    fn as_one_class(&self) -> Self {
        let own = self.others.iter().fold(self.own, |sum, class| ClassCounts {
            polluters: sum.polluters + class.polluters,
            cleaners: sum.cleaners + class.cleaners,
        });
        Self::new(own, [])
    }

    fn class_compatible(&self) -> FlakeRate {
        let n_classes = whole(self.others.len() as u64 + 1);
        let own = whole(self.own.polluters + self.own.cleaners + 1);
        let fails = (whole(self.own.polluters) + self.ends_in_polluter() / n_classes) / own;
        FlakeRate::exact(fails, self.only_reverse_fails())
    }

    /// `S_pi`: the chance that a class's last relevant test is a polluter, summed over the others.
    fn ends_in_polluter(&self) -> BigRational {
        self.others.iter().map(polluter_share).sum()
    }

    /// The probability that an order passes and its reverse fails.
    fn only_reverse_fails(&self) -> BigRational {
        let (pi, gamma) = (whole(self.own.polluters), whole(self.own.cleaners));
        let m = &pi + &gamma;
        let k = whole(self.others.len() as u64 + 1);
        let one = BigRational::one();
        let s_pi = self.ends_in_polluter();
        let s_gamma = whole(self.others.len() as u64) - &s_pi;
        if !m.is_zero() {
            let first = &pi * (&one + s_gamma);
            let middle = &k * &pi * &gamma;
            let last = gamma * s_pi;
            return (first + middle + last) / (k * &m * (&m + one));
        }
        if self.others.is_empty() {
            return BigRational::zero();
        }
        let same_class: BigRational = self
            .others
            .iter()
            .map(|class| polluter_share(class) * (&one - polluter_share(class)))
            .sum();
        (&s_pi + &s_pi * s_gamma - same_class) / (&k * (&k - one))
    }
}

/// `r_i = pi_i / (pi_i + gamma_i)`.
fn polluter_share(class: &ClassCounts) -> BigRational {
    fraction(class.polluters, class.polluters + class.cleaners)
}

fn whole(number: u64) -> BigRational {
    BigRational::from_integer(number.into())
}

/// The flake rate of a brittle with this many state-setters in its own class and in each of the
/// others: `f_A = 1/(s+1)`, `f_C = 1/(k (s_1+1))` with `k` the number of classes that matter.
///
/// It cannot fail in an order and in its reverse, so the reverse of a passing order fails with
/// probability `f / (1-f)`. Without state-setters it always fails.
pub fn brittle(own: u64, others: &[u64], space: OrderSpace) -> FlakeRate {
    let fails = match space {
        OrderSpace::All => fraction(1, own + others.iter().sum::<u64>() + 1),
        OrderSpace::ClassCompatible => {
            let n_classes = 1 + others.iter().filter(|setters| 0 < **setters).count() as u64;
            fraction(1, n_classes * (own + 1))
        }
    };
    FlakeRate::exact(fails.clone(), fails)
}
