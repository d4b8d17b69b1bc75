//! Use cases, one file each: what a command does, without how it is typed or shown.
//!
//! An analysis asks, a [`World`](drive::World) answers: the engine for real projects, the simulator
//! in tests. What was answered in an earlier, interrupted campaign is recalled instead of run again.

pub mod drive;
pub mod recall;
