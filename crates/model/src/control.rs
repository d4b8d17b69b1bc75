//! What a runner lets us decide about a run.

/// What a runner lets us decide about a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Control {
    /// How far the order of tests can be chosen.
    pub orders: OrderControl,
    /// Whether a test can be run more than once in one process.
    pub repeats: bool,
    /// Whether state that tests changed can be put back between them.
    pub restores: bool,
}

/// How far the order of tests can be chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OrderControl {
    /// Any order of any tests.
    Exact,
    /// Tests of a class run together; classes, and tests within each, in any order.
    Classes,
    /// Any tests, but always in the order in which they are listed.
    Fixed,
}

impl Control {
    /// Any order, with repetition and with state put back.
    pub const FULL: Self = Self { orders: OrderControl::Exact, repeats: true, restores: true };

    /// Exactly the given order, each test once.
    pub const ORDERS: Self = Self { orders: OrderControl::Exact, repeats: false, restores: false };

    /// Classes stay together; tests can be repeated.
    pub const CLASSES: Self =
        Self { orders: OrderControl::Classes, repeats: true, restores: false };

    /// The given tests, each once, in the order in which the runner lists them.
    pub const FIXED: Self = Self { orders: OrderControl::Fixed, repeats: false, restores: false };
}

/// Whether hash seeds are varied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HashSeeds {
    /// Each run may have its own.
    Varied,
    /// They cannot be varied, or the user does not want it.
    Fixed,
}
