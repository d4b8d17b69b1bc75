//! Which circumstances make a test fail, for people and for programs.
//!
//! Not a campaign over a suite but one test, alone in its process, under many circumstances. What
//! is said about a factor is how often the test failed with it and without it, in runs made in
//! turn, and a command that makes it fail again. Factors that show nothing come with the rate that
//! would have been seen: not to have seen a failure is no proof.

pub mod json;
pub mod text;
