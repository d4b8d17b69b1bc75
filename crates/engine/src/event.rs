//! What happens while runs are made: the only product of running.
//!
//! Progress, reports and the store all read this one stream; the engine knows none of them.

use std::time::Duration;

use unflake_model::{Observation, Outcome, RunId, TestIndex};
use unflake_wire::{Level, Perturbed, Refused};

use crate::process::Exit;

/// Something that happened.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// A run was handed to an agent.
    RunStarted {
        /// The number of the run.
        run: RunId,
    },
    /// An attempt began.
    TestStarted {
        /// The run it belongs to.
        run: RunId,
        /// The test that is attempted.
        test: TestIndex,
        /// The number of the attempt among those of this test, from 0.
        attempt: usize,
    },
    /// An attempt is over.
    TestEnded {
        /// The run it belongs to.
        run: RunId,
        /// The test that was attempted.
        test: TestIndex,
        /// The number of the attempt among those of this test, from 0.
        attempt: usize,
        /// How the attempt ended.
        outcome: Outcome,
        /// How long the attempt took.
        duration: Duration,
        /// The complaint of a failed test; the reason of a skipped one.
        failure: Option<Failure>,
    },
    /// Circumstances of a run were perturbed.
    Perturbed {
        /// The number of the run.
        run: RunId,
        /// What was perturbed, and what could not be.
        perturbed: Perturbed,
    },
    /// A run is over.
    RunEnded {
        /// What was observed in the run.
        observation: Observation,
        /// How the run ended.
        ending: Ending,
        /// Which levels of isolation held.
        isolation: Isolation,
    },
    /// The agent that runs are forked from died, and another is started.
    AgentDied {
        /// How it died.
        why: String,
        /// The end of what it wrote to its standard error.
        stderr: String,
    },
    /// The agent died under this run, which waits to begin again: everything reported about its
    /// tests so far is void.
    RunPutBack {
        /// The number of the run.
        run: RunId,
    },
    /// [`crate::Interrupt::raise`] was called. Runs continue.
    Interrupted,
    /// [`crate::Waker::wake`] was called: the caller may have something else to do.
    Woken,
    /// Nothing runs, and nothing waits to run.
    Idle,
}

/// What a test said about its outcome.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Failure {
    /// The message, in one line.
    pub message: String,
    /// The full text.
    pub text: String,
    /// What the test wrote to standard output.
    pub stdout: String,
    /// What the test wrote to standard error.
    pub stderr: String,
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Every test was run and every fixture torn down.
    Complete,
    /// A test ended the session, as `pytest.exit` does; the tests after it were not run.
    CutShort,
    /// A test took too long, and the run was stopped.
    TestTimedOut,
    /// The run took too long and was stopped. No test is to blame.
    RunTimedOut,
    /// No test was running, and nothing happened for too long.
    Hung,
    /// The process exited before it was done.
    Died(Exit),
    /// The run killed the agent it was forked from twice, the second time alone with it.
    KilledAgent,
    /// No process could be started for it, or what happened says nothing about its tests; none of
    /// them counts as run.
    NotStarted {
        /// The reason.
        why: String,
        /// The end of what the process wrote to its standard error.
        stderr: String,
    },
}

/// The parts of the world that a run had to itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Isolation {
    /// The levels that were applied.
    pub applied: Vec<Level>,
    /// The levels that were requested but not applied, with the reasons.
    pub refused: Vec<Refused>,
}
