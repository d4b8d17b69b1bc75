//! Turns everything that was run into a finding about a test.

use unflake_model::{Confidence, Dependencies, Finding, TestIndex, Tried, Verdict};

use crate::lab::Lab;

/// Whether the verdict was tested again after it was reached.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Confirmed {
    Yes,
    No,
}

/// A finding with what the ledger knows about the test, and without dependencies.
pub(crate) fn finding(
    lab: &Lab,
    test: TestIndex,
    verdict: Verdict,
    confirmed: Confirmed,
) -> Finding {
    let record = *lab.ledger().of(test);
    // A test that fails at a constant rate shows ten of each outcome with at most this probability;
    // see `classify`.
    let sure = Confidence::new(1.0 - 0.5_f64.powi(20)).ok();
    let is_confirmed = confirmed == Confirmed::Yes;
    Finding {
        test,
        verdict,
        confirmed: is_confirmed,
        confidence: sure.filter(|_| is_confirmed),
        tally: record.usual(),
        tried: Tried::default(),
        passed_in: record.seen_in().0,
        failed_in: record.seen_in().1,
        dependencies: Dependencies::default(),
        is_complete: is_confirmed,
        contrast: None,
        fails_under: None,
        questions: lab.n_questions(),
        spent: lab.spent(),
    }
}
