//! What can still be hidden after the orders run so far?
//!
//! A victim with one polluter and no cleaner shows itself in the first order that runs the polluter
//! anywhere before it. So after some orders it is hidden exactly if the polluter never did, and if
//! nothing else is known, each ordered pair of tests is as likely as any other to be polluter and
//! victim. The probability that such a victim is still hidden is then a share of pairs, and can be
//! counted ([`victims`]). Brittles are the mirror image: hidden while the brittle never ran before
//! its only state-setter ([`brittles`]). A victim whose polluter is undone by everything needs the
//! polluter right before it ([`neighbours`]).
//!
//! The count is made for 64 tests at a time, in one pass over each order with the set of those
//! already seen in one machine word: n²/64 steps an order, n words of memory. For suites where
//! even that is too much, pairs are drawn at random, and the answer says so and has an interval.
//!
//! Where the flake rate of the test is known, what is hidden falls geometrically
//! ([`after_independent`], [`after_reversing`]).

use unflake_model::random::Random;
use unflake_model::{Confidence, Order, Tally};

use crate::flake_rate::{FlakeRate, Share};
use crate::rate::{self, Interval, Rate};

/// How many steps to take before pairs are sampled: a second at most.
const STEPS_MAX: u64 = 1 << 29;

/// How many pairs to draw if not all can be looked at.
const N_SAMPLES: u64 = 100_000;

/// Separates our draws from those made for other purposes.
const PURPOSE: u64 = 0x6869_6464;

/// How many ordered pairs of tests could still hide a dependency.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hidden {
    /// Pairs that no order has tested.
    pub n_hidden: u64,
    /// Pairs that were looked at.
    pub n_pairs: u64,
    /// Which pairs were looked at.
    pub looked_at: LookedAt,
}

/// Which of the pairs of tests were looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LookedAt {
    /// All of them.
    All,
    /// Some pairs, drawn at random.
    Sample,
}

impl Hidden {
    /// The share of pairs that are hidden; 0 if the suite has no pair of tests.
    pub fn share(self) -> f64 {
        self.n_hidden as f64 / self.n_pairs.max(1) as f64
    }

    /// The limits between which the true share lies; the share itself if all pairs were looked at.
    pub fn interval(self, confidence: Confidence) -> Interval {
        match self.looked_at {
            LookedAt::All => Interval { lower: self.share(), upper: self.share() },
            LookedAt::Sample => {
                let (failures, attempts) = (self.n_hidden, self.n_pairs);
                rate::interval(Tally { failures, attempts }, confidence)
            }
        }
    }
}

/// Pairs (polluter, victim) in which the polluter never ran before the victim.
pub fn victims(n_tests: usize, orders: &[Order], seed: u64) -> Hidden {
    hidden(n_tests, orders, seed, Role::Victim)
}

/// Pairs (state-setter, brittle) in which the brittle never ran without the setter before it.
pub fn brittles(n_tests: usize, orders: &[Order], seed: u64) -> Hidden {
    hidden(n_tests, orders, seed, Role::Brittle)
}

/// Pairs (polluter, victim) in which the victim never ran right after the polluter.
pub fn neighbours(n_tests: usize, orders: &[Order]) -> Hidden {
    let neighbours = orders.iter().flat_map(|order| order.tests().windows(2));
    let mut shown: Vec<_> = neighbours.map(|pair| (pair[0], pair[1])).collect();
    shown.sort_unstable();
    shown.dedup();
    let n_pairs = n_pairs(n_tests);
    Hidden { n_hidden: n_pairs - shown.len() as u64, n_pairs, looked_at: LookedAt::All }
}

/// The probability that a test of this flake rate passed in this many independently drawn orders.
pub fn after_independent(flake_rate: Rate, n_orders: u64) -> f64 {
    (1.0 - flake_rate.get()).powf(n_orders as f64)
}

/// The same for orders drawn and, after each pass, reversed: a turn of two orders is passed with
/// probability `(1-f)(1-q)`.
pub fn after_reversing(flake_rate: &FlakeRate, n_orders: u64) -> f64 {
    let passes = 1.0 - flake_rate.fails.to_f64();
    let reverse_fails = flake_rate.reverse_fails.as_ref().map_or(0.0, Share::to_f64);
    let turn = passes * (1.0 - reverse_fails);
    let half_turn = if n_orders % 2 == 1 { passes } else { 1.0 };
    turn.powf((n_orders / 2) as f64) * half_turn
}

#[derive(Clone, Copy)]
enum Role {
    Victim,
    Brittle,
}

fn n_pairs(n_tests: usize) -> u64 {
    let n = n_tests as u64;
    n * n.saturating_sub(1)
}

fn hidden(n_tests: usize, orders: &[Order], seed: u64, role: Role) -> Hidden {
    let n_steps =
        orders.iter().map(|order| order.len() as u64).sum::<u64>() * n_tests.div_ceil(64) as u64;
    if n_steps <= STEPS_MAX {
        counted(n_tests, orders, role)
    } else {
        sampled(n_tests, orders, seed, role)
    }
}

fn counted(n_tests: usize, orders: &[Order], role: Role) -> Hidden {
    let n_shown: u64 = (0..n_tests.div_ceil(64))
        .map(|block| shown_by_block(n_tests, orders, 64 * block, role))
        .sum();
    let n_pairs = n_pairs(n_tests);
    Hidden { n_hidden: n_pairs - n_shown, n_pairs, looked_at: LookedAt::All }
}

/// The pairs shown whose polluter or state-setter is one of the 64 tests from `start` on.
fn shown_by_block(n_tests: usize, orders: &[Order], start: usize, role: Role) -> u64 {
    let bit = |test: usize| match test.checked_sub(start) {
        Some(place) if place < 64 => 1_u64 << place,
        _ => 0,
    };
    let block = (start..n_tests.min(start + 64)).fold(0, |mask, test| mask | bit(test));
    let mut shown = vec![0_u64; n_tests];
    for order in orders {
        let mut before = 0;
        for test in order.tests() {
            let own = bit(test.get());
            shown[test.get()] |= match role {
                Role::Victim => before,
                Role::Brittle => block & !before & !own,
            };
            before |= own;
        }
    }
    shown.iter().map(|mask| u64::from(mask.count_ones())).sum()
}

fn sampled(n_tests: usize, orders: &[Order], seed: u64, role: Role) -> Hidden {
    let places: Vec<Vec<u32>> = orders.iter().map(|order| places(n_tests, order)).collect();
    let mut random = Random::labelled(seed, &[PURPOSE]);
    let mut n_hidden = 0;
    for _ in 0..N_SAMPLES {
        let dependent = random.below(n_tests);
        let other = random.below(n_tests - 1);
        let other = other + usize::from(dependent <= other);
        let is_shown = places.iter().any(|place| match role {
            Role::Victim => place[other] < place[dependent] && place[dependent] != ABSENT,
            Role::Brittle => place[dependent] < place[other],
        });
        n_hidden += u64::from(!is_shown);
    }
    Hidden { n_hidden, n_pairs: N_SAMPLES, looked_at: LookedAt::Sample }
}

/// A position behind all others.
const ABSENT: u32 = u32::MAX;

fn places(n_tests: usize, order: &Order) -> Vec<u32> {
    let mut places = vec![ABSENT; n_tests];
    for (place, test) in (0..).zip(order.tests()) {
        places[test.get()] = place;
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flake_rate::OrderSpace;
    use crate::flake_rate::shared::{ClassCounts, SharedCleaners};
    use proptest::prelude::*;
    use unflake_model::TestIndex;

    fn order(positions: &[usize]) -> Order {
        Order::from_distinct(positions.iter().copied().map(TestIndex::new).collect::<Vec<_>>())
    }

    fn shuffled(n_tests: usize, n_orders: u64) -> Vec<Order> {
        (0..n_orders)
            .map(|seed| {
                let mut positions: Vec<usize> = (0..n_tests).collect();
                Random::new(seed).shuffle(&mut positions);
                order(&positions)
            })
            .collect()
    }

    #[test]
    fn one_order_shows_half_of_the_pairs_and_its_reverse_the_rest() {
        let there: Vec<usize> = (0..100).collect();
        let back: Vec<usize> = (0..100).rev().collect();
        for hidden in [victims, brittles] {
            assert_eq!(hidden(100, &[], 0).n_hidden, 9900);
            assert_eq!(hidden(100, &[order(&there)], 0).n_hidden, 4950);
            assert_eq!(hidden(100, &[order(&there), order(&back)], 0).n_hidden, 0);
        }
        assert_eq!(neighbours(100, &[order(&there), order(&back)]).n_hidden, 9900 - 198);
    }

    #[test]
    fn a_tuscan_square_leaves_no_neighbours() {
        // Detection spec, example 8, n = 4.
        let rows = [[0, 3, 1, 2], [1, 0, 2, 3], [2, 1, 3, 0], [3, 2, 0, 1]];
        let orders = rows.map(|row| order(&row));
        assert_eq!(neighbours(4, &orders).n_hidden, 0);
        assert_eq!(neighbours(4, &orders[..1]).n_hidden, 9);
    }

    #[test]
    fn a_brittle_alone_is_shown_and_a_victim_alone_is_not() {
        let alone = [order(&[0])];
        assert_eq!(brittles(3, &alone, 0).n_hidden, 6 - 2);
        assert_eq!(victims(3, &alone, 0).n_hidden, 6);
    }

    #[test]
    fn independent_orders_hide_a_pair_with_probability_two_to_the_minus_r() {
        // One polluter, no cleaner: f = 1/2. 300 tests and 6 orders: expected share 1/64.
        let share = victims(300, &shuffled(300, 6), 0).share();
        assert!((share - 1.0 / 64.0).abs() < 2e-3, "{share}");
        let f = Rate::new(0.5).unwrap();
        assert!((after_independent(f, 6) - 1.0 / 64.0).abs() < 1e-15);
    }

    #[test]
    fn reversing_hides_less() {
        let counts = |polluters, cleaners| ClassCounts { polluters, cleaners };
        // f = 1/3, q = 1/2 (detection spec, example 6): passes two orders with 2/3 * 1/2.
        let rate = SharedCleaners::new(counts(1, 1), []).flake_rate(OrderSpace::All);
        for (n_orders, expected) in [(0, 1.0), (1, 2.0 / 3.0), (2, 1.0 / 3.0), (3, 2.0 / 9.0)] {
            assert!((after_reversing(&rate, n_orders) - expected).abs() < 1e-15);
        }
        // Without cleaner the reverse always shows it.
        let rate = SharedCleaners::new(counts(1, 0), []).flake_rate(OrderSpace::All);
        assert!(after_reversing(&rate, 2).abs() < f64::MIN_POSITIVE);
    }

    #[test]
    fn samples_agree_with_the_count_and_have_an_interval() {
        let mut orders = shuffled(200, 3);
        orders.push(order(&[5, 17, 3]));
        for role in [Role::Victim, Role::Brittle] {
            let (all, some) = (counted(200, &orders, role), sampled(200, &orders, 1, role));
            let sure = Confidence::new(0.9999).unwrap();
            assert!(some.interval(sure).contains(all.share()), "{all:?} {some:?}");
            assert!(all.interval(sure).contains(all.share()));
        }
    }

    #[test]
    fn a_suite_of_a_hundred_thousand_is_sampled() {
        let found = victims(100_000, &shuffled(100_000, 4), 9);
        assert_eq!(found.looked_at, LookedAt::Sample);
        assert!(found.interval(Confidence::new(0.9999).unwrap()).contains(1.0 / 16.0));
    }

    #[test]
    fn a_suite_without_pairs_hides_nothing() {
        assert!(victims(1, &[order(&[0])], 0).share().abs() < f64::MIN_POSITIVE);
        assert!(neighbours(0, &[]).share().abs() < f64::MIN_POSITIVE);
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None,
            ..ProptestConfig::default() })]

        #[test]
        fn blocks_agree_with_looking_at_each_pair(
            n_tests in 2_usize..150,
            n_orders in 0_u64..4,
            n_kept in 1_usize..150,
            seed in 0_u64..99,
        ) {
            let orders: Vec<Order> = (0..n_orders)
                .map(|index| {
                    let mut positions: Vec<usize> = (0..n_tests).collect();
                    Random::labelled(seed, &[index]).shuffle(&mut positions);
                    order(&positions[..n_kept.min(n_tests)])
                })
                .collect();
            let place = |order: &Order, test: usize| order.position(TestIndex::new(test));
            let (mut n_victims, mut n_brittles) = (0, 0);
            for a in 0..n_tests {
                for b in (0..n_tests).filter(|b| *b != a) {
                    n_victims += u64::from(!orders.iter().any(|order| {
                        matches!((place(order, a), place(order, b)), (Some(a), Some(b)) if a < b)
                    }));
                    n_brittles += u64::from(!orders.iter().any(|order| {
                        place(order, b).is_some_and(|b| place(order, a).is_none_or(|a| b < a))
                    }));
                }
            }
            prop_assert_eq!(victims(n_tests, &orders, 0).n_hidden, n_victims);
            prop_assert_eq!(brittles(n_tests, &orders, 0).n_hidden, n_brittles);
        }
    }
}
