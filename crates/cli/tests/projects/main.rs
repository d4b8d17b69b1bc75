//! The program on little projects and on whole ones, as a user runs it.

#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "the whole program is run as a user runs it, and what cannot be read is a fault"
)]

mod answers;
mod causes;
mod common;
#[path = "../document/mod.rs"]
mod document;
mod documents;
mod fix;
mod fixtures;
mod hard;
mod imports;
mod lint;
mod robust;
mod secrets;
mod setup;
mod trace;
mod twice;
