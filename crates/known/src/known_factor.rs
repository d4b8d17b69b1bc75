//! What an earlier `unflake shake` found out about a test, to be shown with other answers about it.

use unflake_model::{Factors, RootCause, Tally};

use crate::shaking::{Shaking, Shook};

/// A circumstance that changes how a test ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownFactor {
    /// The factor, or several together.
    pub factors: Factors,
    /// What each factor was set to, in words.
    pub how: Vec<String>,
    /// How the test ended under the very seed that showed it. Another seed may choose a date or a
    /// time zone in which nothing happens.
    pub with: Tally,
    /// How it ended with everything held fixed.
    pub without: Tally,
    /// Whether the circumstance makes the test fail, not pass.
    pub makes_it_fail: bool,
    /// The root cause it suggests, if known.
    pub cause: Option<RootCause>,
    /// The command that showed it every time, if there is one.
    pub command: Option<String>,
    /// The campaign that found it.
    pub campaign: String,
    /// Whether the code has changed since.
    pub is_of_older_code: bool,
}

impl KnownFactor {
    /// Everything that shaking the test in this campaign showed it to depend on.
    pub fn all(shaking: &Shaking, campaign: &str, is_of_older_code: bool) -> Vec<Self> {
        let one = |shook: &Shook| Self {
            factors: shook.factors,
            how: shook.how.clone(),
            with: if shook.under_seed.attempts == 0 { shook.with } else { shook.under_seed },
            without: shook.without,
            makes_it_fail: shook.makes_it_fail,
            cause: shook.cause,
            command: command(shook),
            campaign: campaign.to_owned(),
            is_of_older_code,
        };
        shaking.exhibits.iter().map(one).collect()
    }
}

/// The shortest command that showed it every time it was tried.
fn command(shook: &Shook) -> Option<String> {
    let replay = shook.run.as_ref().filter(|_| shook.replayed.is_complete());
    let replay = replay.map(|run| format!("unflake replay {run}"));
    let plain = || shook.plain.as_ref().filter(|plain| plain.tried.is_complete());
    replay.or_else(|| plain().map(|plain| plain.command.clone()))
}
