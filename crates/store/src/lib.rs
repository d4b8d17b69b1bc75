//! The history: what happened in earlier campaigns, and in this one until a moment ago.
//!
//! The history of a project is one `SQLite` file, and the file is the truth: there is no log beside
//! it, no cache, nothing to rebuild. A campaign is a row. Each of its runs is a row with order,
//! outcomes and durations packed into one value (`pack`). The texts of failed attempts have rows of
//! their own, so that all failures of one test, across campaigns, are one query.
//!
//! ```no_run
//! # fn example(
//! #     campaign: &unflake_store::Campaign<'_>,
//! #     experiment: &unflake_model::Experiment,
//! #     observation: &unflake_model::Observation,
//! # ) -> Result<(), unflake_store::StoreError> {
//! let mut store = unflake_store::Store::open("history.sqlite".as_ref())?;
//! let id = store.begin(campaign)?;
//! store.record(id, experiment, observation, &[])?; // Killed here, nothing is lost.
//! for run in store.runs(id)? {
//!     let (experiment, observation) = run?;
//! }
//! # Ok(())
//! # }
//! ```
//!
//! **What is promised.** Once [`Store::record`] has returned, the run survives `kill -9` of this
//! process. If the machine loses power, the last runs may be lost, but the file stays whole: the
//! write-ahead log is not flushed with every commit, because a flush takes as long as a run of two
//! tests. A run is there with its failures or not at all. Two processes may write to one file and
//! wait for each other; a campaign has one writer at a time ([`Claim`]). If the disk is full,
//! recording fails with [`StoreErrorKind::Full`], and what was recorded can be read.
//!
//! **Corruption is an error that names campaign and run**, never a missing run: without it, the
//! evidence may support another verdict. Packed values carry a checksum.
//!
//! **Versions.** A file of an older version is brought to the current one when it is opened. A file
//! of a newer version is refused with advice, unwritten (`schema`). Packed values have versions of
//! their own, so old rows need not be rewritten.
//!
//! **Private.** Only its user may read a history: failures quote what tests print (`private`).
//!
//! **Limits.** No clock and no randomness: times and seeds come from the caller, names of campaigns
//! follow from them. Settings and findings are opaque texts of the caller. Failures without a text
//! are only in the packed outcomes; how many texts to keep of a suite in ruins is the caller's
//! choice.

mod campaign;
mod claim;
mod columns;
mod error;
mod failures;
mod names;
mod pack;
mod private;
mod prune;
mod read;
mod recording;
mod schema;
mod store;
mod text;
mod write;

pub use campaign::{
    Campaign, CampaignId, CampaignSummary, Conclusion, Failure, FailureText, TestRecord,
};
pub use claim::Claim;
pub use error::{StoreError, StoreErrorKind};
pub use pack::digest;
pub use read::Runs;
pub use store::Store;
pub use text::{MESSAGE_BYTES_MAX, TEXT_BYTES_MAX};
