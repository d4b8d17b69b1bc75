//! What is known: the values that a campaign, a look at dirt or a shaken test ends with.
//!
//! Adapters and use cases make these values; `report` shows them and the history keeps them. They
//! stand below both, so that nobody who finds something out has to know how it is shown.
//!
//! | module | what is known |
//! |---|---|
//! | [`Study`], [`View`] | about a suite: findings, causes, changes, what it cost, why it ended |
//! | [`Exhibit`] | about one finding: commands, confirmation, failure, shared state, choices |
//! | [`Origin`] | which runner, seed, command and campaign stand behind it |
//! | [`Warning`] | what limits the answer, with what to do about it |
//! | [`KnownFactor`] | what an earlier `shake` found out about a test |
//! | [`inspection`] | what tests leave behind (`lint`) |
//! | [`shaking`] | which circumstances make a test fail (`shake`) |
//! | [`exposed`] | which tests call something that can come out differently (`trace`) |
//! | [`junit_xml`] | what runners wrote; reading is here, writing is in `report` |
//! | [`saved`] | the form in which the history keeps a study or a shaking |
//!
//! Nothing here is laid out for a reader. The exceptions are words that adapters need for messages
//! of their own: a [`Warning`] says what is the case as an error would, and such messages and
//! commands are built with [`plural`] and [`quote`].

mod exhibit;
pub mod exposed;
pub mod inspection;
pub mod junit_xml;
mod known_factor;
mod origin;
pub mod saved;
pub mod shaking;
mod shell;
mod study;
mod warning;
mod words;

pub use exhibit::{Choice, Cold, Confirmation, Exhibit, Failure, Seen, State};
pub use known_factor::KnownFactor;
pub use origin::Origin;
pub use shell::quote;
pub use study::{Ended, FailedAttempt, Record, Study, View};
pub use warning::{NotCollected, Warning};
pub use words::{more, plural};
