//! Runs experiments on real tests: agents, processes, time limits, isolation, events.
//!
//! An [`Engine`] brings up an agent (our code inside the test process), which collects the tests
//! once. Experiments go in by [`Engine::submit`], at most `jobs` of them run at once, and all that
//! happens comes out of [`Engine::next_event`] as [`Event`]s. There is no callback and no runtime:
//! the caller's loop is the only loop, and threads only carry what processes say to it.
//!
//! A run is forked from the agent, in milliseconds, wherever that is safe; where it is not, each
//! run has a fresh process. Both look the same from outside.
//!
//! | module | question it answers |
//! |---|---|
//! | `launch` | whom to start, and within which limits? |
//! | `engine` | the face, and the one loop |
//! | `dispatch` | who runs next? |
//! | `hear` | what does it mean that this was said? |
//! | `endings` | how do runs and agents end, and what follows from it? |
//! | `running` | when has a run taken too long, when is it over, who is to blame? |
//! | `patience` | how long may a test take that took so long before? |
//! | `progress` | what is known about its attempts? |
//! | `looking` | how is a look put to an agent, and what did it show? |
//! | `inbox` | who says what? |
//! | `pipes` | how does one speak that cannot connect? |
//! | `process` | how is a process started, heard and ended? |
//! | `signals` | how does one hear that it is to leave? |
//! | `strays` | and whom it leaves behind? |
//! | `workshop` | where do its files live? |
//! | `plain` | what comes of a run by the project's own runner? |
//! | `roster` | which of the collected tests can we speak of? |
//!
//! What can go wrong in a test (it hangs, crashes, kills its parent, closes our socket, writes for
//! ever) goes wrong in its own run and is an outcome. What can go wrong with an agent is an error
//! that carries the agent's last words.
//!
//! Agents ask the kernel to end them with the *thread* that started them. So an engine belongs to
//! one thread that lives as long as it does.

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
