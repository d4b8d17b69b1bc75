//! What can be done with the tests of a runner, as data.
//!
//! Analyses and messages read this instead of asking which runner it is.

use unflake_engine::Level;
use unflake_model::{Calls, Control, Factors, HashSeeds, StateKind};

/// What can be done with the tests of a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Abilities {
    /// What the runner lets us decide about a run.
    pub control: Control,
    /// What can be seen of the functions that tests call.
    pub calls: Calls,
    /// The kinds of state that can be watched between tests.
    pub watches: &'static [StateKind],
    /// Whether a whole suite can be watched, to list what its tests leave behind.
    pub lints: bool,
    /// Whether test files can be changed so that a test no longer depends on others.
    pub mends: bool,
    /// Whether each run can have its own hash seed.
    pub hash_seeds: HashSeeds,
    /// The environment variable that sets the hash seed of the language, if there is one.
    pub hash_seed_variable: Option<&'static str>,
    /// Choices that the language leaves open and that can be perturbed in any campaign.
    pub choices: Factors,
    /// How many runs of all tests are made with those perturbed; `None` makes as many as orders.
    pub n_choices: Option<u64>,
    /// Circumstances that cost no time to perturb, tried before a test is cleared.
    pub circumstances: Factors,
    /// All factors that `shake` can perturb.
    pub factors: Factors,
    /// The levels of isolation that its runs can have.
    pub isolation: &'static [Level],
    /// The option, as it is typed, that names another program to run the tests with, if there is
    /// one.
    pub program_option: Option<&'static str>,
}

impl Abilities {
    /// Can only run whole orders, each in a fresh process.
    pub const LEAST: Self = Self {
        control: Control::ORDERS,
        calls: Calls::Unseen,
        watches: &[],
        lints: false,
        mends: false,
        hash_seeds: HashSeeds::Fixed,
        hash_seed_variable: None,
        choices: Factors::NONE,
        n_choices: None,
        circumstances: Factors::NONE,
        factors: Factors::NONE,
        isolation: &[],
        program_option: None,
    };
}
