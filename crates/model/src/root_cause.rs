//! Why a test fails at random, or in some orders only: the causes the literature tells apart.

use std::fmt;
use std::str::FromStr;

/// What makes the outcome of a test a matter of chance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RootCause {
    /// Waits for something, not long enough.
    AsyncWait,
    /// Threads or processes come in another order.
    Concurrency,
    /// Arithmetic that is rounded otherwise.
    FloatingPoint,
    /// Files and streams.
    Io,
    /// Other machines, ports, names.
    Network,
    /// Random numbers.
    Randomness,
    /// Memory, descriptors, connections that are not given back.
    ResourceLeak,
    /// Clocks, dates, time zones.
    Time,
    /// The order of a collection that has none.
    UnorderedCollection,
    /// What other tests leave behind.
    OrderDependence,
}

impl RootCause {
    /// All causes.
    pub const ALL: [Self; 10] = [
        Self::AsyncWait,
        Self::Concurrency,
        Self::FloatingPoint,
        Self::Io,
        Self::Network,
        Self::Randomness,
        Self::ResourceLeak,
        Self::Time,
        Self::UnorderedCollection,
        Self::OrderDependence,
    ];

    /// The name used by every machine-readable format; never changes.
    pub fn slug(self) -> &'static str {
        match self {
            Self::AsyncWait => "async-wait",
            Self::Concurrency => "concurrency",
            Self::FloatingPoint => "floating-point",
            Self::Io => "io",
            Self::Network => "network",
            Self::Randomness => "randomness",
            Self::ResourceLeak => "resource-leak",
            Self::Time => "time",
            Self::UnorderedCollection => "unordered-collection",
            Self::OrderDependence => "order-dependence",
        }
    }
}

impl fmt::Display for RootCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.slug())
    }
}

/// A text that names no root cause.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no root cause")]
pub struct InvalidRootCause(String);

impl FromStr for RootCause {
    type Err = InvalidRootCause;

    fn from_str(text: &str) -> Result<Self, InvalidRootCause> {
        let found = Self::ALL.into_iter().find(|cause| cause.slug() == text);
        found.ok_or_else(|| InvalidRootCause(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_slug_is_read_back() {
        for cause in RootCause::ALL {
            assert_eq!(cause.slug().parse(), Ok(cause));
        }
        assert!("bad luck".parse::<RootCause>().is_err());
    }
}
