//! Every test of an order, once, whatever tests do to the process.
//!
//! Where a test takes the process with it, the tests behind it are run in another one. Each run
//! comes at least one test further, or is one of few in a row that do not, so there is an end.

use std::rc::Rc;

use unflake_model::{Environment, Look, Order, OutcomeKind, TestIndex};

use crate::lab::Lab;
use crate::ledger::Run;

/// Runs in a row that come no further, after which we give up: once may be chance.
const FUTILE_MAX: usize = 3;

/// How far an order was run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// To its end.
    Whole,
    /// Until no test could be started any more.
    Stuck,
    /// Until there was no leave for another run.
    Part,
}

/// Runs all tests of an order with this look; whoever watches the runs has what they show.
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

/// The tests that a run did not come to.
fn left(run: &Rc<Run>) -> Vec<TestIndex> {
    let left = run.outcomes().filter(|(_, kind)| *kind == OutcomeKind::NotRun);
    left.map(|(test, _)| test).collect()
}
