//! What our commands can do for the tests of a runner, so that advice fits it.
//!
//! Not kept with findings: it depends on the program that shows them, not on the one that found
//! them.

/// What our commands can do for the tests of a runner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offer {
    /// Whether `fix` can change its test files.
    pub fix: Offered,
    /// Whether `shake` can perturb the circumstances of its tests.
    pub shake: Offered,
    /// The environment variable that sets the hash seed of its language, if there is one.
    pub hash_seed_variable: Option<&'static str>,
}

/// Whether a command works with the tests of a runner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Offered {
    /// It works for all of them.
    Yes,
    /// It works only for these kinds, named as people call them.
    OnlyFor(Vec<&'static str>),
}
