//! Makes runs alone and runs behind a group alternately, until both are beyond doubt.

use futures_util::stream::{self, StreamExt as _, TryStreamExt as _};
use unflake_model::TestIndex;

use crate::lab::Suspicion;
use crate::oracle::{Oracle, Stop, order_of};

/// Runs alone before a first opinion.
pub(crate) const ALONE_FIRST: u64 = 3;

/// Runs alone that a confirmed verdict requires ("run it 10 times", spec 2.3).
pub(crate) const ALONE_CONFIRMED: u64 = 10;

/// Runs with the group that a confirmed verdict requires. A non-deterministic test that fails after
/// it in only 60 % of runs is mistaken for deterministic with probability 0.6^25 = 3e-6.
pub(crate) const GROUP_CONFIRMED: u64 = 25;

/// Runs alone that a confirmation makes: those behind the first opinion count too.
const ALONE_AGAIN: u64 = ALONE_CONFIRMED - ALONE_FIRST;

/// Alternates runs alone and after the group, as often as a confirmed verdict requires. They
/// alternate because failures may come in bursts: runs of one kind made together would agree with
/// each other and prove nothing, while a burst that hits both kinds contradicts itself. At most one
/// more run is asked for than can be under way, so that long runs of others fit in between.
pub(crate) async fn confirm(oracle: &Oracle, group: &[TestIndex]) -> Result<(), Stop> {
    if let Some(behind) = oracle.effect() {
        oracle.lab().suspect(Suspicion { test: oracle.target(), group: group.to_vec(), behind });
    }
    let order = order_of(&oracle.arranged(group), oracle.target());
    let alone = order_of(&[], oracle.target());
    for n_turns in [ALONE_AGAIN.div_ceil(2), ALONE_AGAIN / 2] {
        // Three runs with the group for each run alone: about the ratio of the two totals.
        let runs = (0..n_turns).flat_map(|_| [&order, &alone, &order, &order]);
        let runs = runs.map(|order| oracle.lab().run(order.clone()));
        let n_asked = oracle.lab().width() + 1;
        stream::iter(runs).buffer_unordered(n_asked).try_collect::<Vec<_>>().await?;
        // Both must still give the same answer; a contradiction ends the confirmation.
        oracle.ask(&[]).await?;
        oracle.ask(group).await?;
    }
    oracle.ask_at_least(group, GROUP_CONFIRMED).await.map(|_| ())
}
