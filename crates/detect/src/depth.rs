//! How far is a test looked into?

/// How much to find out about a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Depth {
    /// Its kind, and one group it depends on where that is what proves the kind.
    Kind,
    /// All groups it depends on and all cleaners, by a search that asks few questions. A polluter
    /// with cleaners of its own on both sides of it may be missed.
    Roles,
    /// The same by asking about every single test, in few processes where state can be put back
    /// between one test and the next.
    Exhaustive,
    /// The same with a process for each question (Lam et al.): `n - 1` pairs, and `n - 2` triples
    /// for each polluter. Misses no single polluter, cleaner or state-setter.
    OneByOne,
}
