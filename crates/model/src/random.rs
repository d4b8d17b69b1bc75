//! Random numbers that are the same on every machine.
//!
//! A seed printed in a report must give the same order on a colleague's laptop next year. So the
//! generator is fixed (PCG64, from `rand_pcg`) and what is drawn from it is defined here, in 64-bit
//! arithmetic, instead of by a sampling library that may change between releases or word sizes.

use rand_pcg::Pcg64;
use rand_pcg::rand_core::Rng as _;

/// A generator of random numbers, fully determined by its seed.
#[derive(Clone, Debug)]
pub struct Random(Pcg64);

impl Random {
    /// The generator with this seed.
    pub fn new(seed: u64) -> Self {
        let (high, low) = (mix(seed), mix(seed ^ u64::MAX));
        Self(Pcg64::new(u128::from(high) << 64 | u128::from(low), u128::from(mix(high))))
    }

    /// A generator for one purpose: independent of those with other labels of this seed, and of how
    /// much was drawn from them.
    pub fn labelled(seed: u64, labels: &[u64]) -> Self {
        Self::new(labels.iter().fold(mix(seed), |state, label| mix(state ^ mix(*label))))
    }

    /// The next 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A uniformly drawn number below `bound`.
    ///
    /// # Panics
    /// If `bound` is zero.
    pub fn below(&mut self, bound: usize) -> usize {
        assert!(0 < bound, "there is no number below zero");
        let bound = bound as u64;
        // Reject the incomplete last stretch of the range, so that no number is favoured.
        let limit = u64::MAX - u64::MAX % bound;
        loop {
            let bits = self.bits();
            if bits < limit {
                return usize::try_from(bits % bound).expect("a number below a usize is one");
            }
        }
    }

    /// A uniformly drawn number in `[0, 1)`.
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * (1.0 / (1_u64 << 53) as f64)
    }

    /// Draws whether an event of this probability happens.
    pub fn chance(&mut self, probability: f64) -> bool {
        self.unit() < probability
    }

    /// A uniformly drawn item; `None` if there are none.
    pub fn pick<'a, T>(&mut self, items: &'a [T]) -> Option<&'a T> {
        if items.is_empty() { None } else { Some(&items[self.below(items.len())]) }
    }

    /// Shuffles the items, every order being equally likely (Fisher and Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last + 1));
        }
    }
}

/// Scatters the bits of a number (the finaliser of SplitMix64, Steele, Lea and Flood 2014).
pub fn mix(value: u64) -> u64 {
    let value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_these_numbers_for_ever() {
        // Printed seeds live in reports: a change of these numbers breaks every one of them.
        let mut random = Random::new(42);
        let mut items: Vec<u32> = (0..10).collect();
        random.shuffle(&mut items);
        assert_eq!(items, [7, 1, 8, 6, 0, 9, 5, 3, 2, 4]);
        assert_eq!(random.bits(), 13_694_340_256_501_736_387);
    }

    #[test]
    fn labels_give_unrelated_sources() {
        let first = |labels: &[u64]| Random::labelled(7, labels).bits();
        assert_ne!(first(&[1, 2]), first(&[2, 1]));
        assert_ne!(first(&[1]), first(&[1, 0]));
        assert_eq!(first(&[1, 2]), first(&[1, 2]));
    }

    #[test]
    fn every_order_of_three_is_equally_likely() {
        let mut random = Random::new(1);
        let mut counts = std::collections::BTreeMap::new();
        for _ in 0..60_000 {
            let mut items = [0, 1, 2];
            random.shuffle(&mut items);
            *counts.entry(items).or_insert(0_u32) += 1;
        }
        assert_eq!(counts.len(), 6);
        // Ten standard deviations of a binomial with n = 60000, p = 1/6 are 913.
        assert!(counts.values().all(|n| n.abs_diff(10_000) < 913), "{counts:?}");
    }
}
