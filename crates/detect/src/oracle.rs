//! "Does this prefix have the effect?" answered by experiment, with three possible answers.
//!
//! The *effect* is that the target ends differently than it does alone: a victim fails, a brittle
//! passes. A deterministic target answers with one run. A noisy one (it fails at some rate alone,
//! and at another after the prefix that was seen to matter) is asked repeatedly until Wald's
//! sequential probability ratio test decides between the two rates.
//!
//! **The error bound.** The `j`-th question of a search may be answered wrongly with probability at
//! most `error / (j (j + 1))`; the sum over any number of questions is at most `error`. The bound
//! holds for prefixes whose rate is not strictly between the two rates tested, which are set a
//! quarter of the way inside the measured ones.
//!
//! Every earlier run counts: the tally of a prefix starts with what the ledger holds. And the
//! assumption of determinism is checked all the time: as soon as any prefix shows both outcomes,
//! the answer is [`Stop::Contradiction`], and the search starts again as a noisy one.

use std::cell::Cell;

use futures_util::future::try_join_all;
use unflake_model::{Evidence, Order, OutcomeKind, Tally, TestIndex};

use crate::lab::{Lab, OutOfBudget};

/// What experiments say about a prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The prefix has the effect.
    Yes,
    /// The prefix does not have the effect.
    No,
    /// The target gave no clear evidence: its prefix crashes, it is skipped, or its rate lies
    /// between the two hypotheses. Never to be mistaken for "no".
    Unsure,
}

/// Why a search ended early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The budget does not cover another question.
    OutOfBudget,
    /// A target assumed to be deterministic showed both outcomes after the same prefix.
    Contradiction,
}

impl From<OutOfBudget> for Stop {
    fn from(OutOfBudget: OutOfBudget) -> Self {
        Self::OutOfBudget
    }
}

/// How the target is assumed to behave.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Manner {
    /// It always ends the same way alone; the effect is that it always ends the other way.
    Deterministic {
        /// How it ends alone.
        alone: Evidence,
    },
    /// It fails at one rate without the effect and at another with it.
    Noisy {
        /// Failure rate without the effect.
        without: f64,
        /// Failure rate with the effect.
        with: f64,
    },
}

/// Runs after which a question that is still open counts as [`Answer::Unsure`].
const ATTEMPTS_MAX: u64 = 200;

/// Runs without evidence (not run, skipped) after which a prefix is given up.
const MUTE_MAX: u64 = 2;

/// Answers questions about the prefixes of one target.
pub struct Oracle {
    lab: Lab,
    target: TestIndex,
    manner: Manner,
    error: f64,
    n_questions: Cell<u64>,
}

impl Oracle {
    /// An oracle for a target that behaves in this manner; the probability of any wrong answer is
    /// at most `error` in total.
    pub fn new(lab: Lab, target: TestIndex, manner: Manner, error: f64) -> Self {
        lab.watch(target);
        Self { lab, target, manner, error, n_questions: Cell::new(0) }
    }

    /// The test in question.
    pub fn target(&self) -> TestIndex {
        self.target
    }

    /// The lab that runs experiments.
    pub fn lab(&self) -> &Lab {
        &self.lab
    }

    /// Tests to run before the target, in an order that the runner can run.
    pub(crate) fn arranged(&self, prefix: &[TestIndex]) -> Vec<TestIndex> {
        self.lab.suite().arranged(prefix, self.target)
    }

    /// Whether the target is assumed to be deterministic, so that every run is proof.
    pub fn is_deterministic(&self) -> bool {
        matches!(self.manner, Manner::Deterministic { .. })
    }

    /// How a deterministic target ends if the prefix has the effect.
    pub(crate) fn effect(&self) -> Option<Evidence> {
        match self.manner {
            Manner::Deterministic { alone: Evidence::Pass } => Some(Evidence::Fail),
            Manner::Deterministic { alone: Evidence::Fail } => Some(Evidence::Pass),
            Manner::Noisy { .. } => None,
        }
    }

    /// Whether a deterministic target that ends like this shows the effect; `None` if the outcome
    /// says nothing.
    pub(crate) fn is_effect(&self, outcome: OutcomeKind) -> Option<bool> {
        match self.manner {
            Manner::Deterministic { alone } => outcome.evidence().map(|ended| ended != alone),
            Manner::Noisy { .. } => None,
        }
    }

    /// Whether runs so far have shown that the prefix does not have the effect.
    pub(crate) fn has_shown_no_effect(&self, prefix: &[TestIndex]) -> bool {
        let tally = self.lab.tally_after(&self.arranged(prefix), self.target);
        self.is_deterministic() && self.decide(tally, self.error) == Ok(Some(Answer::No))
    }

    /// Whether the prefix has the effect.
    pub async fn ask(&self, prefix: &[TestIndex]) -> Result<Answer, Stop> {
        self.ask_at_least(prefix, 1).await
    }

    /// Like [`Oracle::ask`], with at least `n` runs behind the answer.
    pub async fn ask_at_least(&self, prefix: &[TestIndex], n: u64) -> Result<Answer, Stop> {
        let prefix = &self.arranged(prefix);
        let number = self.n_questions.get() + 1;
        self.n_questions.set(number);
        let error = self.error / (number * (number + 1)) as f64;
        let mut mute = 0;
        let mut is_put = false;
        loop {
            let tally = self.lab.tally_after(prefix, self.target);
            let decision = if tally.attempts < n { None } else { self.decide(tally, error)? };
            if let Some(answer) = decision {
                return Ok(answer);
            }
            if ATTEMPTS_MAX <= tally.attempts || MUTE_MAX <= mute {
                return Ok(Answer::Unsure);
            }
            if !std::mem::replace(&mut is_put, true) {
                self.lab.count_question();
            }
            let n_runs = self.n_runs_to_ask(tally, n, error);
            self.repeat(prefix, n_runs).await?;
            if self.lab.tally_after(prefix, self.target) == tally {
                mute += n_runs;
            }
        }
    }

    /// Asks all questions at once, so that many workers can answer.
    pub async fn ask_all(&self, prefixes: &[Vec<TestIndex>]) -> Result<Vec<Answer>, Stop> {
        try_join_all(prefixes.iter().map(|prefix| self.ask(prefix))).await
    }

    /// Runs the prefix and the target this many times.
    pub async fn repeat(&self, prefix: &[TestIndex], n: u64) -> Result<(), OutOfBudget> {
        let order = order_of(prefix, self.target);
        try_join_all((0..n).map(|_| self.lab.run(order.clone()))).await?;
        Ok(())
    }

    fn decide(&self, tally: Tally, error: f64) -> Result<Option<Answer>, Stop> {
        match self.manner {
            Manner::Deterministic { alone } => {
                if tally.is_mixed() {
                    return Err(Stop::Contradiction);
                }
                let ended = if tally.failures == 0 { Evidence::Pass } else { Evidence::Fail };
                Ok(match tally.attempts {
                    0 => None,
                    _ if ended == alone => Some(Answer::No),
                    _ => Some(Answer::Yes),
                })
            }
            Manner::Noisy { .. } => {
                let weight = self.weight_of_effect(tally);
                let bound = ((1.0 - error) / error).ln();
                Ok(if bound <= weight {
                    Some(Answer::Yes)
                } else if weight <= -bound {
                    Some(Answer::No)
                } else {
                    None
                })
            }
        }
    }

    /// The log-likelihood ratio of "has the effect" against "does not have it" (Wald 1945).
    fn weight_of_effect(&self, tally: Tally) -> f64 {
        let (per_failure, per_pass) = self.weights();
        tally.failures as f64 * per_failure + tally.passes() as f64 * per_pass
    }

    fn weights(&self) -> (f64, f64) {
        let Manner::Noisy { without, with } = self.manner else {
            return (0.0, 0.0);
        };
        let inside = (with - without) / 4.0;
        let (without, with) = (clamp(without + inside), clamp(with - inside));
        ((with / without).ln(), ((1.0 - with) / (1.0 - without)).ln())
    }

    /// The smallest number of further runs that could decide: all of them may run at once.
    fn n_runs_to_ask(&self, tally: Tally, n: u64, error: f64) -> u64 {
        let missing = n.saturating_sub(tally.attempts);
        let needed = match self.manner {
            Manner::Deterministic { .. } => 1,
            Manner::Noisy { .. } => {
                let (per_failure, per_pass) = self.weights();
                let step = per_failure.abs().max(per_pass.abs());
                let bound = ((1.0 - error) / error).ln();
                let distance = bound - self.weight_of_effect(tally).abs();
                whole_runs(distance / step)
            }
        };
        missing.max(needed).clamp(1, ATTEMPTS_MAX - tally.attempts.min(ATTEMPTS_MAX - 1))
    }
}

/// The prefix followed by the target.
pub(crate) fn order_of(prefix: &[TestIndex], target: TestIndex) -> Order {
    let tests: Vec<TestIndex> = prefix.iter().copied().chain([target]).collect();
    Order::from_distinct(tests)
}

/// A rate at which both outcomes remain possible, so that no single run is taken for proof.
fn clamp(rate: f64) -> f64 {
    rate.clamp(0.01, 0.99)
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "clamped to a small whole number first"
)]
fn whole_runs(runs: f64) -> u64 {
    runs.ceil().clamp(1.0, ATTEMPTS_MAX as f64) as u64
}
