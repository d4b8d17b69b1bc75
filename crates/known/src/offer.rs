//! What our commands can do for the tests of a runner, so that advice fits it.
//!
//! Not kept with what was found: it is true of the program that shows it, not of the one that
//! found it.

/// What our commands can do for the tests of a runner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offer {
    /// Whether `fix` can change its test files.
    pub fix: Offered,
    /// Whether `shake` can change the circumstances of its tests.
    pub shake: Offered,
    /// The variable of the environment by which its language takes a hash seed.
    pub hash_seed_variable: Option<&'static str>,
}

/// Whether a command works with the tests of a runner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Offered {
    /// It does.
    Yes,
    /// It works with these only, as people call them.
    OnlyFor(Vec<&'static str>),
}
