//! Does a test depend on choices that the language leaves open, and on which?
//!
//! A test that fails under one seed of perturbed choices may be implementation-dependent, or fail
//! at random. So the same seed is tried again, alternating with one under which it passes (or with
//! nothing perturbed), because failures come in bursts: it must fail under the first every time and
//! under the second never (spec 2.8, steps 2 and 3). Suspects of the same seeds share these runs,
//! then each is tried alone once: what was shown in company counts only for tests that do not need
//! it.
//!
//! Where choices are numbered in the order in which they come up, [`decisive`] finds those that
//! matter. If only the first `k` are perturbed, everything up to choice `k + 1` is the same in
//! every run; so the smallest `k` with which the test fails identifies one choice for certain,
//! whatever the test does afterwards.

use std::ops::{Range, RangeInclusive};
use std::rc::Rc;

use futures_util::future::{join_all, try_join, try_join_all};
use unflake_model::{
    Chosen, Environment, Evidence, Factors, Finding, Look, Order, Repetition, TestIndex, Verdict,
};

use crate::concluding::{Confirmed, finding};
use crate::in_turn::ALONE_CONFIRMED;
use crate::lab::{Lab, OutOfBudget};
use crate::ledger::Run;

/// Everything else is held fixed as in runs with open choices, so that an effect of random numbers
/// is not mistaken for one of the choices.
pub(crate) const NOTHING_PERTURBED: Environment =
    Environment::Perturbed { factors: Factors::NONE, seed: 0 };

/// Choices under which tests failed, and choices under which they passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Contrast {
    pub(crate) failing: Environment,
    pub(crate) passing: Environment,
}

/// Which of these tests fail every time in one environment, and never in the other.
pub(crate) async fn confirm_all(
    lab: Lab,
    tests: Vec<TestIndex>,
    contrast: Contrast,
) -> Vec<Finding> {
    let found = |test: TestIndex, confirmed, ran: Option<&Ran>| Finding {
        fails_under: Some(contrast.failing).filter(|it| *it != Environment::Plain),
        failed_in: ran.map(|ran| ran.failing.id),
        passed_in: ran.map(|ran| ran.passing.id),
        ..finding(&lab, test, Verdict::Id, confirmed)
    };
    let mut rest = tests.clone();
    let mut last = None;
    for _ in 0..ALONE_CONFIRMED {
        if rest.is_empty() {
            break;
        }
        let Ok(ran) = contrast.run(&lab, &rest).await else {
            return rest
                .into_iter()
                .map(|test| found(test, Confirmed::No, last.as_ref()))
                .collect();
        };
        rest.retain(|test| ran.shows(*test));
        last = Some(ran);
    }
    let (lab, found, last) = (&lab, &found, last.as_ref());
    let is_alone = tests.len() == 1;
    let alone = rest.into_iter().map(|test| async move {
        if is_alone {
            return Some(found(test, Confirmed::Yes, last));
        }
        match contrast.run(lab, &[test]).await {
            Ok(ran) => ran.shows(test).then(|| found(test, Confirmed::Yes, Some(&ran))),
            Err(OutOfBudget) => Some(found(test, Confirmed::No, last)),
        }
    });
    join_all(alone).await.into_iter().flatten().collect()
}

/// Whether a test is implementation-dependent: tries seeds of these choices one after the other.
pub async fn seek(
    lab: Lab,
    test: TestIndex,
    factors: Factors,
    mut seeds: Range<u64>,
) -> Result<Option<Finding>, OutOfBudget> {
    let order = Order::from_distinct([test]);
    loop {
        let batch = seeds.by_ref().take(lab.width());
        let batch: Vec<Environment> =
            batch.map(|seed| Environment::Perturbed { factors, seed }).collect();
        if batch.is_empty() {
            return Ok(None);
        }
        let run = |it: &Environment| lab.run_with(order.clone(), *it, Repetition::Once);
        let runs = try_join_all(batch.iter().map(run)).await?;
        let mut ended = batch.into_iter().zip(runs.iter().map(|run| run.evidence_of(test)));
        if let Some((failing, _)) = ended.find(|(_, ended)| *ended == Some(Evidence::Fail)) {
            let contrast = Contrast { failing, passing: NOTHING_PERTURBED };
            let found = confirm_all(lab.clone(), vec![test], contrast).await.pop();
            // What does not recur under the same choices happens at random.
            let random = || finding(&lab, test, Verdict::NodUndecided, Confirmed::Yes);
            return Ok(Some(found.unwrap_or_else(random)));
        }
    }
}

/// Runs of the same tests in both environments.
struct Ran {
    failing: Rc<Run>,
    passing: Rc<Run>,
}

impl Ran {
    fn shows(&self, test: TestIndex) -> bool {
        let both = (self.failing.evidence_of(test), self.passing.evidence_of(test));
        both == (Some(Evidence::Fail), Some(Evidence::Pass))
    }
}

impl Contrast {
    async fn run(self, lab: &Lab, tests: &[TestIndex]) -> Result<Ran, OutOfBudget> {
        let order = Order::from_distinct(tests);
        let run = |environment| lab.run_with(order.clone(), environment, Repetition::Once);
        let (failing, passing) = try_join(run(self.failing), run(self.passing)).await?;
        Ok(Ran { failing, passing })
    }
}

/// An open choice that decides how a test ends, and the code that asked for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecidingChoice {
    /// The number of the choice in the run, counted from 1.
    pub number: u64,
    /// How many choices come up in all.
    pub n: u64,
    /// The stack that asked for it, innermost call first.
    pub stack: Vec<String>,
}

/// How often the answer of [`decided`] is checked.
const DECIDED_TRIES: usize = 3;

/// The choices that decide how a test ends in an environment in which it fails; none if they were
/// not found. The test is run alone with fewer and fewer of the choices of that seed
/// ([`decisive`]). What is left is one choice, or the first and the last of several that matter
/// together; for each, a run records the stack that asked for it.
///
/// Limits: choices are numbered as they come up. If threads of a test race for them, the numbers
/// are uncertain, and no choice is named.
pub async fn decided(
    lab: &Lab,
    test: TestIndex,
    environment: Environment,
) -> Result<Vec<DecidingChoice>, OutOfBudget> {
    let run = async |choices: Option<RangeInclusive<u64>>| {
        let look = Look { choices, ..Look::NOTHING };
        lab.look(Order::from_distinct([test]), environment, look).await
    };
    let all = run(None).await?;
    // They are not counted here, or they are not why the test fails.
    let Some(Chosen { n, .. }) = all.seen.chosen else { return Ok(Vec::new()) };
    if all.last_evidence() != Some(Evidence::Fail) {
        return Ok(Vec::new());
    }
    let fails = async |first: u64, last: u64| {
        Ok(run(Some(first..=last)).await?.last_evidence() == Some(Evidence::Fail))
    };
    let Some((first, last)) = decisive(n, &fails).await? else { return Ok(Vec::new()) };
    for _ in 0..DECIDED_TRIES {
        if !fails(first, last).await? {
            return Ok(Vec::new());
        }
    }
    let mut numbers = vec![first, last];
    numbers.dedup();
    let mut deciding = Vec::new();
    for number in numbers {
        let stack = run(Some(number..=number)).await?.seen.chosen.clone().unwrap_or_default().stack;
        deciding.push(DecidingChoice { number, n, stack });
    }
    Ok(deciding)
}

/// The first and last of the consecutive choices `1..=n` that must be perturbed for the test to
/// fail; `None` if it does not fail with all of them. An error in a question ends the search.
pub async fn decisive<E>(
    n: u64,
    mut fails: impl AsyncFnMut(u64, u64) -> Result<bool, E>,
) -> Result<Option<(u64, u64)>, E> {
    if n == 0 || !fails(1, n).await? {
        return Ok(None);
    }
    // Invariant: the first `low` are not enough, the first `high` are.
    let (mut low, mut high) = (0, n);
    while low + 1 < high {
        let middle = low.midpoint(high);
        if fails(1, middle).await? {
            high = middle;
        } else {
            low = middle;
        }
    }
    let last = high;
    if fails(last, last).await? {
        return Ok(Some((last, last)));
    }
    // Invariant: those from `first` on are enough, those from `late` on are not.
    let (mut first, mut late) = (1, last);
    while first + 1 < late {
        let middle = first.midpoint(late);
        if fails(middle, last).await? {
            first = middle;
        } else {
            late = middle;
        }
    }
    Ok(Some((first, last)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_executor::block_on;
    use std::convert::Infallible;

    fn search(n: u64, needed: &[u64]) -> (Option<(u64, u64)>, usize) {
        let mut n_questions = 0;
        let Ok(found) = block_on(decisive(n, async |first, last| {
            n_questions += 1;
            Ok::<_, Infallible>(needed.iter().all(|it| (first..=last).contains(it)))
        }));
        (found, n_questions)
    }

    #[test]
    fn the_one_choice_is_found_in_as_many_questions_as_its_number_has_digits() {
        for n in [1, 2, 3, 10, 1000] {
            for needed in 1..=n {
                let (found, n_questions) = search(n, &[needed]);
                assert_eq!(found, Some((needed, needed)), "{needed} of {n}");
                assert!(n_questions <= 12, "{n_questions} for {needed} of {n}");
            }
        }
    }

    #[test]
    fn choices_that_are_needed_together_are_first_and_last_of_the_answer() {
        assert_eq!(search(50, &[7, 30]).0, Some((7, 30)));
        assert_eq!(search(50, &[1, 2]).0, Some((1, 2)));
        assert_eq!(search(50, &[3, 20, 50]).0, Some((3, 50)));
    }

    #[test]
    fn what_does_not_fail_with_all_of_them_has_no_decisive_choice() {
        assert_eq!(search(0, &[]).0, None);
        assert_eq!(search(20, &[21]).0, None);
    }

    #[test]
    fn a_question_that_fails_ends_the_search() {
        let mut n_questions = 0;
        let found = block_on(decisive(1000, async |_, _| {
            n_questions += 1;
            if n_questions < 3 { Ok(true) } else { Err("interrupted") }
        }));
        assert_eq!(found, Err("interrupted"));
        assert_eq!(n_questions, 3);
    }
}
