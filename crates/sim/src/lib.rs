//! Simulated test suites, in which everything that is wrong was planted by us.
//!
//! An analysis asks for [`Experiment`]s and is told [`Observation`]s. This crate answers them from
//! suites that are made up: tests that read and write shared variables, fail at random, crash and
//! hang, in virtual time. Because we planted what is wrong with them, we know what an analysis
//! ought to find.
//!
//! From the bottom up:
//!
//! | module | question it answers |
//! |---|---|
//! | [`behaviour`] | what does one test do, given the values it meets? |
//! | [`world`] | what comes back from an experiment? |
//! | [`phenomenon`] | which kinds of flakiness are there, and which tests play a part in them? |
//! | [`plan`] | what is a suite with these phenomena planted? |
//! | [`truth`] | what should be found out about a test? |
//! | [`oracle`] | is the planted truth true? By trying every short order of a small suite. |
//! | [`scenario`] | small suites with a name: the cases of the literature and of our peers |
//! | [`recipe`], [`mod@generate`] | whole suites from a recipe and a seed, up to 100,000 tests |
//! | `seeing` | what does a look show beyond how tests end? |
//! | [`drive`] | answers that come back in any order |
//! | [`reruns`] | what does a policy for choosing reruns find, and in how much time? |
//!
//! **Invariant:** an observation is a function of the suite's seed and the experiment alone. It
//! does not depend on what was asked before, on the machine, or on a clock.
//!
//! Limits: a process leaves nothing behind for the next one (no ports, files or databases that
//! outlive it), and tests of one process never run concurrently.
//!
//! [`Experiment`]: unflake_model::Experiment
//! [`Observation`]: unflake_model::Observation

pub mod behaviour;
pub mod drive;
mod garden;
pub mod generate;
pub mod oracle;
pub mod phenomenon;
pub mod plan;
mod plot;
pub mod recipe;
pub mod reruns;
pub mod scenario;
mod seeing;
pub mod truth;
pub mod world;

pub use behaviour::Behaviour;
pub use drive::answer_all;
pub use generate::generate;
pub use phenomenon::Phenomenon;
pub use plan::InvalidPlan;
pub use recipe::{InvalidRecipe, Recipe};
pub use scenario::Scenario;
pub use seeing::OpenChoices;
pub use truth::{TestTruth, Truth};
pub use world::{InvalidSim, SimSuite, Timing};
