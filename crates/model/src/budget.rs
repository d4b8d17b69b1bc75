//! What an answer may cost, and how sure it must be.

use std::time::Duration;

/// How sure an answer must be: a probability strictly between 0 and 1.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Confidence(f64);

/// The number is not a probability that can be asked for.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error("confidence {value} is not between 0 and 1 (both excluded); try 0.95")]
pub struct InvalidConfidence {
    /// The rejected number.
    pub value: f64,
}

impl Confidence {
    /// The customary 95 %.
    pub const USUAL: Self = Self(0.95);

    /// Checks that the value lies strictly between 0 and 1.
    pub fn new(value: f64) -> Result<Self, InvalidConfidence> {
        if 0.0 < value && value < 1.0 { Ok(Self(value)) } else { Err(InvalidConfidence { value }) }
    }

    /// The probability, strictly between 0 and 1.
    pub fn get(self) -> f64 {
        self.0
    }

    /// The accepted probability of being wrong: one minus the confidence.
    pub fn error(self) -> f64 {
        1.0 - self.0
    }
}

/// What a campaign may spend. A limit that is `None` does not bind.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Budget {
    runs_max: Option<u64>,
    attempts_max: Option<u64>,
    time_max: Option<Duration>,
    confidence: Confidence,
}

/// A budget too small for any run: one of its limits is zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a budget of 0 {limit} allows no run; give at least 1 or leave the limit out")]
pub struct InvalidBudget {
    /// The limit that is zero.
    pub limit: Limit,
}

/// The limits of a budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// How often an order is run.
    Runs,
    /// How often a test is executed.
    Attempts,
    /// Time, summed over all workers.
    Time,
}

impl std::fmt::Display for Limit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Runs => "runs",
            Self::Attempts => "attempts",
            Self::Time => "seconds",
        })
    }
}

/// What a campaign has spent so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    /// How often an order was run.
    pub runs: u64,
    /// How often a test was executed.
    pub attempts: u64,
    /// Time, summed over all workers.
    pub time: Duration,
}

impl Budget {
    /// No limit but the confidence asked for.
    pub fn unlimited(confidence: Confidence) -> Self {
        Self { runs_max: None, attempts_max: None, time_max: None, confidence }
    }

    /// Limits how many orders are run.
    pub fn with_runs(self, runs_max: u64) -> Result<Self, InvalidBudget> {
        nonzero(runs_max, Limit::Runs)?;
        Ok(Self { runs_max: Some(runs_max), ..self })
    }

    /// Limits how many times tests are executed.
    pub fn with_attempts(self, attempts_max: u64) -> Result<Self, InvalidBudget> {
        nonzero(attempts_max, Limit::Attempts)?;
        Ok(Self { attempts_max: Some(attempts_max), ..self })
    }

    /// Limits the time, summed over all workers.
    pub fn with_time(self, time_max: Duration) -> Result<Self, InvalidBudget> {
        nonzero(u64::from(!time_max.is_zero()), Limit::Time)?;
        Ok(Self { time_max: Some(time_max), ..self })
    }

    /// The same limits, each reduced to this share of itself.
    #[must_use]
    pub fn share(self, numerator: u32, denominator: u32) -> Self {
        let reduce =
            |max: Option<u64>| max.map(|n| n / u64::from(denominator) * u64::from(numerator));
        Self {
            runs_max: reduce(self.runs_max),
            attempts_max: reduce(self.attempts_max),
            time_max: self.time_max.map(|time| time / denominator * numerator),
            confidence: self.confidence,
        }
    }

    /// The same limits, each raised by what had been spent earlier.
    #[must_use]
    pub fn raised_by(self, spent: Spent) -> Self {
        Self {
            runs_max: self.runs_max.map(|max| max.saturating_add(spent.runs)),
            attempts_max: self.attempts_max.map(|max| max.saturating_add(spent.attempts)),
            time_max: self.time_max.map(|max| max.saturating_add(spent.time)),
            confidence: self.confidence,
        }
    }

    /// How sure answers must be.
    pub fn confidence(&self) -> Confidence {
        self.confidence
    }

    /// The first limit that spending this much would exceed, if any.
    pub fn exceeded_by(&self, spent: Spent) -> Option<Limit> {
        let over = |max: Option<u64>, value: u64| max.is_some_and(|max| max < value);
        if over(self.runs_max, spent.runs) {
            Some(Limit::Runs)
        } else if over(self.attempts_max, spent.attempts) {
            Some(Limit::Attempts)
        } else if self.time_max.is_some_and(|max| max < spent.time) {
            Some(Limit::Time)
        } else {
            None
        }
    }
}

fn nonzero(value: u64, limit: Limit) -> Result<(), InvalidBudget> {
    if value == 0 { Err(InvalidBudget { limit }) } else { Ok(()) }
}

impl Spent {
    /// The sum of both.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            runs: self.runs + other.runs,
            attempts: self.attempts + other.attempts,
            time: self.time + other.time,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zero_budgets_and_impossible_confidences_are_refused_by_value() {
        let budget = Budget::unlimited(Confidence::USUAL);
        assert_eq!(
            budget.with_runs(0).unwrap_err().to_string(),
            "a budget of 0 runs allows no run; give at least 1 or leave the limit out"
        );
        assert_eq!(budget.with_attempts(0).unwrap_err().limit, Limit::Attempts);
        assert_eq!(budget.with_time(Duration::ZERO).unwrap_err().limit, Limit::Time);
        for value in [0.0, 1.0, -0.5, f64::NAN] {
            assert!(Confidence::new(value).is_err(), "{value}");
        }
    }

    #[test]
    fn a_limit_binds_only_once_it_is_passed() {
        let budget = Budget::unlimited(Confidence::USUAL).with_runs(2).unwrap();
        let spent = |runs| Spent { runs, attempts: 1 << 40, time: Duration::MAX };
        assert_eq!(budget.exceeded_by(spent(2)), None);
        assert_eq!(budget.exceeded_by(spent(3)), Some(Limit::Runs));
    }

    #[test]
    fn what_was_spent_before_is_granted_on_top() {
        let budget = Budget::unlimited(Confidence::USUAL).with_runs(2).unwrap();
        let before = Spent { runs: 40, attempts: 9, time: Duration::from_secs(1) };
        let spent = |runs| Spent { runs, ..Spent::default() };
        assert_eq!(budget.raised_by(before).exceeded_by(spent(42)), None);
        assert_eq!(budget.raised_by(before).exceeded_by(spent(43)), Some(Limit::Runs));
    }
}
