//! What to find out, and at what price.

use std::time::Duration;

use unflake_detect::Depth;
use unflake_detect::idflakies::Configuration;
use unflake_detect::reruns::schedule::Terms;
use unflake_model::{Budget, Suite, TestId, TestIndex};
use unflake_stats::rate::Rate;

use crate::begin::Keep;
use crate::error::CampaignError;
use crate::history::similar;

/// All tests are watched once if that takes less than this fraction of the available time.
const WATCHING_SHARE: u32 = 8;

/// What to find out.
#[derive(Clone, Debug)]
pub enum Question {
    /// Which tests are flaky?
    Suite,
    /// Which tests end differently in rounds of one kind of order, as iDFlakies asks?
    Rounds(Configuration, u64),
    /// Which tests fail at random, searched for on these terms?
    Reruns(Terms),
    /// Is this test flaky, and why?
    Test(TestId),
}

/// What to find out, and at what price.
#[derive(Clone, Debug)]
pub struct Request {
    /// The question to answer.
    pub question: Question,
    /// How thoroughly to look.
    pub depth: Depth,
    /// What it may cost, and how sure the answer must be.
    pub budget: Budget,
    /// Tests with at least this flake rate should be found.
    pub flake_rate_min: Rate,
    /// The seed of all orders.
    pub seed: u64,
    /// When to stop whatever is running: the budget cannot foresee a test that hangs.
    pub wall_max: Option<Duration>,
    /// Where the campaign is kept; `None` keeps it nowhere.
    pub keep: Option<Keep>,
    /// The command line, as it was typed.
    pub command: String,
}

impl Request {
    /// Whether a watched run is worth its time: it takes as long as one or two orders, and must
    /// leave time for the orders that follow from it.
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

/// The test in question, if the question is about one test.
pub fn target(question: &Question, suite: &Suite) -> Result<Option<TestIndex>, CampaignError> {
    let Question::Test(id) = question else { return Ok(None) };
    // A path that looks like an option has to be typed with a dot before it.
    let plain = id.as_str().strip_prefix("./").and_then(|plain| plain.parse().ok());
    let found = suite.find(id).or_else(|| suite.find(plain.as_ref()?));
    found
        .map(Some)
        .ok_or_else(|| CampaignError::UnknownTest { id: id.clone(), similar: similar(suite, id) })
}
