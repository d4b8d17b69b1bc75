//! The words of unflake, as types.
//!
//! Every other crate speaks in these nouns and adds none of its own for the same thing:
//!
//! | word | meaning |
//! |---|---|
//! | test | a leaf, named by [`TestId`], addressed by [`TestIndex`] |
//! | class | the tests a runner keeps together: a class, a file, a module |
//! | suite | all tests of a project, in their original order, grouped in classes |
//! | order | distinct tests to run in one process lifetime |
//! | prefix, target | the tests before the one we ask about; that one |
//! | attempt | one execution of one test |
//! | run | one execution of one order |
//! | campaign | all runs that answer one question |
//! | factor, perturbed | a circumstance that can be changed on purpose; with some changed |
//! | experiment, observation | a run an analysis asks for; what came back |
//! | look, seen | what is looked at beyond how tests end; what that showed |
//! | evidence, verdict, finding | what a run says; what we conclude; what we show |
//! | failure rate, flake rate | share of runs of *one* order; share of *all* orders |
//!
//! Three things are deliberately absent. No type here can be serialised: each boundary (store,
//! wire, report) owns its counterpart and its version. No type reads a clock, starts a process or
//! draws a random number that was not seeded by its caller. And no type knows a test framework:
//! a pytest node id is as opaque as a JUnit method.

mod budget;
mod control;
mod experiment;
mod factor;
mod finding;
mod look;
mod order;
mod outcome;
pub mod random;
mod root_cause;
pub mod secret;
mod state_kind;
mod suite;
mod test;
mod verdict;

pub use budget::{Budget, Confidence, InvalidBudget, InvalidConfidence, Limit, Spent};
pub use control::{Control, HashSeeds, OrderControl};
pub use experiment::{
    Attempt, Environment, Experiment, Means, NotStarted, Observation, Repetition, RunId,
};
pub use factor::{Decides, Factor, Factors, UnknownFactor};
pub use finding::{
    Cause, CleanersOf, Confirmation, Contrast, Dependencies, Finding, Group, OutcomeChange,
    Retried, Role, Tally, Tried,
};
pub use look::{
    AttemptCalls, AttemptChanges, CalledFunction, Calls, Chosen, Look, Restore, Restored, Seen,
    StateChange, StateLook,
};
pub use order::{InvalidOrder, Order};
pub use outcome::{Evidence, Outcome, OutcomeKind, Phase};
pub use root_cause::{InvalidRootCause, RootCause, Symptom};
pub use state_kind::{StateKind, UnknownStateKind};
pub use suite::{ClassIndex, InvalidSuite, Suite, SuiteBuilder};
pub use test::{InvalidTestId, TestId, TestIndex};
pub use verdict::Verdict;
