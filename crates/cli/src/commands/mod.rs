//! One file a command.

pub(crate) mod completions;
pub(crate) mod orders;
pub(crate) mod study;
