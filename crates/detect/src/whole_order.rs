//! Runs every test of an order once, even if some end the process.
//!
//! If a test ends the process, the tests after it run in another one. Each run gets at least one
//! test further, or is one of a few in a row that do not, so it comes to an end.

use std::rc::Rc;

use unflake_model::{Environment, Look, Order, OutcomeKind, TestIndex};

use crate::lab::Lab;
use crate::ledger::Run;

/// How many runs in a row may get no further before we give up: once may be chance.
const FUTILE_MAX: usize = 3;

/// How much of an order was run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// All of it.
    Whole,
    /// Part of it, because no further test could be started.
    Stuck,
    /// Part of it, because no further run was granted.
    Part,
}

/// Runs all tests of an order with this look; what it shows goes to those who watch the runs.
pub async fn run_whole(lab: Lab, order: Order, look: Look) -> Reach {
    let (mut rest, mut n_futile) = (order, 0);
    loop {
        let n_tests = rest.len();
        let Ok(run) = lab.look(rest, Environment::Plain, look.clone()).await else {
            return Reach::Part;
        };
        let left = left(&run);
        if left.is_empty() {
            return Reach::Whole;
        }
        n_futile = if left.len() == n_tests { n_futile + 1 } else { 0 };
        if n_futile == FUTILE_MAX {
            return Reach::Stuck;
        }
        rest = Order::from_distinct(left);
    }
}

/// The tests that a run did not get to.
fn left(run: &Rc<Run>) -> Vec<TestIndex> {
    let left = run.outcomes().filter(|(_, kind)| *kind == OutcomeKind::NotRun);
    left.map(|(test, _)| test).collect()
}
