//! One suite of checks that every adapter passes.
//!
//! What an adapter promises (`unflake_adapter`) is tried here, through the engine, on three little
//! projects that the adapter brings along, written for its runner: a [`Fixture`]. What their tests
//! do is said once, as [`Role`]s; so each check is written once, and a new runner has to find only
//! how its tests are spelled.
//!
//! | module | question it answers |
//! |---|---|
//! | `fixture` | what does an adapter bring along, and what is done with it? |
//! | `live` | a real one: its part of a project, an engine, real processes |
//! | `checks` | what is checked? [`CHECKS`] is the list |
//! | `trial` | one check on one project: what it asks, and how it says what is wrong |
//! | `experiments` | how is an experiment made? |
//! | `report` | what came of it? |
//!
//! A check that cannot apply is *excluded*, with the reason: because [`Abilities`] say so, or
//! because the fixture says that its runner has no such test. Each adapter states in its test
//! which checks are excluded and why, and a difference is a failure.
//!
//! A check asks through the trait [`Subject`] and never meets the engine itself. So the suite is
//! tried on adapters that do not exist (`tests/faults.rs`): an honest one passes, and for each
//! check there is a dishonest one that fails it.
//!
//! Not checked yet: what is seen of calls and of state that tests leave behind. Each agent tells
//! that in ways of its own, and the tests of the adapters check it.
//!
//! [`Abilities`]: unflake_adapter::Abilities

mod checks;
mod experiments;
mod fixture;
mod live;
mod report;
mod trial;

pub use checks::{CHECKS, Check};
pub use fixture::{
    AMPLE, Apart, Fixture, N_DIARISTS, ON_STDERR, ON_STDOUT, Odd, PIPE, Ran, Role, SAID, Scene,
    Stopped, Subject, Terms, Told,
};
pub use live::Live;
pub use report::{Conformance, Excluded, Fault, assert_conforms, examine};
