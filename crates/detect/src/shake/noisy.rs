//! Which factor changes how often a test fails, if it fails anyway?
//!
//! No single run means anything here. So the screening runs are made first, and for each factor the
//! runs with it on are compared with those with it off, exactly (Fisher). A factor that stands out
//! is tried alone, alternating with everything fixed; if neither of the two that stand out most
//! shows a difference, both are tried together. Runs with a named factor say nothing about the
//! others, and are left out from then on.

use unflake_model::{Factor, Factors, Tally};
use unflake_stats::compare::fisher;

use super::bench::Bench;
use super::{CULPRITS_MAX, Culprit};
use crate::lab::OutOfBudget;

/// A factor whose p-value is larger is not worth a try. This is before correcting for the number of
/// factors.
const WORTH_A_TRY: f64 = 0.1;

/// Finds factors that change the rate of failures.
pub(super) async fn search(
    bench: &mut Bench,
    n_screening: u64,
    culprits: &mut Vec<Culprit>,
) -> Result<(), OutOfBudget> {
    let n_missing = n_screening.saturating_sub(bench.screened.len() as u64);
    bench.screen_batch(n_missing).await?;
    while culprits.len() < CULPRITS_MAX {
        let Some(culprit) = next(bench).await? else { break };
        bench.pool = bench.pool.without(culprit.factors);
        culprits.push(culprit);
    }
    Ok(())
}

/// The next culprit: one of the two factors that stand out most, else both together.
async fn next(bench: &mut Bench) -> Result<Option<Culprit>, OutOfBudget> {
    let ranked = ranked(bench);
    let worth = ranked.iter().take(2).filter(|(_, p_value)| *p_value <= WORTH_A_TRY);
    let single: Vec<Factors> = worth.map(|(factor, _)| [*factor].into_iter().collect()).collect();
    let both = single.iter().fold(Factors::NONE, |all, one| all.with(*one));
    let together = (1 < both.len()).then_some(both);
    for factors in single.into_iter().chain(together) {
        if let Some(culprit) = bench.confirm(factors, None).await? {
            return Ok(Some(culprit));
        }
    }
    Ok(None)
}

/// The factors of the pool, ordered by how much difference they make.
fn ranked(bench: &Bench) -> Vec<(Factor, f64)> {
    let runs: Vec<_> = bench.screened_of_pool().collect();
    let difference = |factor: Factor| {
        let mut sides = [Tally::default(); 2];
        for run in &runs {
            sides[usize::from(run.factors.contains(factor))].add(run.evidence);
        }
        (factor, fisher(sides[0], sides[1]))
    };
    let mut ranked: Vec<(Factor, f64)> = bench.pool.iter().map(difference).collect();
    ranked.sort_by(|a, b| a.1.total_cmp(&b.1));
    ranked
}
