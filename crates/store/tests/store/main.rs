//! The store from outside: what every history does, and what files, processes and disks do to one.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests are outside of test functions, where clippy.toml allows it"
)]

mod common;
mod conformance;
mod files;
mod kill;
mod scale;
mod versions;
