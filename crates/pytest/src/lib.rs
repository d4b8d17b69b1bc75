//! Our side of Python's test runners: pytest, and unittest where there is no pytest.
//!
//! The engine knows agents, orders and outcomes; this crate knows Python. It finds the interpreter
//! of a project ([`Interpreter`]), carries the agent and says how to start it ([`Project`]), runs
//! the project's own runner without us in the process ([`Plain`]), and writes the command that a
//! user can paste ([`Plain::command`]).
//!
//! What an agent tells about an order is believed only as far as the plain runner agrees: the
//! original order must come out the same under both, and a dependency is confirmed by the plain
//! runner alone. So [`Plain`] adds no plugin of ours, and reads the results from the JUnit XML that
//! pytest itself writes.

mod adapter;
mod agent_files;
mod doctor;
mod interpreter;
mod kept_agent;
mod mend;
mod node_id;
mod plain;
mod plain_runner;
mod project;
mod pytest_report;
mod shell;
mod shelter;
mod state_kinds;
mod symptom;
mod unittest_output;

pub use adapter::Pytest;
pub use interpreter::{Interpreter, InterpreterSource, NoInterpreter, Surroundings};
pub use plain::{Invocation, Plain, PlainError};
pub use project::{Project, Runner};
pub use shelter::Shelters;
pub use state_kinds::STATE_KINDS;
