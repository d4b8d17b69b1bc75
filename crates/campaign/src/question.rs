//! What is to be found out, and at what price?

use std::time::Duration;

use unflake_detect::Depth;
use unflake_detect::idflakies::Configuration;
use unflake_detect::reruns::schedule::Terms;
use unflake_model::{Budget, Suite, TestId, TestIndex};
use unflake_stats::rate::Rate;

use crate::begin::Keep;
use crate::error::CampaignError;
use crate::history::similar;

/// All tests are watched once where that takes less than this part of the time there is.
const WATCHING_SHARE: u32 = 8;

/// What is to be found out.
#[derive(Clone, Debug)]
pub enum Question {
    /// Which tests are flaky?
    Suite,
    /// Which come out otherwise in rounds of one kind of order, as iDFlakies asks?
    Rounds(Configuration, u64),
    /// Which fail at random, looked for on these terms?
    Reruns(Terms),
    /// What about this one?
    Test(TestId),
}

/// What to find out, and at what price.
#[derive(Clone, Debug)]
pub struct Request {
    /// What.
    pub question: Question,
    /// How much of it.
    pub depth: Depth,
    /// At what price, and how sure.
    pub budget: Budget,
    /// Tests with at least this flake rate are to be found.
    pub flake_rate_min: Rate,
    /// The seed of all orders.
    pub seed: u64,
    /// When to stop whatever is running: the budget cannot foresee a test that hangs.
    pub wall_max: Option<Duration>,
    /// Where the campaign is kept; nowhere without.
    pub keep: Option<Keep>,
    /// The command line, as it was typed.
    pub command: String,
}

impl Request {
    /// Whether a pass that is watched is worth its time: it takes that of one or two orders, and
    /// there must be some left for orders that follow from it.
    pub(crate) fn is_worth_watching(&self, suite: &Suite) -> bool {
        let once: Duration = suite.tests().map(|test| suite.duration(test)).sum();
        let is_affordable = self.wall_max.is_none_or(|max| once * WATCHING_SHARE < max);
        matches!(self.question, Question::Suite) && is_affordable
    }

    /// The question with everything that changes the answer.
    pub(crate) fn in_full(&self) -> String {
        let what = match &self.question {
            Question::Suite => "detect".to_owned(),
            Question::Rounds(kind, n) => format!("{n} rounds of {kind:?}"),
            Question::Reruns(terms) => format!("reruns at {:?}", terms.price),
            Question::Test(id) => format!("why {id}"),
        };
        let (depth, seed) = (self.depth, self.seed);
        let (rate, sure) = (self.flake_rate_min.get(), self.budget.confidence().get());
        format!("{what}; depth {depth:?}, flake rate {rate}, confidence {sure}, seed {seed}")
    }
}

/// The test in question, if it is about one.
pub fn target(question: &Question, suite: &Suite) -> Result<Option<TestIndex>, CampaignError> {
    let Question::Test(id) = question else { return Ok(None) };
    // A path that looks like an option is typed with a dot before it.
    let plain = id.as_str().strip_prefix("./").and_then(|plain| plain.parse().ok());
    let found = suite.find(id).or_else(|| suite.find(plain.as_ref()?));
    found
        .map(Some)
        .ok_or_else(|| CampaignError::UnknownTest { id: id.clone(), similar: similar(suite, id) })
}
