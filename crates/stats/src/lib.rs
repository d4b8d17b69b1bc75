//! The mathematics of flaky tests: what counts of passes and failures say, and what they do not.
//!
//! Everything here is a pure function of counts, orders and seeds. Nothing is run, read or printed,
//! and no conclusion is drawn without the numbers behind it: a rate comes with its interval, a test
//! of a hypothesis with its p-value and how that was computed, a probability over orders as an
//! exact fraction or, where that would take too long, as a sample that says so.
//!
//! | question | module |
//! |---|---|
//! | How often does it fail, and between what limits? | [`rate`] |
//! | How many runs until a failure of this rate shows? | [`plan`] |
//! | How many runs until it was seen both to pass and to fail, and what do they cost? | [`rerun`] |
//! | How many failures come in a row? | [`burst`] |
//! | Does the order change how often it fails? | [`compare`] |
//! | Do two conditions differ over many tests? | [`rank`] |
//! | What do all runs of a rerun study say? | [`rerun_study`] |
//! | How often does the suite fail, and do tests fail together? | [`suite_failure`] |
//! | In what share of all orders does an order-dependent test fail? | [`flake_rate`] |
//! | What can still be hidden after the orders run so far? | [`hidden`] |
//! | How are run times distributed whose logarithms are normal? | [`normal`] |
//!
//! Two kinds of arithmetic are used, on purpose. Counting orders is done in exact rationals: the
//! closed forms of the literature contain at least one misprint, and a fraction either equals the
//! enumeration or it does not. Tail probabilities are floating point, arranged so that small ones
//! keep their digits (sums of positive terms, `ln_1p` and `exp_m1` instead of `1 - x`).
//!
//! **Invariant:** a decision that a user may see (which table is at least as uneven as the one
//! observed, which counts are equal) is taken on integers; floating point only weighs. The same
//! seed gives the same sample on every machine.

pub mod burst;
pub mod compare;
pub mod flake_rate;
pub mod hidden;
mod hypergeometric;
pub mod normal;
pub mod plan;
pub mod rank;
pub mod rate;
pub mod rerun;
pub mod rerun_study;
mod special;
pub mod suite_failure;
