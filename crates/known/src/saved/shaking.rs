//! What shaking a test showed, as text that can be read back and shown again.
//!
//! It follows the rules of [`super`]: keys are only ever added, and a text of a newer version is
//! not half understood.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use unflake_model::{Confidence, Decides, Factor, Factors, RootCause, Spent, Tally};

use crate::shaking::{Plainly, Shaking, Shook};
use crate::{Confirmation, Ended, Failure, Origin, Warning};

/// The version of the format.
const VERSION: u32 = 1;

#[derive(Serialize, Deserialize)]
struct Saved {
    /// Distinguishes it from the findings of other campaigns.
    shake: u32,
    test: String,
    fixed: (u64, u64),
    factors: Vec<SavedShook>,
    screened: Vec<(String, (u64, u64))>,
    refused: Vec<(String, String)>,
    warnings: Vec<Warning>,
    spent: (u64, u64, u64),
    wall_micros: u64,
    ended: String,
    confidence: f64,
    runner: String,
    seed: u64,
    command: String,
    campaign: Option<String>,
}

#[derive(Serialize, Deserialize)]
struct SavedShook {
    factors: Vec<String>,
    how: Vec<String>,
    seed: u64,
    under_seed: (u64, u64),
    with: (u64, u64),
    without: (u64, u64),
    p_value: f64,
    decides: String,
    makes_it_fail: bool,
    cause: Option<String>,
    took_micros: (Option<u64>, Option<u64>),
    failure: Option<(String, String)>,
    run: Option<String>,
    replayed: (u32, u32),
    plain: Option<(String, u32, u32)>,
}

/// The result as a text.
pub fn write(shaking: &Shaking) -> String {
    let origin = &shaking.origin;
    let saved = Saved {
        shake: VERSION,
        test: shaking.test.to_string(),
        fixed: tally(shaking.fixed),
        factors: shaking.exhibits.iter().map(SavedShook::of).collect(),
        screened: shaking
            .screened
            .iter()
            .map(|(factor, seen)| (factor.slug().to_owned(), tally(*seen)))
            .collect(),
        refused: shaking
            .refused
            .iter()
            .map(|(factor, why)| (factor.slug().to_owned(), why.clone()))
            .collect(),
        warnings: shaking.warnings.clone(),
        spent: (shaking.spent.runs, shaking.spent.attempts, micros(shaking.spent.time)),
        wall_micros: micros(shaking.wall_time),
        ended: shaking.ended.slug().to_owned(),
        confidence: shaking.confidence.get(),
        runner: format!("{} {}", origin.runner, origin.runner_version),
        seed: origin.seed,
        command: origin.command.clone(),
        campaign: origin.campaign.clone(),
    };
    serde_json::to_string(&saved).expect("strings and finite numbers only")
}

/// Reads the result back; `None` if the text is of another kind or version, or damaged.
pub fn read(text: &str) -> Option<Shaking> {
    let saved: Saved = serde_json::from_str(text).ok()?;
    if VERSION < saved.shake {
        return None;
    }
    let screened = saved.screened.into_iter();
    let screened = screened.map(|(name, seen)| Some((name.parse().ok()?, restored(seen))));
    let refused = saved.refused.into_iter();
    let refused = refused.map(|(name, why)| Some((name.parse().ok()?, why)));
    let (runs, attempts, time) = saved.spent;
    Some(Shaking {
        test: saved.test.parse().ok()?,
        fixed: restored(saved.fixed),
        exhibits: saved.factors.into_iter().map(SavedShook::restore).collect::<Option<_>>()?,
        screened: screened.collect::<Option<_>>()?,
        refused: refused.collect::<Option<_>>()?,
        warnings: saved.warnings,
        spent: Spent { runs, attempts, time: Duration::from_micros(time) },
        wall_time: Duration::from_micros(saved.wall_micros),
        ended: Ended::ALL.into_iter().find(|ended| ended.slug() == saved.ended)?,
        confidence: Confidence::new(saved.confidence).ok()?,
        origin: Origin::new(&saved.runner, saved.seed, &saved.command, saved.campaign),
    })
}

impl SavedShook {
    fn of(shook: &Shook) -> Self {
        let failure = shook.failure.as_ref();
        let plain = shook.plain.as_ref();
        Self {
            factors: shook.factors.iter().map(|factor| factor.slug().to_owned()).collect(),
            how: shook.how.clone(),
            seed: shook.seed,
            under_seed: tally(shook.under_seed),
            with: tally(shook.with),
            without: tally(shook.without),
            p_value: shook.p_value,
            decides: shook.decides.slug().to_owned(),
            makes_it_fail: shook.makes_it_fail,
            cause: shook.cause.map(|cause| cause.slug().to_owned()),
            took_micros: (shook.took.0.map(micros), shook.took.1.map(micros)),
            failure: failure.map(|it| (it.message.clone(), it.text.clone())),
            run: shook.run.clone(),
            replayed: (shook.replayed.as_predicted, shook.replayed.tries),
            plain: plain.map(|it| (it.command.clone(), it.tried.as_predicted, it.tried.tries)),
        }
    }

    fn restore(self) -> Option<Shook> {
        let factors = self.factors.iter().map(|name| name.parse::<Factor>().ok());
        let decides = [Decides::Nothing, Decides::Seed, Decides::Chance];
        let tried = |as_predicted, tries| Confirmation { as_predicted, tries, others: 0 };
        let cause = match &self.cause {
            Some(slug) => Some(slug.parse::<RootCause>().ok()?),
            None => None,
        };
        let took = self.took_micros;
        Some(Shook {
            factors: factors.collect::<Option<Factors>>()?,
            how: self.how,
            seed: self.seed,
            under_seed: restored(self.under_seed),
            with: restored(self.with),
            without: restored(self.without),
            p_value: self.p_value,
            decides: decides.into_iter().find(|it| it.slug() == self.decides)?,
            makes_it_fail: self.makes_it_fail,
            cause,
            took: (took.0.map(Duration::from_micros), took.1.map(Duration::from_micros)),
            failure: self.failure.map(|(message, text)| Failure { message, text }),
            run: self.run,
            replayed: tried(self.replayed.0, self.replayed.1),
            plain: self.plain.map(|(command, as_predicted, tries)| Plainly {
                command,
                tried: tried(as_predicted, tries),
            }),
        })
    }
}

fn tally(tally: Tally) -> (u64, u64) {
    (tally.failures, tally.attempts)
}

fn restored((failures, attempts): (u64, u64)) -> Tally {
    Tally { failures, attempts }
}

/// In microseconds, at most `u64::MAX`, which is more than half a million years.
fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}
