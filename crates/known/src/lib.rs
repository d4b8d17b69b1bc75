//! What is known: the values that a campaign, a lint or a shaken test ends with.
//!
//! Adapters and use cases make these values; `report` shows them and the history keeps them. They
//! are below both, so that code that finds something out need not know how it is shown.
//!
//! | module | what is known |
//! |---|---|
//! | [`Findings`], [`View`] | about a suite: what was found, what it cost, why the campaign ended |
//! | [`Exhibit`] | about one finding: commands, confirmation, failure, shared state, choices |
//! | [`Origin`] | which runner, seed, command and campaign stand behind it |
//! | [`Offer`] | what our commands can do for the tests of a runner |
//! | [`Warning`] | what limits the answer, with what to do about it |
//! | [`KnownFactor`] | what an earlier `shake` found out about a test |
//! | [`inspection`] | what tests leave behind (`lint`) |
//! | [`shaking`] | which circumstances make a test fail (`shake`) |
//! | [`exposed`] | which tests call something that can come out differently (`trace`) |
//! | [`fix`] | which changes of test files help, and which do not |
//! | [`suite_run`] | what one run of all tests showed (`run`) |
//! | [`replay`] | whether a run on record ends again as it did |
//! | [`triage`] | which failures of a report are flaky, and of what kind |
//! | [`RerunStudy`] | how often tests failed when a suite was run again and again (`study`) |
//! | [`Lesson`] | which functions flaky tests call and others do not (`learn`) |
//! | [`Past`], [`PastCampaign`] | what the history holds |
//! | [`Check`] | one thing that `doctor` checked |
//! | [`junit_xml`] | what runners wrote; reading is here, writing is in `report` |
//! | [`saved`] | the form in which the history keeps findings or a shaking |
//!
//! Nothing here is laid out for a reader. The exceptions are words that adapters need for their own
//! messages: a [`Warning`] states a fact as an error would, and such messages and commands are
//! built with [`plural`] and [`quote`].

mod check;
mod exhibit;
pub mod exposed;
mod findings;
pub mod fix;
pub mod inspection;
pub mod junit_xml;
mod known_factor;
mod lesson;
mod offer;
mod origin;
mod past;
pub mod replay;
mod rerun_study;
mod run_name;
pub mod saved;
pub mod shaking;
mod shell;
pub mod suite_run;
pub mod triage;
mod warning;
mod words;

pub use check::Check;
pub use exhibit::{Choice, Exhibit, Failure, PlainAnswer, Seen, State};
pub use findings::{Ended, FailedAttempt, Findings, Record, View};
pub use known_factor::KnownFactor;
pub use lesson::Lesson;
pub use offer::{Offer, Offered};
pub use origin::Origin;
pub use past::{Past, PastCampaign, PastFailure, PastRecord};
pub use rerun_study::RerunStudy;
pub use run_name::{InvalidRunName, RunName};
pub use shell::quote;
pub use unflake_model::Confirmation;
pub use warning::{NotCollected, Warning};
pub use words::{more, plural};
