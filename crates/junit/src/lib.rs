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
mod build_program;
mod build_tool;
mod choice_site;
mod class_archive;
mod doctor;
mod fetch;
mod gradle;
mod jars;
mod java_flags;
mod jdk;
mod made_once;
mod maven;
mod module;
mod nondex;
mod plain;
mod plain_runner;
mod prepared;
mod project;
mod project_error;
mod properties;
mod run_order;
mod shell;
mod state_kinds;
mod surefire_recorder;
mod surefire_report;
mod surroundings;
mod tracing;

pub use adapter::JUnit;
pub use agent::AgentError;
pub use build_tool::BuildTool;
pub use fetch::FetchError;
pub use gradle::Gradle;
pub use jdk::Jdk;
pub use maven::Maven;
pub use module::{LeftOut, Module};
pub use nondex::{NonDex, NonDexError};
pub use plain::{Plain, PlainError};
pub use prepared::{PrepareError, Prepared};
pub use project::Project;
pub use project_error::ProjectError;
pub use state_kinds::STATE_KINDS;
pub use surroundings::Surroundings;
pub use tracing::{Tracing, TracingError};
