//! What a campaign found, for people and for programs.
//!
//! Every format is a pure function of a value of `unflake_known`, mostly of one
//! [`View`](unflake_known::View): what is known when a campaign ends, or when it is interrupted.
//! Nothing here prints, reads a clock, a terminal or the environment; width and colour are
//! arguments, and the same view gives the same text on every machine.
//!
//! | module | for | bounds |
//! |---|---|---|
//! | [`terminal`] | a maintainer, in the first second | findings in full, lines, lists |
//! | [`table`] | the same, one line per finding | lines |
//! | [`why`] | all that is known about one test, and what is not | lists, lines of output |
//! | [`json`] | programs; the contract is `schemas/findings.json` | failure texts |
//! | [`markdown`] | a comment on a pull request | bytes, as hosts refuse long ones |
//! | [`junit`] | continuous integration: every test and attempt | attempts per test, texts |
//! | [`dirt`] | `unflake lint`: what tests leave behind, in all of these | tests, places, lines |
//! | [`rerun_study`] | `unflake study`: the tables of a rerun study | tests |
//! | [`shake`] | `unflake shake`: what makes a test fail | nothing |
//! | [`run`], [`triage`], [`replay`], [`fix`] | what these commands found | tests, differences |
//! | [`history`], [`exposed`], [`learn`], [`doctor`], [`orders`] | likewise | tests, orders |
//! | [`document`], [`schema`] | what all documents for programs share; their contracts | nothing |
//!
//! Three rules hold in all of them.
//!
//! **What comes from tests is never obeyed.** Names, messages and output may hold terminal escapes,
//! text-direction overrides, table bars, tags or characters that XML has no place for. Each format
//! makes them harmless in its own way; a test id is otherwise spelled as its runner spells it and
//! never broken or shortened, nor is a command, but between its words and behind a backslash.
//!
//! **A number comes with what is behind it**: failures with attempts and interval, a confirmation
//! with its count, "nothing found" with the flake rate that would have been seen.
//!
//! **What is left out is counted**: every list that is cut says how many more there are.
//!
//! Adding a format: one module with a `render(&View)`, the views of `tests/views` in a snapshot
//! test, a line in the table above. Adding a document for programs: see [`schema`]. Words that more
//! than one format uses are in `words`, the sequence of findings in `ranking`.

mod command;
pub mod dirt;
pub mod doctor;
pub mod document;
pub mod exposed;
pub mod fix;
pub mod history;
pub mod idflakies;
pub mod json;
pub mod junit;
pub mod learn;
pub mod markdown;
mod next;
mod numbers;
pub mod orders;
mod page;
mod ranking;
pub mod replay;
pub mod rerun_study;
mod rows;
pub mod run;
pub mod schema;
pub mod shake;
pub mod table;
pub mod terminal;
pub mod triage;
mod visible;
mod when;
pub mod why;
mod words;

pub use command::Command;
pub use page::{Colour, Detail, Ink, Layout, Page};
pub use visible::visible;
pub use words::{factor_in_words, failed, is_script, percent, plural, span};
