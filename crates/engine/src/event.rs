//! What happens while runs are made: the only product of running.
//!
//! Progress, reports and the store all read this one stream; the engine knows none of them.

use std::time::Duration;

use unflake_model::{Observation, Outcome, RunId, TestIndex};
use unflake_wire::{Level, Perturbed, Refused};

use crate::process::Exit;

/// Something happened.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// A run was handed to an agent.
    RunStarted {
        /// Which.
        run: RunId,
    },
    /// An attempt began.
    TestStarted {
        /// The run.
        run: RunId,
        /// The test.
        test: TestIndex,
        /// Which attempt of it, from 0.
        attempt: usize,
    },
    /// An attempt is over.
    TestEnded {
        /// The run.
        run: RunId,
        /// The test.
        test: TestIndex,
        /// Which attempt of it, from 0.
        attempt: usize,
        /// How it ended.
        outcome: Outcome,
        /// How long it took.
        duration: Duration,
        /// What it had to say; a skipped test, why.
        failure: Option<Failure>,
    },
    /// Circumstances of a run were perturbed.
    Perturbed {
        /// The run.
        run: RunId,
        /// What was perturbed, and what could not be.
        perturbed: Perturbed,
    },
    /// A run is over.
    RunEnded {
        /// What was seen.
        observation: Observation,
        /// How it came to its end.
        ending: Ending,
        /// Which levels of isolation held.
        isolation: Isolation,
    },
    /// The agent that runs are forked from died, and another is started.
    AgentDied {
        /// How.
        why: String,
        /// The end of what it wrote to its standard error.
        stderr: String,
    },
    /// The agent died under this run, which waits to begin again: what was said about its tests so
    /// far is void.
    RunPutBack {
        /// Which.
        run: RunId,
    },
    /// [`crate::Interrupt::raise`] was called. Runs go on.
    Interrupted,
    /// [`crate::Waker::wake`] was called: whoever waits here may have something else to do.
    Woken,
    /// Nothing runs, and nothing waits to run.
    Idle,
}

/// What a test had to say about its outcome.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Failure {
    /// In one line.
    pub message: String,
    /// In full.
    pub text: String,
    /// What the test wrote to standard output.
    pub stdout: String,
    /// What the test wrote to standard error.
    pub stderr: String,
}

/// How a run came to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Every test was run, every fixture torn down.
    Complete,
    /// A test ended the session, as `pytest.exit` does; the tests after it were not run.
    CutShort,
    /// A test took too long, and the run was stopped.
    TestTimedOut,
    /// The run took too long and was stopped. No test is to blame.
    RunTimedOut,
    /// No test was under way, and for too long nothing happened.
    Hung,
    /// The process left before it was done.
    Died(Exit),
    /// The run killed the agent it was forked from, twice, the second time alone with it.
    KilledAgent,
    /// No process could be brought up for it, or what it did says nothing about its tests; all of
    /// them are not run.
    NotStarted {
        /// Why.
        why: String,
        /// The end of what the process wrote to its standard error.
        stderr: String,
    },
}

/// Which parts of the world a run had for itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Isolation {
    /// Those it had.
    pub applied: Vec<Level>,
    /// Those it was to have, and why it did not.
    pub refused: Vec<Refused>,
}
