//! Use cases, one file each: what a command does, without how it is typed or shown.
//!
//! An analysis asks, a [`World`](drive::World) answers: the engine for real projects, the simulator
//! in tests. What was answered in an earlier, interrupted campaign is recalled, not run again.

mod ahead;
mod analysis;
mod baseline;
pub mod begin;
mod choice;
pub mod cold;
pub mod dirty;
pub mod drive;
mod fingerprint;
pub mod fix;
pub mod history;
mod imports;
pub mod learn;
mod lent;
pub mod logbook;
pub mod masked;
mod pass;
pub mod place;
pub mod recall;
mod record;
pub mod registry;
pub mod replay;
pub mod rerun_study;
pub mod shake;
pub mod single;
mod state;
pub mod study;
mod terms;
mod together;
pub mod trace;
pub mod triage;
mod tried;
mod until;
pub mod world;
