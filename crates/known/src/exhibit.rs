//! A finding with everything added to it: commands, confirmation, failure, state, choices.

use unflake_model::{Confirmation, Finding, OutcomeKind, RunId, StateKind, TestIndex};

use crate::KnownFactor;

/// A finding, with everything needed to show it.
#[derive(Clone, Debug)]
pub struct Exhibit {
    /// What was found about the test.
    pub finding: Finding,
    /// Commands to paste into a shell, which show the effect with the project's own runner.
    pub reproduce: Vec<String>,
    /// What these commands showed when they were tried, without us in the process.
    pub plain: PlainAnswer,
    /// One failure of the test, if any was kept.
    pub failure: Option<Failure>,
    /// The places where tests share state, as far as they are known.
    pub state: Vec<State>,
    /// The open choices that it depends on, as far as they are known: one, or the first and the
    /// last of several that matter together.
    pub choices: Vec<Choice>,
    /// Circumstances that an earlier `shake` found to change how it ends.
    pub factors: Vec<KnownFactor>,
    /// How it ended in the original order, and in an order in which it ended differently.
    pub seen: Option<(Seen, Seen)>,
}

/// How a test ended in an order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// How the test ended.
    pub outcome: OutcomeKind,
    /// The order, up to the test.
    pub order: Vec<TestIndex>,
    /// The run in which it did.
    pub run: RunId,
}

/// A choice that the language leaves open, such as the order of a set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The part of the language that chooses: `java.util.HashMap$KeySet.iterator`.
    pub api: String,
    /// The code that asks for the choice: `com.acme.Receipt.text(Receipt.java:28)`.
    pub place: String,
    /// The line of the test that leads there, if it is a different place.
    pub test: Option<String>,
    /// Its number among all choices of the run, from 1.
    pub number: u64,
    /// How many choices the run had.
    pub n: u64,
}

/// What the project's own runner says about a finding. This is one value, so that an answer and the
/// reason for having none never occur together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum PlainAnswer {
    /// Nothing, because it was not asked.
    #[default]
    NotAsked,
    /// Nothing, because it could not be asked, for this reason.
    Refused(String),
    /// How often it showed what was found.
    Said(Confirmation),
}

impl PlainAnswer {
    /// What it showed, if it could be asked.
    pub fn said(&self) -> Option<Confirmation> {
        match self {
            Self::Said(confirmation) => Some(*confirmation),
            Self::NotAsked | Self::Refused(_) => None,
        }
    }

    /// Whether it was asked, and showed the finding every time.
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
    /// The short message.
    pub message: String,
    /// The full text: traceback, captured output.
    pub text: String,
}

/// A place that tests share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct State {
    /// The place, as the language spells it: `shop.config.SETTINGS['currency']`.
    pub place: String,
    /// What sort of place it is.
    pub kind: StateKind,
    /// The value before the tests it depends on; `None` if there was none.
    pub before: Option<String>,
    /// The value that they left; `None` if there is none.
    pub after: Option<String>,
}

impl Exhibit {
    /// Whether the finding was tested again and nothing has contradicted it since. If it depends on
    /// the order, the commands must have shown it. If it fails at random, it is also confirmed if
    /// the plain runner has shown both outcomes.
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

    /// Whether the commands did not show what they claim.
    pub fn is_contradicted(&self) -> bool {
        !self.finding.verdict.is_non_deterministic()
            && self.plain.said().is_some_and(|confirmation| !confirmation.is_complete())
    }
}
