//! The five-step categorisation of the longitudinal study (spec 2.8, Fig 4.3).
//!
//! | step | experiment | never fails | sometimes | always |
//! |---|---|---|---|---|
//! | 1 | alone | to 2 | NOD | OD brittle |
//! | 2 | open choices perturbed, seed after seed | to 4 | to 3 | to 3 |
//! | 3 | the same failing seed again | NOD | NOD | ID |
//! | 4 | after every other single test | UD | to 5 | to 5 |
//! | 5 | one failing pair again | NOD | NOD | OD victim |
//!
//! It trusts that the test was seen to flake. [`crate::explain`] needs fewer runs and finds groups;
//! this is the published procedure, for comparison and for tests reported by other tools.

use futures_util::future::try_join_all;
use unflake_model::{Environment, Order, OutcomeKind, Repetition, Tally, TestIndex, Verdict};

use crate::lab::{Lab, OutOfBudget};
use crate::oracle::order_of;

/// Categorises a test, with this many runs in each step that repeats something.
pub async fn categorise(lab: Lab, test: TestIndex, n_runs: u64) -> Result<Verdict, OutOfBudget> {
    let alone = order_of(&[], test);
    let isolation = repeat(&lab, &alone, Environment::Plain, n_runs).await?;
    if isolation.attempts == 0 {
        return Ok(Verdict::InsufficientEvidence);
    }
    if isolation.failures == isolation.attempts {
        return Ok(Verdict::OdBrittle);
    }
    if 0 < isolation.failures {
        return Ok(Verdict::NodUndecided);
    }
    if let Some(environment) = failing_environment(&lab, &alone, n_runs).await? {
        let again = repeat(&lab, &alone, environment, n_runs).await?;
        return Ok(always_or_nod(again, Verdict::Id));
    }
    if let Some(pair) = failing_pair(&lab, test).await? {
        let again = repeat(&lab, &pair, Environment::Plain, n_runs).await?;
        return Ok(always_or_nod(again, Verdict::OdVictim));
    }
    Ok(Verdict::Ud)
}

fn always_or_nod(tally: Tally, always: Verdict) -> Verdict {
    match tally {
        Tally { attempts: 0, .. } => Verdict::InsufficientEvidence,
        Tally { failures, attempts } if failures == attempts => always,
        _ => Verdict::NodUndecided,
    }
}

/// Step 2: the first seed under which the test fails.
async fn failing_environment(
    lab: &Lab,
    alone: &Order,
    n_runs: u64,
) -> Result<Option<Environment>, OutOfBudget> {
    let seeds = (0..n_runs).map(Environment::open_choices);
    let runs = seeds.map(|environment| async move {
        let tally = repeat(lab, alone, environment, 1).await?;
        Ok((environment, tally))
    });
    let tallies = try_join_all(runs).await?;
    Ok(tallies.into_iter().find(|(_, t)| 0 < t.failures).map(|(environment, _)| environment))
}

/// Step 4: the first test after which the test fails.
async fn failing_pair(lab: &Lab, test: TestIndex) -> Result<Option<Order>, OutOfBudget> {
    let others = lab.suite().tests().filter(|other| *other != test);
    let runs = others.map(|other| async move {
        let pair = order_of(&[other], test);
        let tally = repeat(lab, &pair, Environment::Plain, 1).await?;
        Ok((pair, tally))
    });
    let tallies = try_join_all(runs).await?;
    Ok(tallies.into_iter().find(|(_, t)| 0 < t.failures).map(|(pair, _)| pair))
}

/// How the last test of the order fares in this many runs.
async fn repeat(
    lab: &Lab,
    order: &Order,
    environment: Environment,
    n_runs: u64,
) -> Result<Tally, OutOfBudget> {
    let runs = (0..n_runs).map(|_| lab.run_with(order.clone(), environment, Repetition::Once));
    let mut tally = Tally::default();
    for run in try_join_all(runs).await? {
        if let Some(evidence) = run.last().and_then(OutcomeKind::evidence) {
            tally.add(evidence);
        }
    }
    Ok(tally)
}
