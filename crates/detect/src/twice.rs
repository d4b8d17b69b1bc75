//! Does a test fail when it is run a second time in the same process?
//!
//! Running it once twice in a row raises the suspicion. Any test may fail by chance, and in an
//! order others ran before it; so it is tried again, alone: it must pass the first time and fail
//! the second, every time.

use std::rc::Rc;

use futures_util::future::try_join_all;
use unflake_model::{Evidence, Finding, Order, OutcomeKind, Repetition, TestIndex, Verdict};

use crate::concluding::{Confirmed, finding};
use crate::in_turn::ALONE_CONFIRMED;
use crate::lab::{Lab, OutOfBudget};
use crate::ledger::Run;

/// Whether a non-idempotent test ends like this, the first time and the second.
pub(crate) fn passes_then_fails(first: OutcomeKind, second: OutcomeKind) -> bool {
    (first.evidence(), second.evidence()) == (Some(Evidence::Pass), Some(Evidence::Fail))
}

/// Whether a test is non-idempotent: tries it once, and often if that shows it.
pub async fn seek(lab: Lab, test: TestIndex) -> Result<Option<Finding>, OutOfBudget> {
    if !lab.suite().control().repeats || !is_so(&run(&lab, test).await?) {
        return Ok(None);
    }
    Ok(confirm(lab, test).await)
}

/// A finding that the test is non-idempotent if it fails the second time and only then, every time,
/// with nothing before it.
pub(crate) async fn confirm(lab: Lab, test: TestIndex) -> Option<Finding> {
    let Ok(runs) = try_join_all((0..ALONE_CONFIRMED).map(|_| run(&lab, test))).await else {
        return Some(finding(&lab, test, Verdict::Nio, Confirmed::No));
    };
    runs.iter().all(is_so).then(|| finding(&lab, test, Verdict::Nio, Confirmed::Yes))
}

async fn run(lab: &Lab, test: TestIndex) -> Result<Rc<Run>, OutOfBudget> {
    lab.run_repeated(Order::from_distinct([test]), Repetition::Twice).await
}

fn is_so(run: &Rc<Run>) -> bool {
    passes_then_fails(run.outcomes[0], run.outcomes[1])
}
