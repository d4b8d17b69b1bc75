//! What the program prints for programs: read, and checked against its schema.

// One check for both crates: that of the documents as they are made, and as they are printed.
#[path = "../../../report/tests/schema/mod.rs"]
mod schema;

use std::process::Output;

use serde_json::Value;

/// The document that was printed, which is one and is what a schema says.
pub(crate) fn document(output: &Output) -> Value {
    let text = String::from_utf8(output.stdout.clone()).expect("JSON is text");
    let document: Value = serde_json::from_str(&text).unwrap_or_else(|error| {
        panic!("{error}: {text}\n{}", String::from_utf8_lossy(&output.stderr))
    });
    assert_eq!(schema::faults(&document), Vec::<String>::new(), "{text}");
    assert_eq!(document["unflake"], env!("CARGO_PKG_VERSION"));
    document
}
