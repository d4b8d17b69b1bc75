//! A finding with everything that was made of it: commands, confirmation, failure, state, choices.

use unflake_model::{Confirmation, Finding, OutcomeKind, RunId, StateKind, TestIndex};

use crate::KnownFactor;

/// A finding, with what was made of it.
#[derive(Clone, Debug)]
pub struct Exhibit {
    /// The finding.
    pub finding: Finding,
    /// Commands to paste into a shell, which show the effect with the project's own runner.
    pub reproduce: Vec<String>,
    /// What these commands showed when they were tried, without us in the process.
    pub plain: PlainAnswer,
    /// How it failed, once.
    pub failure: Option<Failure>,
    /// Where the tests share state, as far as that is known.
    pub state: Vec<State>,
    /// Which open choices it depends on, as far as that is known: one, or the first and the last
    /// of several that matter together.
    pub choices: Vec<Choice>,
    /// What an earlier `shake` found to change how it ends.
    pub factors: Vec<KnownFactor>,
    /// How it ended in the original order, and an order in which it ended otherwise.
    pub seen: Option<(Seen, Seen)>,
}

/// How a test ended in an order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// How.
    pub outcome: OutcomeKind,
    /// The order, up to the test.
    pub order: Vec<TestIndex>,
    /// In which run.
    pub run: RunId,
}

/// A choice that the language leaves open, such as the order of a set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// What of the language is asked: `java.util.HashMap$KeySet.iterator`.
    pub api: String,
    /// Who asks: `com.acme.Receipt.text(Receipt.java:28)`.
    pub place: String,
    /// The line of the test that led there, if that is another place.
    pub test: Option<String>,
    /// Its number among all choices of the run, from 1.
    pub number: u64,
    /// How many there were.
    pub n: u64,
}

/// What the project's own runner says about a finding. One value, so that what it shows never
/// stands beside that it could not be asked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum PlainAnswer {
    /// Nothing: it was not asked.
    #[default]
    NotAsked,
    /// Nothing: it could not be asked, for this reason.
    Refused(String),
    /// This.
    Said(Confirmation),
}

impl PlainAnswer {
    /// What it showed, if it was asked.
    pub fn said(&self) -> Option<Confirmation> {
        match self {
            Self::Said(confirmation) => Some(*confirmation),
            Self::NotAsked | Self::Refused(_) => None,
        }
    }

    /// Whether it was asked, and showed what was found every time.
    pub fn is_shown(&self) -> bool {
        self.said().is_some_and(Confirmation::is_complete)
    }
}

impl From<Result<Option<Confirmation>, String>> for PlainAnswer {
    fn from(answer: Result<Option<Confirmation>, String>) -> Self {
        match answer {
            Ok(Some(confirmation)) => Self::Said(confirmation),
            Ok(None) => Self::NotAsked,
            Err(reason) => Self::Refused(reason),
        }
    }
}

/// How an attempt failed, in the runner's words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The short form.
    pub message: String,
    /// The long form: traceback, captured output.
    pub text: String,
}

/// A place that tests share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct State {
    /// The place, as the language spells it: `shop.config.SETTINGS['currency']`.
    pub place: String,
    /// What sort of place it is.
    pub kind: StateKind,
    /// What was there before the tests it depends on, if anything was.
    pub before: Option<String>,
    /// What they left there, if anything.
    pub after: Option<String>,
}

impl Exhibit {
    /// Whether the finding was put to the test again and nothing contradicted it since. Of one that
    /// depends on the order the commands must have shown it. One that fails at random is confirmed
    /// also where the plain runner has shown both.
    pub fn is_confirmed(&self) -> bool {
        let is_mixed = |Confirmation { as_predicted, tries, .. }: Confirmation| {
            0 < as_predicted && as_predicted < tries
        };
        if self.finding.verdict.is_non_deterministic() && self.plain.said().is_some_and(is_mixed) {
            return true;
        }
        let is_tried = self.plain.said().is_some() || self.reproduce.is_empty();
        let needs_trial = self.finding.verdict.is_order_dependent();
        self.finding.confirmed && !self.is_contradicted() && (is_tried || !needs_trial)
    }

    /// Whether the commands did not show what they promise.
    pub fn is_contradicted(&self) -> bool {
        !self.finding.verdict.is_non_deterministic()
            && self.plain.said().is_some_and(|confirmation| !confirmation.is_complete())
    }
}
