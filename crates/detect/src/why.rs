//! What about this test, whatever may be the matter with it?
//!
//! The order comes first: most flaky tests depend on it, and what follows takes a test for granted
//! that ends the same way in every order ([`crate::explain`]). Where that explains nothing, it is
//! run twice in a process ([`crate::twice`]), which costs one run, and then under other choices
//! ([`crate::choices`]), each of which may take an interpreter of its own.

use unflake_model::{Finding, TestIndex, Verdict};

use crate::choices;
use crate::explain::{Depth, explain};
use crate::lab::{Lab, OutOfBudget};
use crate::twice;

/// Finds out about one test, with so many seeds of perturbed choices. Never fails: a finding that
/// not all of this stands behind is not complete.
pub async fn why(lab: Lab, test: TestIndex, depth: Depth, n_perturbed: u64) -> Finding {
    let finding = explain(lab.clone(), test, depth).await;
    if finding.verdict != Verdict::NotFlaky {
        return finding;
    }
    match otherwise(lab, test, n_perturbed).await {
        Ok(Some(found)) => found,
        Ok(None) => finding,
        Err(OutOfBudget) => Finding { is_complete: false, ..finding },
    }
}

/// What is the matter with a test that does not depend on the order.
async fn otherwise(
    lab: Lab,
    test: TestIndex,
    n_perturbed: u64,
) -> Result<Option<Finding>, OutOfBudget> {
    match twice::seek(lab.clone(), test).await? {
        Some(found) => Ok(Some(found)),
        None => choices::seek(lab, test, n_perturbed).await,
    }
}
