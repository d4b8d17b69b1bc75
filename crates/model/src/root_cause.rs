//! Why does a test flake? The categories of the literature (Luo et al. 2014), and one more.

use std::fmt;
use std::str::FromStr;

/// What lies behind a flaky test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RootCause {
    /// It does not wait for what it started, or not long enough.
    AsyncWait,
    /// Threads or processes get into each other's way.
    Concurrency,
    /// It depends on which tests ran before.
    OrderDependency,
    /// It depends on the network: on its speed, or on an address being free.
    Network,
    /// It uses more of a resource than there is, or does not give it back.
    ResourceLeak,
    /// It depends on random numbers.
    Randomness,
    /// It depends on files: on the speed of the disk, or on nobody else touching them.
    Io,
    /// It depends on what time it is.
    Time,
    /// It compares numbers whose rounding depends on how they are computed.
    FloatingPoint,
    /// It depends on an order that nothing promises.
    UnorderedCollection,
    /// It depends on how the machine is set up.
    Platform,
}

impl RootCause {
    /// All root causes.
    pub const ALL: [Self; 11] = [
        Self::AsyncWait,
        Self::Concurrency,
        Self::OrderDependency,
        Self::Network,
        Self::ResourceLeak,
        Self::Randomness,
        Self::Io,
        Self::Time,
        Self::FloatingPoint,
        Self::UnorderedCollection,
        Self::Platform,
    ];

    /// The name used in files. Never changes.
    pub fn slug(self) -> &'static str {
        match self {
            Self::AsyncWait => "async-wait",
            Self::Concurrency => "concurrency",
            Self::OrderDependency => "order-dependency",
            Self::Network => "network",
            Self::ResourceLeak => "resource-leak",
            Self::Randomness => "randomness",
            Self::Io => "io",
            Self::Time => "time",
            Self::FloatingPoint => "floating-point",
            Self::UnorderedCollection => "unordered-collection",
            Self::Platform => "platform",
        }
    }

    /// The name used in the literature.
    pub fn title(self) -> &'static str {
        match self {
            Self::AsyncWait => "Async Wait",
            Self::Concurrency => "Concurrency",
            Self::OrderDependency => "Test Order Dependency",
            Self::Network => "Network",
            Self::ResourceLeak => "Resource Leak",
            Self::Randomness => "Randomness",
            Self::Io => "IO",
            Self::Time => "Time",
            Self::FloatingPoint => "Floating Point",
            Self::UnorderedCollection => "Unordered Collection",
            Self::Platform => "Platform",
        }
    }
}

impl fmt::Display for RootCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.slug())
    }
}

/// The text does not name a root cause.
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

/// What the message of a failing test is about, as far as it tells causes apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Symptom {
    /// Nothing in particular.
    #[default]
    Other,
    /// Two numbers are not equal, but nearly.
    NearlyEqual,
    /// An address or a port is in use, or a connection is refused.
    Address,
    /// A file is there, is missing, or belongs to somebody else.
    File,
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
