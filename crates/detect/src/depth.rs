//! How much is to be found out about a test?

/// How much to find out about a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Depth {
    /// Its kind, and one group it depends on if that proves the kind.
    Kind,
    /// All groups it depends on and all cleaners, by a search that asks few questions. A polluter
    /// with cleaners of its own on both sides of it may be missed.
    Roles,
    /// The same, asking about every single test, in few processes if state can be put back between
    /// one test and the next.
    Exhaustive,
    /// The same, with a process for each question (Lam et al.): `n - 1` pairs, and `n - 2` triples
    /// for each polluter. Misses no single polluter, cleaner or state-setter.
    OneByOne,
}
