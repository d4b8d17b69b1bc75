//! What engine and agent say to each other, as types and as bytes.
//!
//! The agent is our code inside the test process; `docs/design/agent-protocol.md` is the contract,
//! and this crate is its Rust side. [`FromAgent`] and [`ToAgent`] are the messages, [`frame`]
//! writes them to a stream and reads them back.
//!
//! The types are counterparts of the words in `unflake_model`, not those words: a message is what
//! an agent of some version claims, and becomes an observation only after the engine has checked
//! it. So the types only promise that the bytes had the right form.
//!
//! A reader ignores messages and keys that it does not know; if something it knows is missing, that
//! is an error. So an agent may say more than an older engine understands, but never less.

pub mod frame;
mod message;
mod numbers;

pub use message::{
    Applied, Change, Choices, Chosen, Collected, CollectedTest, CollectionError, End, Ended,
    FromAgent, Function, Hello, Level, NotRestored, Perturb, Perturbed, Phase, Refused,
    RefusedFactor, Restore, Restored, Role, Run, ToAgent, Traced,
};

/// Versions of the protocol, named by what they added.
pub mod version {
    /// Collect once, fork each run, run in place if forking is unsafe.
    pub const FORK_PER_ORDER: u32 = 1;
    /// The version that this build speaks.
    pub const CURRENT: u32 = FORK_PER_ORDER;
}
