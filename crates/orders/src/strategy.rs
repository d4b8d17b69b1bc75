//! The ways to choose orders, by name.

use std::fmt;
use std::str::FromStr;

/// A way to choose which orders of a suite to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Strategy {
    /// The original order.
    Original,
    /// Classes shuffled, tests within a class as in the original order.
    RandomClass,
    /// Classes shuffled, and the tests within each.
    RandomClassMethod,
    /// Classes last to first, tests within a class as in the original order.
    ReverseClass,
    /// The original order, last to first.
    ReverseClassMethod,
    /// All tests shuffled, whatever their class.
    Interleaved,
    /// The rows of a Tuscan square.
    Tuscan,
    /// Every pair of tests side by side, in few and cheap class-compatible orders.
    Pairs,
    /// The same by Algorithm 3.1 of the literature.
    PairsPaper,
    /// Shuffled like random-class-method, but spread evenly over the possibilities.
    Planned,
}

/// The name is not that of a strategy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown strategy `{name}`; known are {}", known_names())]
pub struct UnknownStrategy {
    /// The name that was given.
    pub name: Box<str>,
}

fn known_names() -> String {
    Strategy::ALL.map(Strategy::name).join(", ")
}

impl Strategy {
    /// All strategies, simple ones first.
    pub const ALL: [Self; 10] = [
        Self::Original,
        Self::RandomClass,
        Self::RandomClassMethod,
        Self::ReverseClass,
        Self::ReverseClassMethod,
        Self::Interleaved,
        Self::Planned,
        Self::Tuscan,
        Self::Pairs,
        Self::PairsPaper,
    ];

    /// The name used on the command line and in files; never changes.
    pub fn name(self) -> &'static str {
        match self {
            Self::Original => "original",
            Self::RandomClass => "random-class",
            Self::RandomClassMethod => "random-class-method",
            Self::ReverseClass => "reverse-class",
            Self::ReverseClassMethod => "reverse-class-method",
            Self::Interleaved => "interleaved",
            Self::Tuscan => "tuscan",
            Self::Pairs => "pairs",
            Self::PairsPaper => "pairs-paper",
            Self::Planned => "planned",
        }
    }

    /// What the strategy does, in one line.
    pub fn description(self) -> &'static str {
        match self {
            Self::Original => "the original order; repeated runs show non-determinism only",
            Self::RandomClass => "classes shuffled, tests within a class kept",
            Self::RandomClassMethod => "classes shuffled, and the tests within each",
            Self::ReverseClass => "classes last to first, tests within a class kept",
            Self::ReverseClassMethod => "the original order, last to first",
            Self::Interleaved => "all tests shuffled, classes torn apart (may accuse falsely)",
            Self::Tuscan => "every pair of tests side by side exactly once, without classes",
            Self::Pairs => "every pair of tests side by side, few and cheap orders",
            Self::PairsPaper => "every pair of tests side by side, by Algorithm 3.1",
            Self::Planned => "like random-class-method, but spread evenly instead of by chance",
        }
    }

    /// What to know before trusting the results of such orders.
    pub fn warning(self) -> Option<&'static str> {
        match self {
            Self::Interleaved => Some(
                "interleaved orders tear classes apart, which no runner does by itself: a failure \
                 may come from repeated class set-up instead of a dependency between tests; \
                 confirm it with a class-compatible strategy",
            ),
            _ => None,
        }
    }

    /// Whether there is always another order to try. The other strategies end by themselves.
    pub fn is_endless(self) -> bool {
        matches!(
            self,
            Self::RandomClass | Self::RandomClassMethod | Self::Interleaved | Self::Planned
        )
    }
}

impl fmt::Display for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Strategy {
    type Err = UnknownStrategy;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL.into_iter().find(|s| s.name() == name);
        found.ok_or_else(|| UnknownStrategy { name: name.into() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_read_back() {
        for strategy in Strategy::ALL {
            assert_eq!(strategy.name().parse(), Ok(strategy));
        }
    }

    #[test]
    fn an_unknown_name_is_answered_with_the_known_ones() {
        assert_eq!(
            "Random".parse::<Strategy>().unwrap_err().to_string(),
            "unknown strategy `Random`; known are original, random-class, random-class-method, \
             reverse-class, reverse-class-method, interleaved, planned, tuscan, pairs, pairs-paper"
        );
    }

    #[test]
    fn only_interleaved_orders_carry_a_warning() {
        for strategy in Strategy::ALL {
            let warned = strategy.warning().is_some();
            assert_eq!(warned, strategy == Strategy::Interleaved);
        }
    }
}
