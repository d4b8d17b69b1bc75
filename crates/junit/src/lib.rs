//! Our side of Java's test runners: JUnit 3, 4 and 5 in projects that Maven or Gradle builds.
//!
//! The engine knows agents, orders and outcomes; this crate knows Java. It lets the project's own
//! build tool build once and records how it would have run the tests ([`Project`]), carries the
//! agent as source and compiles it with the user's Java, has it collect the tests of a module
//! ([`Module::prepare`]), says how to start it ([`Prepared::launch`]), and runs tests with plain
//! Maven or Gradle, without us in the process ([`Plain`]).
//!
//! `docs/design/java.md` argues the decisions.

mod adapter;
mod agent;
mod archive;
mod doctor;
mod flags;
mod gradle;
mod jars;
mod jdk;
mod kept;
mod maven;
mod module;
mod nondex;
mod perturbed;
mod plain;
mod plain_runner;
mod project;
mod properties;
mod recording;
mod report;
mod shell;
mod site;
mod suite;
mod tool;
mod tracing;
mod watched;

pub use adapter::JUnit;
pub use agent::AgentError;
pub use gradle::Gradle;
pub use jars::FetchError;
pub use jdk::Jdk;
pub use maven::Maven;
pub use module::{Module, PrepareError, Prepared};
pub use nondex::{NonDex, NonDexError};
pub use plain::{Plain, PlainError};
pub use project::{BuildTool, LeftOut, Project, ProjectError, Surroundings};
pub use tracing::{Tracing, TracingError};
pub use watched::STATE_KINDS;
