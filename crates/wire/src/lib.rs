//! What engine and agent say to each other, as types and as bytes.
//!
//! The agent is our code inside the test process; `docs/design/agent-protocol.md` is the contract,
//! this crate is its Rust side. [`FromAgent`] and [`ToAgent`] are the messages, [`frame`] puts them
//! on a stream and takes them off again.
//!
//! The types are counterparts of the words in `unflake_model`, not those words: a message is what
//! an agent of some version claims, and it becomes an observation only after the engine has
//! checked it. So nothing here promises more than that the bytes had the right shape.
//!
//! What a reader does not know, a message or a key, it passes over; what it knows and misses is an
//! error. So an agent may say more than an older engine understands, and never less.

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
    /// Collect once, fork a run per order, run in place where forking is unsafe.
    pub const FORK_PER_ORDER: u32 = 1;
    /// The version this build speaks.
    pub const CURRENT: u32 = FORK_PER_ORDER;
}
