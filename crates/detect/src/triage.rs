//! A test failed in continuous integration: is it the change, or is the test flaky, and of what
//! kind?
//!
//! Retrying is not only a way to go green, it is an experiment. Each failed test of a report is
//! rerun
//!
//! - **alone**, in a fresh process,
//! - **again** in that same process, right after,
//! - after the **same prefix** as in the report, in a fresh process,
//! - where it failed in all of these, **after all** other tests: a test that needs what another one
//!   sets up fails in a report that lacks the other, and is no regression,
//! - under **other seeds** of open choices, each twice.
//!
//! | alone | same prefix | after all | other seeds | verdict |
//! |---|---|---|---|---|
//! | both outcomes in one condition, or for one seed | | | | fails at random |
//! | passes | fails | not asked | not asked | victim |
//! | fails | passes | not asked | not asked | brittle |
//! | fails | fails | passes | not asked | brittle |
//! | same as prefix | | | by seed: always one or always the other | implementation-dependent |
//! | passes, and fails again | passes | not asked | passes | non-idempotent |
//! | fails | fails | fails | fails | always failing: a regression |
//! | passes | passes | not asked | passes | was seen to flake, not reproduced |
//! | same as prefix | | | no time left for any | insufficient evidence |
//!
//! Seeds are asked last, and only where they can answer: each may take its own interpreter.

use unflake_model::{
    Environment, Evidence, Factors, HashSeeds, Order, Repetition, Retried, Tally, TestIndex,
    Verdict,
};
use unflake_stats::compare::fisher;

use crate::lab::{Lab, OutOfBudget};

/// Runs of a test under one other seed: repeating its outcome makes it a function of the seed.
const RUNS_PER_SEED: u64 = 2;

/// A test that failed in a report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failed {
    /// The test that failed.
    pub test: TestIndex,
    /// The tests before it in the report, in that order.
    pub before: Vec<TestIndex>,
}

/// How much to run, and what can be varied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Conditions {
    /// How many runs each condition has.
    pub tries: u64,
    /// How many other seeds to try.
    pub n_seeds: u64,
    /// Whether strings can be hashed by a seed.
    pub hash_seeds: HashSeeds,
    /// If they cannot, the open choices that a seed can make.
    pub choices: Factors,
}

/// What was seen of a failed test, and the verdict.
#[derive(Clone, Debug, PartialEq)]
pub struct Judged {
    /// What was seen.
    pub seen: Retried,
    /// The verdict that follows.
    pub verdict: Verdict,
    /// One minus the chance of seeing this if the verdict were wrong; `None` if it is not known.
    pub sure: Option<f64>,
}

/// Reruns failed tests and judges them, as far as the budget goes.
pub async fn triage(lab: Lab, failed: Vec<Failed>, conditions: Conditions) -> Vec<Judged> {
    let mut seen = Vec::new();
    for it in &failed {
        let Ok(retried) = retry(&lab, it, conditions.tries).await else { break };
        seen.push((it.test, retried));
    }
    let is_cut_off = try_rest(&lab, conditions, &mut seen).await.is_err();
    let stays_open = |seen: &Retried| is_cut_off && seen.seeds.is_empty() && asks_for_seeds(seen);
    let judged = |(_, seen): (TestIndex, Retried)| {
        let is_open = stays_open(&seen);
        let verdict = if is_open { Verdict::InsufficientEvidence } else { verdict(&seen) };
        Judged { sure: sure(&seen, verdict), verdict, seen }
    };
    seen.into_iter().map(judged).collect()
}

async fn retry(lab: &Lab, failed: &Failed, tries: u64) -> Result<Retried, OutOfBudget> {
    let Failed { test, before } = failed;
    let mut seen = Retried::default();
    let after = Order::from_distinct([before, &[*test][..]].concat());
    let repeats = lab.suite().control().repeats;
    let repetition = if repeats { Repetition::Twice } else { Repetition::Once };
    // The conditions take turns, because failures come in bursts.
    for _ in 0..tries {
        let alone = lab.run_repeated(Order::from_distinct([*test]), repetition).await?;
        let ends = alone.outcomes().map(|(_, kind)| kind.evidence());
        for (tally, ended) in [&mut seen.alone, &mut seen.again].into_iter().zip(ends) {
            add(tally, ended);
        }
        let prefix = lab.run(after.clone()).await?;
        add(&mut seen.same_prefix, prefix.evidence_of(*test));
    }
    Ok(seen)
}

/// Tries the further conditions for tests that are still undecided.
async fn try_rest(
    lab: &Lab,
    conditions: Conditions,
    seen: &mut [(TestIndex, Retried)],
) -> Result<(), OutOfBudget> {
    try_after_all(lab, conditions.tries, seen).await?;
    try_seeds(lab, conditions, seen).await
}

/// Runs tests that always failed after all others, all of them in the same runs, because a suite
/// may take long. A test that passes there once is run as often as in any other condition.
async fn try_after_all(
    lab: &Lab,
    tries: u64,
    seen: &mut [(TestIndex, Retried)],
) -> Result<(), OutOfBudget> {
    let always_fails =
        |seen: &Retried| !is_mixed(seen) && fails_in_both(seen) == Some((true, true));
    let failing: Vec<TestIndex> =
        seen.iter().filter(|(_, seen)| always_fails(seen)).map(|(test, _)| *test).collect();
    let others = lab.suite().tests().filter(|test| !failing.contains(test));
    let mut tests: Vec<TestIndex> = others.collect();
    if tests.is_empty() || failing.is_empty() {
        return Ok(());
    }
    tests.extend(&failing);
    let order = Order::from_distinct(tests);
    for _ in 0..tries {
        let run = lab.run(order.clone()).await?;
        let mut has_passed = false;
        for (test, seen) in seen.iter_mut().filter(|(test, _)| failing.contains(test)) {
            let ended = run.evidence_of(*test);
            add(&mut seen.after_all, ended);
            has_passed |= ended == Some(Evidence::Pass);
        }
        if !has_passed {
            break;
        }
    }
    Ok(())
}

/// Runs tests that are still undecided under other seeds.
async fn try_seeds(
    lab: &Lab,
    conditions: Conditions,
    seen: &mut [(TestIndex, Retried)],
) -> Result<(), OutOfBudget> {
    for seed in 1..=conditions.n_seeds {
        let environment = match conditions.hash_seeds {
            HashSeeds::Varied => Environment::Hashed { seed },
            HashSeeds::Fixed if conditions.choices.is_empty() => return Ok(()),
            HashSeeds::Fixed => Environment::open_choices(seed),
        };
        for (test, seen) in seen.iter_mut() {
            // What the first seeds have shown must not keep others from being asked.
            if asks_for_seeds(&Retried { seeds: Vec::new(), ..seen.clone() }) {
                seen.seeds.push(repeat(lab, *test, environment).await?);
            }
        }
    }
    Ok(())
}

/// What a test does alone under one seed.
async fn repeat(
    lab: &Lab,
    test: TestIndex,
    environment: Environment,
) -> Result<Tally, OutOfBudget> {
    let mut tally = Tally::default();
    for _ in 0..RUNS_PER_SEED {
        let run = lab.run_with(Order::from_distinct([test]), environment, Repetition::Once).await?;
        add(&mut tally, run.last_evidence());
    }
    Ok(tally)
}

/// Counts an attempt if it is evidence.
fn add(tally: &mut Tally, evidence: Option<Evidence>) {
    if let Some(evidence) = evidence {
        tally.add(evidence);
    }
}

/// Whether some condition had both outcomes.
fn is_mixed(seen: &Retried) -> bool {
    let conditions = [seen.alone, seen.again, seen.same_prefix, seen.after_all];
    conditions.iter().chain(&seen.seeds).any(|tally| tally.is_mixed())
}

/// Whether the runs so far leave open what other seeds could answer.
fn asks_for_seeds(seen: &Retried) -> bool {
    let fails_alike = fails(seen.alone) == fails(seen.same_prefix);
    !is_mixed(seen) && fails_alike && fails(seen.after_all) != Some(false)
}

/// Whether it failed alone, and after the same prefix; `None` if one of these was not seen.
fn fails_in_both(seen: &Retried) -> Option<(bool, bool)> {
    fails(seen.alone).zip(fails(seen.same_prefix))
}

/// The verdict by the table above.
fn verdict(seen: &Retried) -> Verdict {
    let Some((alone, prefix)) = fails_in_both(seen) else {
        return Verdict::InsufficientEvidence;
    };
    let by_seed: Vec<bool> = seen.seeds.iter().filter_map(|tally| fails(*tally)).collect();
    match (alone, prefix) {
        _ if is_mixed(seen) => Verdict::NodUndecided,
        (false, true) => Verdict::OdVictim,
        (true, false) => Verdict::OdBrittle,
        (true, true) if fails(seen.after_all) == Some(false) => Verdict::OdBrittle,
        _ if by_seed.iter().any(|fails| *fails != alone) => Verdict::Id,
        (false, false) if fails(seen.again) == Some(true) => Verdict::Nio,
        (false, false) => Verdict::Ud,
        (true, true) => Verdict::AlwaysFailing,
    }
}

/// How sure the verdict is; `None` if the outcome was always the same, since the rate that would
/// have been seen then says more.
fn sure(seen: &Retried, verdict: Verdict) -> Option<f64> {
    match verdict {
        Verdict::OdBrittle if 0 < seen.after_all.attempts => {
            Some(1.0 - fisher(seen.alone, seen.after_all))
        }
        Verdict::OdVictim | Verdict::OdBrittle => Some(1.0 - fisher(seen.alone, seen.same_prefix)),
        Verdict::NodUndecided => Some(1.0),
        Verdict::Nio => Some(1.0 - fisher(seen.alone, seen.again)),
        Verdict::Id => {
            // Each seed repeated its outcome; by chance that happens half of the time.
            let n_seeds = i32::try_from(seen.seeds.len()).unwrap_or(i32::MAX);
            Some(1.0 - 0.5_f64.powi(n_seeds))
        }
        Verdict::OdUnknownRole
        | Verdict::Ndod
        | Verdict::Ndoi
        | Verdict::Env
        | Verdict::Ud
        | Verdict::AlwaysFailing
        | Verdict::InsufficientEvidence
        | Verdict::NotFlaky => None,
    }
}

/// Whether the test always failed; `None` if it was not seen.
fn fails(tally: Tally) -> Option<bool> {
    (0 < tally.attempts).then_some(0 < tally.failures)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally(failures: u64) -> Tally {
        Tally { failures, attempts: 4 }
    }

    fn seen(alone: u64, again: u64, same_prefix: u64, seeds: &[u64]) -> Retried {
        let seeds = seeds.iter().map(|failures| Tally { failures: *failures, attempts: 2 });
        Retried {
            alone: tally(alone),
            again: tally(again),
            same_prefix: tally(same_prefix),
            after_all: Tally::default(),
            seeds: seeds.collect(),
        }
    }

    fn after_all(failures: u64) -> Retried {
        Retried { after_all: tally(failures), ..seen(4, 4, 4, &[]) }
    }

    #[test]
    fn the_whole_table_from_what_was_seen_to_the_verdict() {
        let table = [
            (seen(1, 0, 0, &[]), Verdict::NodUndecided),
            (seen(0, 0, 2, &[]), Verdict::NodUndecided),
            (seen(0, 0, 0, &[0, 1]), Verdict::NodUndecided),
            (seen(0, 0, 4, &[]), Verdict::OdVictim),
            (seen(4, 4, 0, &[]), Verdict::OdBrittle),
            (after_all(0), Verdict::OdBrittle),
            (after_all(1), Verdict::NodUndecided),
            (after_all(4), Verdict::AlwaysFailing),
            (seen(0, 0, 0, &[2, 0, 2]), Verdict::Id),
            (seen(4, 4, 4, &[2, 0, 2]), Verdict::Id),
            (seen(0, 4, 0, &[0, 0]), Verdict::Nio),
            (seen(4, 4, 4, &[2, 2]), Verdict::AlwaysFailing),
            (seen(0, 0, 0, &[0, 0]), Verdict::Ud),
            (Retried::default(), Verdict::InsufficientEvidence),
        ];
        for (seen, expected) in table {
            assert_eq!(verdict(&seen), expected, "{seen:?}");
        }
    }

    #[test]
    fn seeds_are_asked_only_where_they_can_answer() {
        assert!(asks_for_seeds(&seen(4, 4, 4, &[])));
        assert!(asks_for_seeds(&seen(0, 0, 0, &[])));
        assert!(!asks_for_seeds(&seen(0, 0, 4, &[])));
        assert!(!asks_for_seeds(&seen(1, 0, 0, &[])));
        assert!(asks_for_seeds(&after_all(4)));
        assert!(!asks_for_seeds(&after_all(0)));
    }

    #[test]
    fn four_runs_on_either_side_are_enough_to_be_sure() {
        // One of 70 ways to distribute four failures over eight runs, and its mirror image.
        let seen = seen(0, 0, 4, &[]);
        let sure = sure(&seen, Verdict::OdVictim).unwrap();
        assert!((sure - (1.0 - 2.0 / 70.0)).abs() < 1e-12, "{sure}");
    }
}
