//! Our side of any runner that can be started as a command: Go, JavaScript, Ruby, C++, Rust, a
//! script of one's own.
//!
//! A project says in `[runner]` of its settings how tests are listed, how given tests are run in a
//! given order, and what the runner reports in ([`settings`]). The [`agent`] lives by that: it is
//! this program again, speaks to the engine as agents of other languages do, and starts the command
//! for each run, in a place of its own. There is no look inside the process of the tests: what is
//! known of them is what the runner says.
//!
//! | module | question it answers |
//! |---|---|
//! | [`settings`] | what does a project say about its runner, and does it make sense? |
//! | `template` | how is a command made of tests, and an id of what a report says? |
//! | `listing` | which tests are there? |
//! | `report` | what does a run report, in JUnit XML, TAP or CTRF? |
//! | `names` | which test is that about? |
//! | `judge` | what follows for each test, given how the command left? |
//! | [`agent`] | runs for the engine |
//! | `plain` | runs without us, and the command to paste |
//! | `record` | what does the history keep of the settings, and what comes back from it? |
//! | `options` | which of that can be typed, and stand in `unflake.toml`? |
//! | `adapter` | what is all this to the rest of unflake? |

mod adapter;
pub mod agent;
mod judge;
mod listing;
mod names;
mod options;
mod plain;
mod project;
mod record;
mod report;
pub mod settings;
mod template;

pub use adapter::Command;
pub use plain::{Plain, PlainError};
pub use project::Project;
