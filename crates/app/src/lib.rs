//! Use cases, one file each: what a command does, without how it is typed or shown.
//!
//! An analysis asks, a [`World`](drive::World) answers: the engine for real projects, the simulator
//! in tests. What was answered in an earlier, interrupted campaign is recalled, not run again.

mod baseline;
pub mod cold;
pub mod drive;
mod plain;
pub mod recall;
pub mod study;
pub mod world;
