//! What is a test called in JUnit XML?

use unflake_model::TestId;
use unflake_report::Origin;
use unflake_report::junit::Address;

/// What the runner of a campaign calls a test.
pub fn address(origin: &Origin, id: &TestId) -> Address {
    match origin.runner.as_str() {
        "pytest" | "unittest" => unflake_pytest::address(id.as_str()),
        _ => unflake_junit::address(id.as_str()),
    }
}
