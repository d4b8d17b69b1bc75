//! Which tests are flaky, of what kind, and on what do they depend?
//!
//! Analyses that ask and are told. Each is an `async fn` over a [`Lab`]; an [`Analysis`] turns it
//! into a state machine that hands out experiments and takes observations in any order. Nothing
//! here starts a process, reads a clock, or draws a number that does not follow from a seed:
//! simulator and engine answer the very same experiments.
//!
//! | question | analysis |
//! |---|---|
//! | which tests are flaky? | [`campaign`] |
//! | is this test flaky, and why? | [`why`] |
//! | on which tests does it depend? | [`explain`] |
//! | does it fail the second time in a process? | [`twice`] |
//! | does it depend on open choices? | [`choices`] |
//! | which circumstance makes this test fail? | [`shake`] |
//! | what would iDFlakies say? | [`idflakies`] |
//! | what would the five-step categorisation say? | [`categorise`] |
//! | which findings belong together? | [`cause`] |
//! | does the plain runner show what was found, and what is behind it? | [`confirm`] |
//! | which tests fail at random, for the least time? | [`reruns`] |
//! | which runs does a rerun study make? | [`rerun_study`] |
//! | is a failure of a build the change, or is the test flaky? | [`triage`] |
//! | what does every test do once, even if some end the process? | [`whole_order`] |
//!
//! Below them: [`ledger`] keeps every run as evidence, [`oracle`] answers whether a prefix has an
//! effect on a target, [`hunch`] ranks the suspects, [`search`] finds the culprits, [`classify`] is
//! the table from evidence to verdict.
//!
//! **Invariant:** no verdict is called confirmed that was not put to the test again after it was
//! reached, and one prefix with both outcomes rules out order dependence for good.

mod apart;
pub mod campaign;
pub mod categorise;
pub mod cause;
pub mod choices;
pub mod classify;
mod concluding;
pub mod confirm;
mod crowd;
mod depth;
pub mod explain;
pub mod hunch;
pub mod idflakies;
mod in_turn;
mod influence;
mod lab;
pub mod ledger;
pub mod oracle;
pub mod rerun_study;
pub mod reruns;
mod roles;
pub mod search;
pub mod shake;
pub mod subset;
mod tour;
pub mod triage;
pub mod twice;
pub mod whole_order;
pub mod why;

pub use depth::Depth;
pub use lab::{Analysis, Lab, OutOfBudget, PlainAsk, Room, Suspicion, Urgency};
