//! One file a command.

pub(crate) mod completions;
pub(crate) mod detect;
pub(crate) mod doctor;
pub(crate) mod fix;
pub(crate) mod history;
pub(crate) mod init;
pub(crate) mod learn;
pub(crate) mod lint;
mod listed;
pub(crate) mod man;
pub(crate) mod orders;
pub(crate) mod replay;
pub(crate) mod run;
pub(crate) mod schema;
pub(crate) mod shake;
pub(crate) mod study;
pub(crate) mod trace;
pub(crate) mod triage;
