//! The command line of unflake.
fn main() {}
