//! One interface to all endless strategies: order i of a seed.

use unflake_model::{Order, Suite};

use crate::planned::Planned;
use crate::shuffle::Shuffle;
use crate::strategy::Strategy;

/// Makes any order of an endless strategy by its number.
#[derive(Clone, Copy, Debug)]
pub struct Sampler<'s> {
    suite: &'s Suite,
    seed: u64,
    kind: Kind<'s>,
}

#[derive(Clone, Copy, Debug)]
enum Kind<'s> {
    Shuffle(Shuffle),
    Planned(Planned<'s>),
}

impl<'s> Sampler<'s> {
    /// `None` for strategies that come to a natural end.
    pub fn new(suite: &'s Suite, strategy: Strategy, seed: u64) -> Option<Self> {
        let kind = match strategy {
            Strategy::RandomClass => Kind::Shuffle(Shuffle::Classes),
            Strategy::RandomClassMethod => Kind::Shuffle(Shuffle::ClassesAndTests),
            Strategy::Interleaved => Kind::Shuffle(Shuffle::Interleaved),
            Strategy::Planned => Kind::Planned(Planned::new(suite, seed)),
            _ => return None,
        };
        Some(Self { suite, seed, kind })
    }

    /// Order `number` in the sequence of the strategy.
    pub fn order(&self, number: u64) -> Order {
        match self.kind {
            Kind::Shuffle(shuffle) => shuffle.order(self.suite, self.seed, number),
            Kind::Planned(planned) => planned.order(number),
        }
    }

    /// Order `number` among those that are not planned as a reverse:
    /// [`crate::reverse::ReverseAfterPass`] samples from these.
    pub fn forward(&self, number: u64) -> Order {
        match self.kind {
            Kind::Shuffle(_) => self.order(number),
            Kind::Planned(planned) => planned.forward(number),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exactly_the_endless_strategies_can_be_sampled() {
        let suite = Suite::of_sizes(&[2, 3]).unwrap();
        for strategy in Strategy::ALL {
            let sampler = Sampler::new(&suite, strategy, 1);
            assert_eq!(sampler.is_some(), strategy.is_endless(), "{strategy}");
        }
    }

    #[test]
    fn forward_orders_are_the_orders_without_their_planned_reverses() {
        let suite = Suite::of_sizes(&[2, 3, 4]).unwrap();
        let planned = Sampler::new(&suite, Strategy::Planned, 1).unwrap();
        assert_eq!(planned.forward(3), planned.order(6));
        let random = Sampler::new(&suite, Strategy::RandomClass, 1).unwrap();
        assert_eq!(random.forward(3), random.order(3));
    }
}
