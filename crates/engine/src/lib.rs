//! Runs experiments on real tests: agents, processes, time limits, isolation, events.
//!
//! An [`Engine`] brings up an agent (our code inside the test process), which collects the tests
//! once. Experiments go in by [`Engine::submit`], at most `jobs` of them run at once, and
//! everything that happens comes out of [`Engine::next_event`] as [`Event`]s. There is no callback
//! and no runtime: the caller's loop is the only loop, and threads only carry messages from
//! processes to it.
//!
//! A run is forked from the agent, in milliseconds, wherever that is safe; where it is not, each
//! run has a fresh process. Both look the same from outside.
//!
//! | module | question it answers |
//! |---|---|
//! | `launch` | what is started, and within which limits? |
//! | `engine` | the public interface, and the one loop |
//! | `dispatch` | which run is next? |
//! | `hear` | what follows from a message? |
//! | `endings` | how do runs and agents end, and what follows from it? |
//! | `running` | when has a run taken too long, when is it over, which test is to blame? |
//! | `patience` | how long may a test take, given how long it took before? |
//! | `progress` | what is known about the attempts of a run? |
//! | `looking` | how is a look passed to an agent, and what did it show? |
//! | `inbox` | which messages arrived, and from whom? |
//! | `pipes` | how does an agent talk to us that cannot connect to a socket? |
//! | `process` | how is a process started, heard and ended? |
//! | `signals` | how is a process told to leave? |
//! | `strays` | which processes did others leave behind? |
//! | `workshop` | where are the files of an engine? |
//! | `plain` | what is the result of a run by the project's own runner? |
//! | `roster` | which of the collected tests can be part of a suite? |
//!
//! Whatever goes wrong in a test (it hangs, crashes, kills its parent, closes our socket, writes
//! forever) goes wrong in its own run and is an outcome. Whatever goes wrong with an agent is an
//! error that includes the agent's last words.
//!
//! Agents ask the kernel to end them with the *thread* that started them. So an engine belongs to
//! one thread, which must live as long as the engine.

mod agent;
mod clock;
mod dispatch;
mod endings;
mod engine;
mod error;
mod event;
mod hear;
mod inbox;
mod interrupt;
mod launch;
mod looking;
mod patience;
mod pipes;
mod plain;
pub mod process;
mod progress;
mod roster;
mod running;
mod signals;
pub mod strays;
mod tail;
mod workshop;

pub use engine::Engine;
pub use error::{EngineError, StartError, StartErrorKind, SubmitError};
pub use event::{Ending, Event, Failure, Isolation};
pub use inbox::Waker;
pub use interrupt::Interrupt;
pub use launch::{
    AgentFiles, Choosing, GRACE, Launch, Limits, OwnEnv, Perturbing, Start, Transport,
};
pub use plain::{PlainEnding, PlainRun, Said};
pub use roster::SetAside;
pub use unflake_wire::{
    Applied, Collected, CollectedTest, CollectionError, Level, Perturbed, Refused, RefusedFactor,
};
pub use workshop::{PrivateFolder, private_folder};
