//! Use cases, one file each: what a command does, apart from how it is typed or shown.
//!
//! `detect` and `why` are campaigns and nothing else ([`unflake_campaign::campaign`]).

pub mod fix;
pub mod learn;
pub mod lint;
pub mod place;
pub mod registry;
pub mod replay;
pub mod run;
pub mod shake;
pub mod study;
pub mod trace;
pub mod triage;
